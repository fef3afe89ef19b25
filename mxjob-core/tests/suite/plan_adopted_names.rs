//! Names that older operators gave: cut, and with a random end.

use crate::lists::{entry, table};
use crate::older_worlds::{GROUPS, left as left_as, manifest};
use crate::support::{GRID, MX, World, left};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;
use mxjob_core::api::v1::ConditionType;
use mxjob_core::job::Replica;
use mxjob_core::model::{Cluster, Report};
use mxjob_core::wiring::names;
use mxjob_core::{Job, MxRole, ReplicaRole};
use serde_json::json;

// contract: 12.35
#[test]
fn a_name_with_a_random_end_stands_for_a_replica() {
    let worker = |run: &'static str| Some((MX.worker(0), Some(run)));
    for table in [MxRole::TABLE, table()] {
        for (name, wanted) in [
            ("demo-worker-ab12-0-x1y2z", worker("ab12")),
            ("demo-worker-ab12-0-12345", worker("ab12")),
            ("demo-worker-0abc-0-00000", worker("0abc")),
            ("demo-worker-1234-0-abcde", worker("1234")),
            ("demo-worker-ab12-0", worker("ab12")),
            ("demo-worker-ab12-0-x1y2", None),
            ("demo-worker-ab12-0-x1y2zz", None),
            ("demo-worker-ab12-0-X1Y2Z", None),
            ("demo-worker--0-x1y2z", None),
            ("demo-worker-0-x1y2z", None),
            ("demo-boss-ab12-0-x1y2z", None),
            ("other-worker-ab12-0-x1y2z", None),
        ] {
            assert_eq!(names::of_pod(table, "demo", name), wanted, "{name}");
        }
    }
    // Another role set never had such an operator.
    let member = "demo-member-ab12-0-x1y2z";
    assert_eq!(names::of_pod(GRID.table, "demo", member), None);
    // An index of five digits is no random end.
    let index = Replica {
        index: 12345,
        ..MX.worker(0)
    };
    let large = names::of_pod(MxRole::TABLE, "demo", "demo-worker-ab12-12345");
    assert_eq!(large, Some((index, Some("ab12"))));
}

const REPLICAS: [(&str, u32); 4] = [
    ("Scheduler", 0),
    ("Server", 0),
    ("Worker", 0),
    ("Worker", 1),
];

/// A job of so long a name, left running.
fn long(group: &str, length: usize) -> World {
    long_with(group, length, &REPLICAS)
}

/// A job of so long a name, left with these replicas running.
fn long_with(group: &str, length: usize, replicas: &[(&str, u32)]) -> World {
    let entries = [("SCHEDULER", 1), ("SERVER", 1), ("WORKER", 2)];
    let mut manifest = manifest(group, &entries.map(|(role, count)| entry(role, count)));
    manifest["metadata"]["name"] = json!("n".repeat(length));
    left_as(&manifest, "Running", "Running", |job, cluster, now| {
        run(replicas, job, cluster, now);
    })
}

fn run(replicas: &[(&str, u32)], job: &Job, cluster: &mut Cluster, now: Timestamp) {
    for (role, index) in replicas {
        let replica = Replica {
            index: *index,
            ..MX.replica(role, 0)
        };
        let pod = cluster
            .create_pod(left::pod(job, replica, "x1y2z"), now)
            .unwrap();
        let uid = pod.metadata.uid.clone().unwrap();
        cluster.report(now, Report::Started { uid });
        cluster
            .server
            .create(left::service(job, replica), now)
            .unwrap();
    }
}

fn pods(world: &World) -> Vec<String> {
    let pods = world.cluster.pods();
    pods.map(|pod: &Pod| pod.metadata.name.clone().unwrap())
        .collect()
}

fn services(world: &World) -> Vec<String> {
    let services = world.cluster.services();
    services
        .map(|one| one.metadata.name.clone().unwrap())
        .collect()
}

// contract: 12.35, 12.37
// defect: D2
#[test]
fn a_name_that_was_cut_is_the_jobs_and_its_services_stay_until_the_end() {
    for group in GROUPS {
        let mut world = long(group, 45);
        let cut = "n".repeat(40);
        assert_eq!(pods(&world).len(), 4, "{group}");
        assert!(pods(&world).iter().all(|name| name.ends_with("-x1y2z")));
        // Those of then, by which its pods know each other, and those of now.
        let all = services(&world);
        let (old, new): (Vec<_>, Vec<_>) = all
            .iter()
            .partition(|name| name.starts_with(&format!("{cut}-")));
        assert_eq!((old.len(), new.len()), (4, 4), "{all:?}");
        assert!(world.is_quiet(), "{:?}", world.planned());
        world.exit(MX.worker(0), 137);
        world.start_all();
        assert!(pods(&world).contains(&world.name(MX.worker(0))));
        assert_eq!(services(&world), all);
        for replica in [MX.worker(0), MX.worker(1), MX.chief(0)] {
            world.exit(replica, 0);
        }
        assert_eq!(world.phase(), "Succeeded");
        assert_eq!(services(&world), Vec::<String>::new());
    }
}

// contract: 12.38
#[test]
fn a_job_whose_name_is_too_long_for_new_pods_goes_on_with_those_that_it_has() {
    for length in [47, 50, 60] {
        let mut world = long("kubeflow.org", length);
        let before = (pods(&world), services(&world));
        assert_eq!((before.0.len(), before.1.len()), (4, 4), "{length}");
        assert_eq!(world.phase(), "Running");
        assert_eq!(world.status().ready.as_deref(), Some("4/4"));
        let status = world.status();
        let stalled = status.condition(ConditionType::Stalled).unwrap();
        assert_eq!(stalled.reason.as_deref(), Some("NameTooLong"));
        let message = world.message(ConditionType::Stalled);
        assert!(message.contains("shorten metadata.name"), "{message}");
        assert!(world.is_quiet(), "{:?}", world.planned());
        for replica in [MX.worker(0), MX.worker(1), MX.chief(0)] {
            world.exit(replica, 0);
        }
        assert_eq!(world.phase(), "Succeeded");
        assert_eq!((pods(&world), services(&world)), (Vec::new(), Vec::new()));
    }
}

// contract: 12.38
#[test]
fn in_such_a_job_nothing_can_be_replaced() {
    let mut world = long("kubeflow.org", 50);
    world.exit(MX.worker(0), 137);
    assert_eq!(world.phase(), "Failed");
}

// contract: 12.38
#[test]
fn such_a_job_runs_on_when_somebody_asks_for_more_of_it() {
    let mut world = long("kubeflow.org", 50);
    let before = pods(&world);
    world.edit(
        "spec.mxReplicaSpecs.Worker.replicas",
        json!(REPLICAS.len() + 3),
    );
    world.pass(60);
    assert_ne!(world.phase(), "Failed");
    assert_eq!(pods(&world), before);
}

/// The others would wait for it for ever.
// contract: 12.38
#[test]
fn such_a_job_that_lacks_a_pod_ends_and_says_why() {
    let wanted = |which: &str| format!("{which} has no pod and can get none: ");
    for lacking in 0..REPLICAS.len() {
        let mut there = REPLICAS.to_vec();
        let (role, index) = there.remove(lacking);
        let world = long_with("kubeflow.org", 50, &there);
        assert_eq!(world.phase(), "Failed", "{role}/{index}");
        let message = world.message(ConditionType::Failed);
        assert!(
            message.contains(&wanted(&format!("{role}/{index}"))),
            "{message}"
        );
        assert!(message.contains("shorten metadata.name"), "{message}");
        assert_eq!((pods(&world), services(&world)), (Vec::new(), Vec::new()));
        assert!(world.is_quiet());
    }
    // What it had is gone with the suspension.
    let mut world = long("kubeflow.org", 50);
    world.edit("spec.runPolicy.suspend", json!(true));
    assert_eq!(
        (world.phase(), pods(&world).len()),
        ("Suspended".to_owned(), 0)
    );
    world.edit("spec.runPolicy.suspend", json!(false));
    assert_eq!(world.phase(), "Failed");
    let message = world.message(ConditionType::Failed);
    assert!(message.contains(&wanted("Scheduler/0")), "{message}");
}
