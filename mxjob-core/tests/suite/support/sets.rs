//! Role sets, and manifests of jobs of them.

use std::collections::BTreeMap;

use mxjob_core::conversion::CONVERSION_ANNOTATION;
use mxjob_core::job::Replica;
use mxjob_core::role::{Crd, Env, Mode, Port, Role, Source};
use mxjob_core::{MxRole, ReplicaRole, RoleTable};
use serde_json::{Value, json};

use super::World;

/// A role set and what its parts play in a test.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Set {
    pub(crate) table: &'static RoleTable,
    pub(crate) chief: &'static str,
    pub(crate) server: &'static str,
    pub(crate) worker: &'static str,
}

pub(crate) const MX: Set = Set {
    table: MxRole::TABLE,
    chief: "Scheduler",
    server: "Server",
    worker: "Worker",
};

/// A mode of MXNet whose members may come and go: its roles play the parts.
pub(crate) const TUNING: Set = Set {
    table: MxRole::TABLE,
    chief: "Tuner",
    server: "TunerTracker",
    worker: "TunerServer",
};

/// A role set that has nothing to do with MXNet.
pub(crate) const GRID: Set = Set {
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
pub(crate) const SETS: [Set; 2] = [MX, GRID];

impl Set {
    /// A manifest of a job `demo` with so many chiefs, servers and workers; 0: without that role.
    pub(crate) fn job(self, chiefs: u32, servers: u32, workers: u32) -> Value {
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

    pub(crate) fn replicas(self, count: u32) -> Value {
        let container =
            json!({"name": self.table.container, "image": "some/image", "command": ["train"]});
        json!({"replicas": count, "template": {"spec": {"containers": [container]}}})
    }

    pub(crate) fn world(self, chiefs: u32, servers: u32, workers: u32) -> World {
        World::of(self, self.job(chiefs, servers, workers))
    }

    pub(crate) fn chief(self, index: u32) -> Replica {
        self.replica(self.chief, index)
    }

    pub(crate) fn server(self, index: u32) -> Replica {
        self.replica(self.server, index)
    }

    pub(crate) fn worker(self, index: u32) -> Replica {
        self.replica(self.worker, index)
    }

    pub(crate) fn replica(self, role: &str, index: u32) -> Replica {
        Replica {
            role: self.table.find(role).unwrap(),
            index,
        }
    }
}

/// A tuning job, whose members may come and go.
pub(crate) fn tuning() -> Value {
    let mut manifest = MX.job(0, 0, 0);
    for (role, count) in [("TunerTracker", 1), ("TunerServer", 2), ("Tuner", 1)] {
        let mut replicas = MX.replicas(count);
        set(&mut replicas, "restartPolicy", json!("OnFailure"));
        set(
            &mut manifest,
            &format!("spec.mxReplicaSpecs.{role}"),
            replicas,
        );
    }
    manifest
}

/// Puts a value into a manifest, making the objects on the way.
pub(crate) fn set(manifest: &mut Value, path: &str, value: Value) {
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

/// Makes a manifest one that was made at v1alpha1: with that runtime id, else that of its uid, and with
/// that role's first replica as its chief, else the default.
pub(crate) fn annotated(manifest: &mut Value, id: Option<&str>, chief: Option<&str>) {
    let mut leaves = Vec::new();
    if let Some(id) = id {
        leaves.push(json!({"path": ["spec", "RuntimeId"], "is": id}));
    }
    let default = manifest["spec"]["mxReplicaSpecs"]["Scheduler"].is_object();
    if let Some(chief) = chief.filter(|_| default) {
        let path = ["spec", "terminationPolicy", "chief", "replicaName"];
        leaves.push(json!({"path": path, "was": "SCHEDULER", "is": chief}));
    }
    let held = json!({"origin": "v1alpha1", "rest": {"v1alpha1": leaves}});
    let annotations = json!({CONVERSION_ANNOTATION: held.to_string()});
    set(manifest, "metadata.annotations", annotations);
}
