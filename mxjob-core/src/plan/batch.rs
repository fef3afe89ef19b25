//! A replica that is a `batch/v1` Job, seen as the planner sees pods.

use std::collections::{HashMap, HashSet};

use k8s_openapi::api::batch::v1::{Job, JobStatus};
use k8s_openapi::api::core::v1::PodTemplateSpec;

use super::observed::{attempt, container, controller, is_labelled};
use super::{Exit, PodPhase, PodView};
use crate::role::RoleTable;
use crate::wiring::labels;

/// Why a Job waits that has no pod and makes none: somebody has said so.
pub(super) const SUSPENDED: &str = "Suspended";
/// The same, when the cluster does not let it: its own events tell why.
pub(super) const NO_POD: &str = "NoPod";

/// What the planner needs to know of such a Job. How its replica ended is known of its pods only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BatchView(PodView);

impl BatchView {
    /// The view of a Job of a job of that role set.
    pub fn of(job: &Job, table: &RoleTable) -> Self {
        let (meta, status) = (&job.metadata, job.status.as_ref());
        let conditions = status.and_then(|status| status.conditions.as_deref());
        let condition = |kind: &str| {
            let mut all = conditions.unwrap_or_default().iter();
            all.find(|one| one.type_ == kind && one.status == "True")
        };
        let count = |of: fn(&JobStatus) -> Option<i32>| status.and_then(of).unwrap_or(0);
        let (ready, failures) = (count(|status| status.ready), count(|status| status.failed));
        let spec = job.spec.as_ref();
        let stopped = spec.is_some_and(|spec| spec.suspend == Some(true));
        let failed = condition("Failed");
        let phase = match failed {
            Some(_) => PodPhase::Failed,
            None if condition("Complete").is_some() => PodPhase::Succeeded,
            None if ready > 0 => PodPhase::Running,
            None => PodPhase::Pending,
        };
        let has_pod = phase.is_final() || count(|status| status.active) > 0;
        let waiting = if stopped { SUSPENDED } else { NO_POD };
        let done = status.and_then(|status| status.completion_time.as_ref());
        let done = done.filter(|_| phase == PodPhase::Succeeded);
        let orphan = labels::is_orphan(meta, table);
        Self(PodView {
            name: meta.name.clone().unwrap_or_default(),
            uid: meta.uid.clone().unwrap_or_default(),
            owner: controller(meta),
            owner_name: labels::owner_name(meta),
            orphan,
            batch: None,
            left_over: false,
            stopped,
            bare: false,
            image: spec.and_then(|spec| image(&spec.template, container(meta, table))),
            claimed: labels::is_claimed(meta),
            labelled: labels::is_marked(meta, table) && is_labelled(meta, table),
            attempt: attempt(meta),
            phase,
            ready: ready > 0,
            started: ready > 0 || failures > 0 || phase == PodPhase::Succeeded,
            started_at: None,
            exit: done.map(|done| Exit {
                code: 0,
                reason: None,
                at: Some(done.0),
            }),
            last_exit: None,
            reason: failed.and_then(|failed| failed.reason.clone()),
            disrupted: false,
            deleting: meta.deletion_timestamp.is_some(),
            container_restarts: failures,
            waiting: (!has_pod).then(|| waiting.to_owned()),
            ran_until: None,
            created_at: meta.creation_timestamp.as_ref().map(|time| time.0),
        })
    }

    /// Its uid.
    pub fn uid(&self) -> &str {
        &self.0.uid
    }

    /// The same with a deletion asked for.
    #[must_use]
    pub fn doomed(mut self) -> Self {
        self.0.deleting = true;
        self
    }

    /// The replica, of whose pods none is known.
    pub fn alone(self) -> PodView {
        self.0
    }

    /// The replicas that these Jobs are, as their pods tell. The pod of a Job that is not among them is to
    /// go as its Job did, and until then the replica is that; one that nobody owns has its name.
    pub fn join(all: impl Iterator<Item = Self>, pods: &[PodView]) -> Vec<PodView> {
        let mut by_owner: HashMap<&str, Vec<&PodView>> = HashMap::new();
        for pod in pods {
            let owner = pod.owner.as_deref().unwrap_or_default();
            by_owner.entry(owner).or_default().push(pod);
        }
        let own = all.map(|one| {
            let own = by_owner.remove(one.uid()).unwrap_or_default();
            one.with(own)
        });
        let mut replicas: Vec<_> = own.collect();
        let known: HashSet<_> = replicas.iter().map(|one| one.name.clone()).collect();
        let mut left: Vec<_> = by_owner
            .into_values()
            .flatten()
            .filter_map(left_over)
            .filter(|one| !known.contains(&one.name))
            .collect();
        // Of several the newest counts.
        left.sort_by(|one, other| (one.created_at, &one.uid).cmp(&(other.created_at, &other.uid)));
        replicas.extend(left);
        replicas
    }

    /// The newest pod tells how it is. When that has failed and the Job goes on, another comes in its
    /// place, as a container does that is restarted where it is. How a pod ended that somebody took away
    /// says nothing of its program.
    fn with(self, mut pods: Vec<&PodView>) -> PodView {
        let job = self.0;
        pods.sort_by_key(|pod| (pod.created_at, &pod.name));
        let Some((newest, earlier)) = pods.split_last() else {
            return PodView {
                bare: job.ready && !job.phase.is_final(),
                ..job
            };
        };
        let goes_on = !newest.deleting && !newest.phase.is_final() && !job.phase.is_final();
        let by_itself = |pod: &&&PodView| !pod.deleting && !pod.disrupted;
        let mut before = earlier.iter().rev().filter(by_itself);
        let before = before.find_map(|pod| pod.exit().cloned());
        let phase = match newest.phase {
            _ if job.phase.is_final() => job.phase,
            _ if newest.deleting => PodPhase::Pending,
            PodPhase::Failed => PodPhase::Pending,
            phase => phase,
        };
        let in_place = pods.iter().map(|pod| pod.container_restarts);
        PodView {
            phase,
            bare: goes_on && !newest.labelled,
            ready: newest.ready,
            started: job.started || newest.started,
            started_at: newest.started_at,
            exit: newest
                .exit
                .clone()
                .filter(|_| !newest.deleting)
                .or(job.exit),
            last_exit: newest.last_exit.clone().or(before),
            reason: newest.reason.clone().or(job.reason),
            disrupted: newest.disrupted,
            container_restarts: in_place.fold(job.container_restarts, i32::saturating_add),
            waiting: newest
                .waiting
                .clone()
                .or(job.waiting.filter(|_| job.stopped)),
            ran_until: newest.ran_until,
            created_at: newest.created_at.or(job.created_at),
            ..job
        }
    }
}

/// What the replica's container runs.
pub(super) fn image(template: &PodTemplateSpec, container: &str) -> Option<String> {
    let containers = &template.spec.as_ref()?.containers;
    let main = containers.iter().find(|one| one.name == container)?;
    main.image.clone()
}

/// A pod whose Job is not seen; `None`: it has none.
fn left_over(pod: &PodView) -> Option<PodView> {
    let owned = pod.owner.is_some();
    Some(PodView {
        name: pod.batch.clone()?,
        left_over: owned,
        deleting: owned || pod.deleting,
        ..pod.clone()
    })
}
