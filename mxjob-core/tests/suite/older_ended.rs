//! What the counts of a job say that has ended, of replicas that end later.

use crate::lists::{self, entry, table};
use crate::mlkube::{self, MLKUBE};
use crate::support::{MX, World};
use mxjob_core::RoleTable;
use mxjob_core::api::Version;
use mxjob_core::conversion::convert;
use mxjob_core::model::StoredJob;
use serde_json::{Value, json};

/// A scheduler, two servers and a worker, all of which run, of each group that keeps its pods.
fn running() -> Vec<(World, &'static RoleTable, &'static str)> {
    let entries = [
        entry("SCHEDULER", 1),
        entry("SERVER", 2),
        entry("WORKER", 1),
    ];
    let newest = mlkube::list(&json!({"jobMode": "dist", "replicaSpecs": entries}));
    let other = json!({
        "apiVersion": "fioravanzo.org/v1alpha1", "kind": "MXJob",
        "metadata": {"name": "demo", "namespace": "lab", "uid": "u-1"},
        "spec": {"RuntimeId": "ab12", "replicaSpecs": entries},
    });
    let set = crate::support::Set {
        table: table(),
        ..MX
    };
    let other = World::running(set, lists::to(Version::V1, &other));
    vec![
        (mlkube::world(&newest), MLKUBE.table(), "Mx_replica_type"),
        (other, table(), "mx_replica_type"),
    ]
}

/// Phase, state, and the counts of the servers as the group shows them.
fn shown(world: &World, table: &'static RoleTable, role: &str) -> (String, Value) {
    let stored: &StoredJob = &world.cluster.server.get("demo").unwrap();
    let object = json!({
        "apiVersion": Version::V1.full(table), "kind": table.crd.kind,
        "metadata": stored.metadata, "spec": *stored.spec, "status": stored.job().status,
    });
    let version = Version::stored(table);
    let status = convert(table, object, version).unwrap()["status"].take();
    let all = status["replicaStatuses"].as_array().unwrap().iter();
    let mut servers = all.filter(|one| one[role] == "SERVER");
    let counts = servers.next().unwrap()["ReplicasStates"].clone();
    let text = |key: &str| status[key].as_str().unwrap().to_owned();
    (format!("{} {}", text("phase"), text("state")), counts)
}

// contract: 12.45
#[test]
fn a_replica_that_ends_after_the_job_is_counted_as_it_ended() {
    for (mut world, table, role) in running() {
        world.exit(MX.worker(0), 0);
        world.exit(MX.chief(0), 0);
        let end = world.status();
        let done = "Done Succeeded".to_owned();
        let state = shown(&world, table, role);
        assert_eq!(state, (done.clone(), json!({"Running": 2})));
        assert_eq!(end.ready.as_deref(), Some("2/4"));
        world.exit(MX.server(0), 0);
        let state = shown(&world, table, role);
        assert_eq!(state, (done.clone(), json!({"Running": 1, "Succeeded": 1})));
        world.exit(MX.server(1), 1);
        let last = (done, json!({"Failed": 1, "Succeeded": 1}));
        assert_eq!(shown(&world, table, role), last);
        assert!(world.is_quiet());

        // Nothing else of the job changes, and what is known stays when the pods go.
        let after = world.status();
        assert_eq!(after.conditions, end.conditions);
        assert_eq!(after.completion_time, end.completion_time);
        assert_eq!(after.ready.as_deref(), Some("0/4"));
        world.vanish(MX.server(0));
        world.vanish(MX.server(1));
        assert_eq!(shown(&world, table, role), last);
    }
}

// contract: 12.45
#[test]
fn of_one_that_is_taken_away_before_it_ends_nothing_is_known() {
    for (mut world, table, role) in running() {
        world.exit(MX.worker(0), 0);
        world.exit(MX.chief(0), 0);
        world.vanish(MX.server(1));
        let counts = shown(&world, table, role).1;
        assert_eq!(counts, json!({"Running": 1, "Unknown": 1}));
    }
}

// contract: 12.45
#[test]
fn a_job_of_another_size_than_it_had_keeps_its_counts() {
    for (mut world, _, _) in running() {
        world.exit(MX.worker(0), 0);
        world.exit(MX.chief(0), 0);
        let before = world.status();
        world.scale("Server", 1);
        world.exit(MX.server(1), 0);
        assert_eq!(world.status().replica_statuses, before.replica_statuses);
    }
}
