//! A job in a model cluster, driven by hand: the tests' language.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "tests"
)]
#![allow(
    dead_code,
    missing_docs,
    unreachable_pub,
    reason = "each test file uses a part of it"
)]

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use mxjob_core::api::v1::{ConditionType, JobStatus, ReplicaStatus};
use mxjob_core::job::Replica;
use mxjob_core::model::{Cluster, Report, Work};
use mxjob_core::plan::{Action, Event, PodView};
use mxjob_core::role::{Crd, Env, Mode, Port, Role, Source};
use mxjob_core::wiring::{Addresses, names};
use mxjob_core::{MxRole, ReplicaRole, RoleTable};
use serde_json::{Value, json};

/// A role set and what its parts play in a test.
#[derive(Clone, Copy, Debug)]
pub struct Set {
    pub table: &'static RoleTable,
    pub chief: &'static str,
    pub server: &'static str,
    pub worker: &'static str,
}

pub const MX: Set = Set {
    table: MxRole::TABLE,
    chief: "Scheduler",
    server: "Server",
    worker: "Worker",
};

/// A role set that has nothing to do with MXNet.
pub const GRID: Set = Set {
    table: &GRID_TABLE,
    chief: "Leader",
    server: "Store",
    worker: "Member",
};

static GRID_TABLE: RoleTable = RoleTable::new(
    &[Mode::new("Compute", &["Leader", "Member"])
        .workers(&["Member"])
        .fixed_membership()
        .env(&[Env::new("GRID_LEADER", Source::Host("Leader"))])],
    &[
        Role::new("Leader", "Compute", 1, Some(1)).optional(),
        Role::new("Store", "Compute", 0, None)
            .optional()
            .requires(&["Leader"]),
        Role::new("Member", "Compute", 0, None).optional(),
    ],
)
.crd(Crd::new(
    "grid.example.org",
    "GridJob",
    "gridjobs",
    "gridjob",
    &[],
))
.container("cell")
.port(Port::new("grid", 7000));

/// Both role sets: what holds for one holds for the other.
pub const SETS: [Set; 2] = [MX, GRID];

impl Set {
    /// A manifest of a job `demo` with so many chiefs, servers and workers; 0: without that role.
    pub fn job(self, chiefs: u32, servers: u32, workers: u32) -> Value {
        let roles = [
            (self.chief, chiefs),
            (self.server, servers),
            (self.worker, workers),
        ];
        let present = roles.iter().filter(|(_, count)| *count > 0);
        let specs: BTreeMap<_, _> = present
            .map(|(role, count)| (*role, self.replicas(*count)))
            .collect();
        json!({
            "apiVersion": format!("{}/v1", self.table.crd.group),
            "kind": self.table.crd.kind,
            "metadata": {"name": "demo", "namespace": "lab"},
            "spec": {"mxReplicaSpecs": specs},
        })
    }

    fn replicas(self, count: u32) -> Value {
        let container =
            json!({"name": self.table.container, "image": "some/image", "command": ["train"]});
        json!({"replicas": count, "template": {"spec": {"containers": [container]}}})
    }

    pub fn world(self, chiefs: u32, servers: u32, workers: u32) -> World {
        World::of(self, self.job(chiefs, servers, workers))
    }

    pub fn chief(self, index: u32) -> Replica {
        self.replica(self.chief, index)
    }

    pub fn server(self, index: u32) -> Replica {
        self.replica(self.server, index)
    }

    pub fn worker(self, index: u32) -> Replica {
        self.replica(self.worker, index)
    }

    fn replica(self, role: &str, index: u32) -> Replica {
        Replica {
            role: self.table.find(role).unwrap(),
            index,
        }
    }
}

/// Puts a value into a manifest, making the objects on the way.
pub fn set(manifest: &mut Value, path: &str, value: Value) {
    let mut at = manifest;
    for key in path.split('.') {
        at = at
            .as_object_mut()
            .unwrap()
            .entry(key)
            .or_insert_with(|| json!({}));
    }
    *at = value;
}

/// A model cluster with one job, and a node that does as it is told.
pub struct World {
    pub set: Set,
    pub cluster: Cluster,
    pub now: Timestamp,
    pub events: Vec<Event>,
    uids: BTreeMap<Replica, String>,
    to_start: Vec<String>,
    to_stop: Vec<String>,
    /// Whether pods end as soon as they are told to.
    pub obedient: bool,
}

impl World {
    pub fn of(set: Set, manifest: Value) -> Self {
        let mut world = Self {
            set,
            cluster: Cluster::new(set.table, Addresses::Cluster),
            now: Timestamp::from_second(1_800_000_000).unwrap(),
            events: Vec::new(),
            uids: BTreeMap::new(),
            to_start: Vec::new(),
            to_stop: Vec::new(),
            obedient: true,
        };
        world.cluster.create_job(manifest, world.now).unwrap();
        world.settle();
        world
    }

    /// A job whose pods all run.
    pub fn running(set: Set, manifest: Value) -> Self {
        let mut world = Self::of(set, manifest);
        world.start_all();
        world
    }

    pub fn settle(&mut self) {
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
    pub fn start_all(&mut self) {
        for uid in std::mem::take(&mut self.to_start) {
            self.cluster.report(self.now, Report::Started { uid });
        }
        self.settle();
    }

    /// Everything that is to stop stops.
    pub fn stop_all(&mut self) {
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

    pub fn exit(&mut self, replica: Replica, code: i32) {
        self.exit_unseen(replica, code);
        self.settle();
    }

    /// A replica's pod goes without a trace.
    pub fn vanish(&mut self, replica: Replica) {
        self.cluster
            .vanish(&names::replica(self.set.table, "demo", replica));
        if let Some(uid) = self.uids.remove(&replica) {
            self.to_start.retain(|one| *one != uid);
            self.to_stop.retain(|one| *one != uid);
        }
        self.settle();
    }

    /// Replicas whose container runs.
    pub fn running_replicas(&self) -> Vec<Replica> {
        let runs = |pod: &&k8s_openapi::api::core::v1::Pod| {
            pod.status
                .as_ref()
                .and_then(|status| status.phase.as_deref())
                == Some("Running")
                && PodView::of(pod, self.set.table).started
                && PodView::of(pod, self.set.table).waiting.is_none()
        };
        let replica = |pod: &k8s_openapi::api::core::v1::Pod| {
            names::parse(
                self.set.table,
                "demo",
                pod.metadata.name.as_deref().unwrap(),
            )
            .unwrap()
        };
        self.cluster.pods().filter(runs).map(replica).collect()
    }

    /// A replica ends, and the planner does not look yet.
    pub fn exit_unseen(&mut self, replica: Replica, code: i32) {
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
                reason: None,
            },
        );
    }

    pub fn pass(&mut self, seconds: i64) {
        self.now = self
            .now
            .checked_add(SignedDuration::from_secs(seconds))
            .unwrap();
        self.settle();
    }

    pub fn status(&self) -> JobStatus {
        self.cluster.job().expect("the job is there").status.clone()
    }

    pub fn phase(&self) -> String {
        self.status().phase.unwrap_or_default()
    }

    pub fn counts(&self, role: &str) -> ReplicaStatus {
        self.status()
            .replica_statuses
            .get(role)
            .cloned()
            .unwrap_or_default()
    }

    pub fn message(&self, kind: ConditionType) -> String {
        self.status()
            .condition(kind)
            .and_then(|one| one.message.clone())
            .unwrap_or_default()
    }

    pub fn conditions(&self) -> Vec<String> {
        self.status()
            .conditions
            .iter()
            .map(|one| format!("{}={}", one.kind, one.status))
            .collect()
    }

    /// Replicas that have a pod, like `worker-0`.
    pub fn pods(&self) -> Vec<String> {
        let name = |pod: &k8s_openapi::api::core::v1::Pod| pod.metadata.name.clone().unwrap();
        self.cluster
            .pods()
            .map(|pod| name(pod).strip_prefix("demo-").unwrap().to_owned())
            .collect()
    }

    pub fn services(&self) -> usize {
        self.cluster.services().count()
    }

    pub fn uid(&self, replica: Replica) -> Option<String> {
        let name = names::replica(self.set.table, "demo", replica);
        let pod = self
            .cluster
            .pods()
            .find(|pod| pod.metadata.name.as_ref() == Some(&name));
        pod.and_then(|pod| pod.metadata.uid.clone())
    }

    pub fn said(&self, reason: &str) -> Vec<String> {
        self.events
            .iter()
            .filter(|one| one.reason == reason)
            .map(|one| one.message.clone())
            .collect()
    }

    /// True when the planner wants nothing of the cluster as it is.
    pub fn is_quiet(&self) -> bool {
        let plan = self.cluster.plan(self.now).unwrap();
        plan.status.is_none() && plan.actions.is_empty() && plan.events.is_empty()
    }

    pub fn planned(&self) -> Vec<Action> {
        self.cluster
            .plan(self.now)
            .map(|plan| plan.actions)
            .unwrap_or_default()
    }
}
