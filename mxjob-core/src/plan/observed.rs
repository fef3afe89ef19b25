//! What the planner looks at: small views of the objects in the cluster.

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{ConfigMap, ContainerStateTerminated, Pod, PodStatus, Service};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::stalled::CAUSES;
use crate::job::{Attempt, Job};
use crate::role::RoleTable;
use crate::wiring::{labels, names};

/// A job and everything in the cluster that carries its labels or one of its names.
#[derive(Clone, Copy, Debug)]
pub struct Observed<'a> {
    /// The job.
    pub job: &'a Job,
    /// Pods, in any order.
    pub pods: &'a [PodView],
    /// Services, in any order.
    pub services: &'a [ServiceView],
    /// ConfigMaps, in any order.
    pub config_maps: &'a [ConfigMapView],
}

/// What the planner needs to know of a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "independent facts about a pod, not states"
)]
pub struct PodView {
    /// Name.
    pub name: String,
    /// Uid.
    pub uid: String,
    /// Uid of its controlling owner.
    pub owner: Option<String>,
    /// Kind and name of that owner, like `MXJob.kubeflow.org/demo`.
    pub owner_name: Option<String>,
    /// An older operator has left it, without an owner, as a replica of the job that its name tells.
    pub orphan: bool,
    /// Name of the `batch/v1` Job that it is a pod of, or was.
    pub batch: Option<String>,
    /// It is the pod of such a Job, which is not seen: it stands for the replica until that is there.
    pub left_over: bool,
    /// It is such a Job that makes no more pods.
    pub stopped: bool,
    /// It is such a Job whose pod lacks labels, or runs and is not seen for want of them.
    pub bare: bool,
    /// Image of its replica's container, of such a Job.
    pub image: Option<String>,
    /// Its labels say that it is of a job that could give it that name. The operator sees such an object
    /// without trying to create its own.
    pub claimed: bool,
    /// Its labels are those that its owner gave a pod of that name.
    pub labelled: bool,
    /// Which life of the job and of the replica it belongs to.
    pub attempt: Attempt,
    /// Phase.
    pub phase: PodPhase,
    /// Ready condition.
    pub ready: bool,
    /// The job's container has run at some time.
    pub started: bool,
    /// When the job's container started its last run.
    pub started_at: Option<Timestamp>,
    /// How that run ended.
    pub exit: Option<Exit>,
    /// How the run before it ended, in place.
    pub last_exit: Option<Exit>,
    /// Why the pod failed, like `Evicted`. What its container says of itself is another thing.
    pub reason: Option<String>,
    /// Preempted, evicted or drained: condition `DisruptionTarget`.
    pub disrupted: bool,
    /// A deletion has been asked for.
    pub deleting: bool,
    /// Restarts of the job's container in place.
    pub container_restarts: i32,
    /// What the pod waits for that a person has to look into, like `ImagePullBackOff`.
    pub waiting: Option<String>,
    /// When the container that waits ended its last run.
    pub ran_until: Option<Timestamp>,
    /// When it was created.
    pub created_at: Option<Timestamp>,
}

/// How a container ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exit {
    /// Exit code.
    pub code: i32,
    /// `Completed`, `Error`, `OOMKilled`.
    pub reason: Option<String>,
    /// When.
    pub at: Option<Timestamp>,
}

impl Exit {
    fn of(ended: &ContainerStateTerminated) -> Self {
        Self {
            code: ended.exit_code,
            reason: ended.reason.clone(),
            at: ended.finished_at.as_ref().map(|time| time.0),
        }
    }
}

/// How a pod's life is going.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PodPhase {
    /// Not started, or not known.
    #[default]
    Pending,
    /// At least one container runs.
    Running,
    /// All containers ended with 0.
    Succeeded,
    /// Ended otherwise.
    Failed,
}

impl PodPhase {
    fn of(status: &PodStatus) -> Self {
        match status.phase.as_deref() {
            Some("Running") => Self::Running,
            Some("Succeeded") => Self::Succeeded,
            Some("Failed") => Self::Failed,
            _ => Self::Pending,
        }
    }

    /// True when the pod has ended.
    pub const fn is_final(self) -> bool {
        matches!(self, Self::Succeeded | Self::Failed)
    }

    /// The name, as in `status.phase` of a pod.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pending => "Pending",
            Self::Running => "Running",
            Self::Succeeded => "Succeeded",
            Self::Failed => "Failed",
        }
    }
}

/// Name of the Job that a pod is of by its owner, or by the label that it has of it.
fn batch(meta: &ObjectMeta) -> Option<String> {
    let owner = labels::controller(meta).map(|owner| (&owner.kind, &owner.name));
    match owner {
        Some((kind, name)) => (kind == "Job").then(|| name.clone()),
        None => meta.labels.as_ref()?.get(labels::BATCH).cloned(),
    }
}

/// What the planner needs to know of a service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceView {
    /// Name.
    pub name: String,
    /// Uid.
    pub uid: String,
    /// Uid of its controlling owner.
    pub owner: Option<String>,
    /// Kind and name of that owner, like `MXJob.kubeflow.org/demo`.
    pub owner_name: Option<String>,
    /// An older operator has left it, without an owner, for a replica of the job that its name tells.
    pub orphan: bool,
    /// When it was created.
    pub created_at: Option<Timestamp>,
    /// Its labels say that it is of a job that could give it that name. The operator sees such an object
    /// without trying to create its own.
    pub claimed: bool,
    /// A deletion has been asked for.
    pub deleting: bool,
}

impl ServiceView {
    /// The view of a service of a job of that role set.
    pub fn of(service: &Service, table: &RoleTable) -> Self {
        let meta = &service.metadata;
        Self {
            name: meta.name.clone().unwrap_or_default(),
            uid: meta.uid.clone().unwrap_or_default(),
            owner: controller(meta),
            owner_name: labels::owner_name(meta),
            orphan: labels::is_orphan(meta, table),
            created_at: meta.creation_timestamp.as_ref().map(|time| time.0),
            claimed: labels::is_claimed(meta),
            deleting: meta.deletion_timestamp.is_some(),
        }
    }
}

/// What the planner needs to know of a ConfigMap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigMapView {
    /// Name.
    pub name: String,
    /// Uid.
    pub uid: String,
    /// Uid of its controlling owner.
    pub owner: Option<String>,
    /// Kind and name of that owner, like `MXJob.kubeflow.org/demo`.
    pub owner_name: Option<String>,
    /// Its labels say that it is of a job that could give it that name. The operator sees such an object
    /// without trying to create its own.
    pub claimed: bool,
    /// The replicas that it was made for: [`labels::SIZE`].
    pub size: String,
    /// A deletion has been asked for.
    pub deleting: bool,
}

impl ConfigMapView {
    /// The view of a ConfigMap.
    pub fn of(config_map: &ConfigMap) -> Self {
        let meta = &config_map.metadata;
        let size = meta
            .annotations
            .as_ref()
            .and_then(|all| all.get(labels::SIZE));
        Self {
            name: meta.name.clone().unwrap_or_default(),
            uid: meta.uid.clone().unwrap_or_default(),
            owner: controller(meta),
            owner_name: labels::owner_name(meta),
            claimed: labels::is_claimed(meta),
            size: size.cloned().unwrap_or_default(),
            deleting: meta.deletion_timestamp.is_some(),
        }
    }
}

impl PodView {
    /// The view of a pod of a job of that role set.
    pub fn of(pod: &Pod, table: &RoleTable) -> Self {
        let meta = &pod.metadata;
        let container = container(meta, table);
        let status = pod.status.as_ref();
        let conditions = status.and_then(|status| status.conditions.as_deref());
        let conditions = conditions.unwrap_or_default();
        let has = |kind: &str| {
            conditions
                .iter()
                .any(|one| one.type_ == kind && one.status == "True")
        };
        let containers = status.and_then(|status| status.container_statuses.as_deref());
        let containers = containers.unwrap_or_default();
        let main = containers.iter().find(|one| one.name == container);
        let state = main.and_then(|one| one.state.as_ref());
        let ended = state.and_then(|state| state.terminated.as_ref());
        let last = main.and_then(|one| one.last_state.as_ref()?.terminated.as_ref());
        let restarts = main.map_or(0, |one| one.restart_count);
        let running = state.and_then(|state| state.running.as_ref());
        let (waiting, ran_until) = status.and_then(waiting).unzip();
        let unschedulable = conditions.iter().any(|one| {
            one.type_ == "PodScheduled" && one.reason.as_deref() == Some("Unschedulable")
        });
        Self {
            name: meta.name.clone().unwrap_or_default(),
            uid: meta.uid.clone().unwrap_or_default(),
            owner: controller(meta),
            owner_name: labels::owner_name(meta),
            orphan: false,
            batch: batch(meta),
            left_over: false,
            stopped: false,
            bare: false,
            image: None,
            claimed: labels::is_claimed(meta),
            labelled: is_labelled(meta, table),
            attempt: attempt(meta),
            phase: status.map(PodPhase::of).unwrap_or_default(),
            ready: has("Ready"),
            started: running.is_some() || ended.is_some() || restarts > 0,
            started_at: ended
                .and_then(|ended| ended.started_at.as_ref())
                .or(running.and_then(|running| running.started_at.as_ref()))
                .map(|time| time.0),
            exit: ended.map(Exit::of),
            last_exit: last.map(Exit::of),
            reason: status.and_then(|status| status.reason.clone()),
            disrupted: has("DisruptionTarget"),
            deleting: meta.deletion_timestamp.is_some(),
            container_restarts: restarts,
            waiting: waiting.or_else(|| unschedulable.then(|| "Unschedulable".to_owned())),
            ran_until: ran_until.flatten(),
            created_at: meta.creation_timestamp.as_ref().map(|time| time.0),
        }
    }
}

impl PodView {
    /// How the job's container ended, the last time that it did; of a pod that has ended, with it.
    pub(super) fn exit(&self) -> Option<&Exit> {
        let before = || self.last_exit.as_ref().filter(|_| !self.phase.is_final());
        self.exit.as_ref().or_else(before)
    }

    /// Why the pod failed, in its own words and in those of its container.
    pub(super) fn reasons(&self) -> impl Iterator<Item = &str> {
        let of_container = self.exit().and_then(|exit| exit.reason.as_deref());
        self.reason.as_deref().into_iter().chain(of_container)
    }

    /// When that was.
    pub(super) fn ended_at(&self) -> Option<Timestamp> {
        self.exit().and_then(|exit| exit.at)
    }
}

/// What the first of the containers, those that come before the pod's own too, waits for that a person
/// has to look into, and when that one ended its last run.
fn waiting(status: &PodStatus) -> Option<(String, Option<Timestamp>)> {
    let containers = status.container_statuses.iter().flatten();
    containers
        .chain(status.init_container_statuses.iter().flatten())
        .find_map(|one| {
            let reason = one.state.as_ref()?.waiting.as_ref()?.reason.as_deref()?;
            let last = one.last_state.as_ref();
            let ended = last.and_then(|last| last.terminated.as_ref()?.finished_at.as_ref());
            CAUSES
                .contains(&reason)
                .then(|| (reason.to_owned(), ended.map(|time| time.0)))
        })
}

/// Name of the container in which the pod's work runs: its role's own, or that of the set.
pub(super) fn container(meta: &ObjectMeta, table: &RoleTable) -> &'static str {
    let labels = meta.labels.as_ref();
    let role = labels
        .and_then(|labels| labels.get(labels::ROLE))
        .and_then(|name| table.find(name));
    let own = role.and_then(|id| table.role(id).container);
    own.unwrap_or(table.container)
}

pub(super) fn attempt(meta: &ObjectMeta) -> Attempt {
    let annotations = meta.annotations.as_ref();
    let text = annotations.and_then(|all| all.get(Attempt::ANNOTATION));
    text.map_or_else(Attempt::default, |text| Attempt::parse(text))
}

/// Its labels are those of the replica that it is, or whose Job it is a pod of.
pub(super) fn is_labelled(meta: &ObjectMeta, table: &RoleTable) -> bool {
    let name = meta.name.as_deref().unwrap_or_default();
    let (job, replica) = if let Some(owner) = labels::owner(meta, table) {
        (owner.name.as_str(), names::of_pod(table, &owner.name, name))
    } else {
        let batch = labels::batch(meta, table).unwrap_or_default();
        let job = names::job(table, batch).unwrap_or_default();
        (job, names::parts(table, job, batch))
    };
    replica.is_none_or(|(replica, _)| labels::are_of(meta.labels.as_ref(), table, job, replica))
}

pub(super) fn controller(meta: &ObjectMeta) -> Option<String> {
    labels::controller(meta).map(|owner| owner.uid.clone())
}
