//! A job in a model cluster, driven by hand: the tests' language.

pub(crate) mod left;
mod look;
mod sets;

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use mxjob_core::api::v1::{ConditionType, JobStatus, ReplicaStatus};
use mxjob_core::job::Replica;
use mxjob_core::model::{Cluster, Report, Work};
use mxjob_core::plan::{Action, Event, PodView};
use mxjob_core::wiring::{Addresses, names};
use serde_json::{Value, json};

pub(crate) use look::Look;
pub(crate) use sets::{GRID, MX, SETS, Set, TUNING, annotated, set, tuning};

/// A model cluster with one job, and a node that does as it is told.
pub(crate) struct World {
    pub(crate) set: Set,
    pub(crate) cluster: Cluster,
    pub(crate) now: Timestamp,
    pub(crate) events: Vec<Event>,
    uids: BTreeMap<Replica, String>,
    to_start: Vec<String>,
    to_stop: Vec<String>,
    /// Whether pods end as soon as they are told to.
    pub(crate) obedient: bool,
}

impl World {
    pub(crate) fn of(set: Set, manifest: Value) -> Self {
        Self::on(Cluster::new(set.table, Addresses::Cluster), set, manifest)
    }

    /// A job whose status is not written more often than needed.
    pub(crate) fn debounced(set: Set, manifest: Value) -> Self {
        let cluster = Cluster::new(set.table, Addresses::Cluster);
        Self::on(cluster.debounced(), set, manifest)
    }

    /// A job that an older operator has left: what `leave` puts beside it is there before the first look.
    pub(crate) fn left(
        set: Set,
        manifest: Value,
        leave: impl FnOnce(&mut Cluster, Timestamp),
    ) -> Self {
        let cluster = Cluster::new(set.table, Addresses::Cluster);
        Self::beside(cluster, set, manifest, leave)
    }

    fn on(cluster: Cluster, set: Set, manifest: Value) -> Self {
        Self::beside(cluster, set, manifest, |_, _| {})
    }

    fn beside(
        cluster: Cluster,
        set: Set,
        manifest: Value,
        leave: impl FnOnce(&mut Cluster, Timestamp),
    ) -> Self {
        let mut world = Self {
            set,
            cluster,
            now: Timestamp::from_second(1_800_000_000).unwrap(),
            events: Vec::new(),
            uids: BTreeMap::new(),
            to_start: Vec::new(),
            to_stop: Vec::new(),
            obedient: true,
        };
        world.cluster.create_job(manifest, world.now).unwrap();
        leave(&mut world.cluster, world.now);
        world.settle();
        world
    }

    /// A job whose pods all run.
    pub(crate) fn running(set: Set, manifest: Value) -> Self {
        let mut world = Self::of(set, manifest);
        world.start_all();
        world
    }

    pub(crate) fn settle(&mut self) {
        loop {
            let said = self.cluster.settle(self.now);
            self.events.extend(said);
            self.listen();
            if !self.obedient || self.to_stop.is_empty() {
                return;
            }
            self.stop_all();
        }
    }

    /// The node hears what it is to start and to stop.
    fn listen(&mut self) {
        while let Some(work) = self.cluster.poll_work() {
            match work {
                Work::Start { uid, replica, .. } => {
                    self.uids.insert(replica, uid.clone());
                    self.to_start.push(uid);
                }
                Work::Stop { uid, .. } => {
                    self.to_start.retain(|one| *one != uid);
                    self.to_stop.push(uid);
                }
            }
        }
    }

    /// Everything that is to start starts.
    pub(crate) fn start_all(&mut self) {
        for uid in std::mem::take(&mut self.to_start) {
            self.cluster.report(self.now, Report::Started { uid });
        }
        self.settle();
    }

    /// The replica starts, if it is to.
    pub(crate) fn start(&mut self, replica: Replica) {
        let uid = self.uids.get(&replica).cloned().unwrap_or_default();
        self.to_start.retain(|one| *one != uid);
        self.cluster.report(self.now, Report::Started { uid });
        self.settle();
    }

    /// Everything that is to stop stops.
    pub(crate) fn stop_all(&mut self) {
        for uid in std::mem::take(&mut self.to_stop) {
            self.cluster.report(
                self.now,
                Report::Exited {
                    uid,
                    code: 143,
                    reason: None,
                },
            );
        }
    }

    pub(crate) fn exit(&mut self, replica: Replica, code: i32) {
        self.exit_for(replica, code, None);
    }

    pub(crate) fn exit_for(&mut self, replica: Replica, code: i32, reason: Option<&str>) {
        self.end(replica, code, reason);
        self.settle();
    }

    /// Name of a replica's pod.
    pub(crate) fn name(&self, replica: Replica) -> String {
        names::replica(self.cluster.job().unwrap(), replica)
    }

    /// A replica's pod goes without a trace.
    pub(crate) fn vanish(&mut self, replica: Replica) {
        self.cluster.vanish(&self.name(replica), self.now);
        if let Some(uid) = self.uids.remove(&replica) {
            self.to_start.retain(|one| *one != uid);
            self.to_stop.retain(|one| *one != uid);
        }
        self.settle();
    }

    /// The user edits the spec.
    pub(crate) fn edit(&mut self, path: &str, value: Value) {
        self.cluster.edit_job(|job| set(job, path, value));
        self.settle();
    }

    /// The user wants another number of replicas of a role.
    pub(crate) fn scale(&mut self, role: &str, replicas: u32) {
        self.edit(
            &format!("spec.mxReplicaSpecs.{role}.replicas"),
            json!(replicas),
        );
    }

    /// The user replaces the job by that manifest.
    pub(crate) fn replace(&mut self, manifest: Value) {
        self.replace_unseen(manifest);
        self.settle();
    }

    /// The user replaces the job, and the planner does not look yet.
    pub(crate) fn replace_unseen(&mut self, mut manifest: Value) {
        self.cluster.edit_job(|job| {
            job["spec"] = manifest["spec"].take();
            job["metadata"]["annotations"] = manifest["metadata"]["annotations"].take();
        });
    }

    /// A replica's pod is drained from its node.
    pub(crate) fn drain(&mut self, replica: Replica) {
        self.cluster.drain(&self.name(replica), self.now);
        self.settle();
    }

    /// How long it takes until the replica has another pod than that, in seconds.
    pub(crate) fn wait_for_pod(&mut self, replica: Replica, but: Option<&String>) -> i64 {
        let start = self.now;
        for _ in 0..5 {
            if self.uid(replica).is_some_and(|uid| Some(&uid) != but) {
                return self.now.duration_since(start).as_secs();
            }
            self.wait();
        }
        panic!("a wait that never ends");
    }

    /// How long it takes until the planner wants something, in seconds.
    pub(crate) fn wait(&mut self) -> i64 {
        let start = self.now;
        if let Some(due) = self.cluster.next_deadline() {
            self.pass(due.duration_since(start).as_secs());
        }
        self.now.duration_since(start).as_secs()
    }

    /// Replicas whose container runs.
    pub(crate) fn running_replicas(&self) -> Vec<Replica> {
        let runs = |pod: &&k8s_openapi::api::core::v1::Pod| {
            pod.status
                .as_ref()
                .and_then(|status| status.phase.as_deref())
                == Some("Running")
                && PodView::of(pod, self.set.table).started
                && PodView::of(pod, self.set.table).waiting.is_none()
        };
        let replica = |pod: &k8s_openapi::api::core::v1::Pod| {
            let name = pod.metadata.name.as_deref().unwrap();
            let job = &self.cluster.job().unwrap().meta.name;
            names::of_pod(self.set.table, job, name).unwrap().0
        };
        self.cluster.pods().filter(runs).map(replica).collect()
    }

    /// A replica ends, and the planner does not look yet.
    pub(crate) fn exit_unseen(&mut self, replica: Replica, code: i32) {
        self.end(replica, code, None);
    }

    fn end(&mut self, replica: Replica, code: i32, reason: Option<&str>) {
        let uid = self
            .uids
            .get(&replica)
            .expect("the replica was started")
            .clone();
        self.cluster.report(
            self.now,
            Report::Exited {
                uid,
                code,
                reason: reason.map(str::to_owned),
            },
        );
    }

    pub(crate) fn pass(&mut self, seconds: i64) {
        self.pass_millis(seconds * 1000);
    }

    pub(crate) fn pass_millis(&mut self, millis: i64) {
        self.now = self
            .now
            .checked_add(SignedDuration::from_millis(millis))
            .unwrap();
        self.settle();
    }

    pub(crate) fn status(&self) -> JobStatus {
        self.cluster.job().expect("the job is there").status.clone()
    }

    pub(crate) fn phase(&self) -> String {
        self.status().phase.unwrap_or_default()
    }

    pub(crate) fn counts(&self, role: &str) -> ReplicaStatus {
        self.status()
            .replica_statuses
            .get(role)
            .cloned()
            .unwrap_or_default()
    }

    pub(crate) fn message(&self, kind: ConditionType) -> String {
        self.status()
            .condition(kind)
            .and_then(|one| one.message.clone())
            .unwrap_or_default()
    }

    pub(crate) fn conditions(&self) -> Vec<String> {
        self.status()
            .conditions
            .iter()
            .map(|one| format!("{}={}", one.kind, one.status))
            .collect()
    }

    /// Replicas that have a pod, like `worker-0`.
    pub(crate) fn pods(&self) -> Vec<String> {
        let name = |pod: &k8s_openapi::api::core::v1::Pod| pod.metadata.name.clone().unwrap();
        self.cluster
            .pods()
            .map(|pod| name(pod).strip_prefix("demo-").unwrap().to_owned())
            .collect()
    }

    pub(crate) fn services(&self) -> usize {
        self.cluster.services().count()
    }

    pub(crate) fn uid(&self, replica: Replica) -> Option<String> {
        let name = self.name(replica);
        let pod = self
            .cluster
            .pods()
            .find(|pod| pod.metadata.name.as_ref() == Some(&name));
        pod.and_then(|pod| pod.metadata.uid.clone())
    }

    pub(crate) fn said(&self, reason: &str) -> Vec<String> {
        self.events
            .iter()
            .filter(|one| one.reason == reason)
            .map(|one| one.message.clone())
            .collect()
    }

    /// True when the planner wants nothing of the cluster as it is.
    pub(crate) fn is_quiet(&self) -> bool {
        let plan = self.cluster.plan(self.now).unwrap();
        plan.status.is_none() && plan.actions.is_empty() && plan.events.is_empty()
    }

    pub(crate) fn planned(&self) -> Vec<Action> {
        self.cluster
            .plan(self.now)
            .map(|plan| plan.actions)
            .unwrap_or_default()
    }
}
