//! Jobs that were made at v1alpha1 and whose containers the kubelet starts again.

use crate::support::{MX, World, annotated, set};
use k8s_openapi::api::core::v1::Pod;
use mxjob_core::api::v1::ConditionType;
use mxjob_core::model::{Part, Preconditions};
use serde_json::json;

/// A scheduler, a server and two workers whose templates have that restart policy; the chief named, if
/// one is.
fn world(chief: Option<&str>, restart: &str, limit: Option<i32>) -> World {
    let mut manifest = MX.job(1, 1, 2);
    for role in [MX.chief, MX.server, MX.worker] {
        let role = format!("spec.mxReplicaSpecs.{role}");
        set(
            &mut manifest,
            &format!("{role}.restartPolicy"),
            json!("ExitCode"),
        );
        let own = format!("{role}.template.spec.restartPolicy");
        set(&mut manifest, &own, json!(restart));
    }
    let codes = json!(["130", "137", "138", "143"]);
    set(&mut manifest, "spec.runPolicy.retryableExitCodes", codes);
    set(&mut manifest, "spec.runPolicy.backoffLimit", json!(limit));
    annotated(&mut manifest, None, chief);
    World::running(MX, manifest)
}

/// Active, succeeded and failed of a role.
fn standing(world: &World, role: &str) -> (i32, i32, i32) {
    let counts = world.counts(role);
    (counts.active, counts.succeeded, counts.failed)
}

/// The kubelet starts the container of a worker again and again.
fn come_and_go(world: &mut World, index: u32, code: i32, times: usize) {
    for _ in 0..times {
        world.exit(MX.worker(index), code);
        world.pass(300);
        world.start_all();
    }
}

// contract: 12.19
#[test]
fn who_is_done_is_not_counted_when_the_kubelet_starts_it_again() {
    let mut world = world(None, "Always", Some(1));
    come_and_go(&mut world, 0, 0, 4);
    let counts = world.counts("Worker");
    assert_eq!(world.phase(), "Running");
    assert!(counts.container_restarts.is_empty(), "{counts:?}");
    assert_eq!(world.said("RestartedInPlace"), Vec::<String>::new());
    // What it ends with later does not matter.
    come_and_go(&mut world, 0, 137, 2);
    world.edit("spec.runPolicy.suspend", json!(true));
    assert_eq!(world.counts("Worker").in_place_restarts, 0);
}

// contract: 12.19
#[test]
fn restarts_until_it_was_done_are_counted() {
    let mut world = world(None, "Always", Some(3));
    come_and_go(&mut world, 0, 137, 1);
    // The restarts that follow are seen together with its end.
    world.exit_unseen(MX.worker(0), 137);
    world.cluster.start_restarts(world.now);
    world.exit_unseen(MX.worker(0), 0);
    world.settle();
    assert_eq!(world.counts("Worker").container_restarts["0"], 2);
    come_and_go(&mut world, 1, 137, 1);
    assert_eq!(world.phase(), "Failed", "three in all");
}

// contract: 12.19
#[test]
fn after_the_chief_nobodys_restart_counts() {
    for restart in ["Always", "OnFailure"] {
        let mut world = world(None, restart, Some(1));
        world.exit(MX.chief(0), 0);
        for _ in 0..3 {
            world.exit(MX.worker(0), 137);
            world.start_all();
        }
        assert_eq!(world.phase(), "Running", "{restart}");
        world.pass(30);
        assert_eq!(world.phase(), "Succeeded", "{restart}");
    }
}

// contract: 12.19
#[test]
fn restarts_after_the_chief_do_not_count_against_the_job_made_anew() {
    let mut world = world(None, "OnFailure", Some(1));
    world.exit(MX.chief(0), 0);
    world.exit(MX.worker(0), 137);
    world.start_all();
    world.edit("spec.mxReplicaSpecs.Server.replicas", json!(2));
    assert_eq!(world.said("MXJobRescaled").len(), 1);
    world.start_all();
    assert_eq!(world.phase(), "Running");
    assert_eq!(world.counts("Worker").in_place_restarts, 0);
}

// contract: 12.19
#[test]
fn a_replica_is_active_or_done_or_has_failed() {
    let mut world = world(Some("WORKER"), "Always", None);
    assert_eq!(standing(&world, "Worker"), (2, 0, 0));
    assert_eq!(world.status().ready.as_deref(), Some("4/4"));
    world.exit(MX.server(0), 0);
    assert_eq!(standing(&world, "Server"), (0, 1, 0));
    world.start_all();
    assert_eq!(standing(&world, "Server"), (0, 1, 0));
    assert_eq!(world.status().ready.as_deref(), Some("3/4"));
    world.exit(MX.worker(0), 0);
    assert_eq!(standing(&world, "Worker"), (1, 1, 0));
    world.exit(MX.worker(1), 1);
    assert_eq!(standing(&world, "Worker"), (0, 1, 1));
    world.start_all();
    assert_eq!(standing(&world, "Worker"), (0, 1, 1));
    assert_eq!(standing(&world, "Scheduler"), (1, 0, 0));
}

// contract: 12.19
#[test]
fn who_made_the_job_fail_is_told() {
    for restart in ["Always", "OnFailure"] {
        for clean in ["All", "Running", "None"] {
            let mut world = world(None, restart, None);
            world.edit("spec.runPolicy.cleanPodPolicy", json!(clean));
            world.exit(MX.worker(0), 0);
            world.exit(MX.worker(1), 1);
            assert_eq!(world.phase(), "Failed");
            assert_eq!(standing(&world, "Worker"), (0, 1, 1), "{restart} {clean}");
        }
    }
}

// contract: 12.19
#[test]
fn workers_have_thirty_seconds_from_the_chiefs_first_end() {
    let mut world = world(None, "Always", None);
    world.exit(MX.chief(0), 0);
    for second in 1..30 {
        world.pass(1);
        assert_eq!(world.phase(), "Running", "{second}");
        world.start_all();
        world.exit(MX.chief(0), [0, 137][second % 2]);
    }
    world.pass(1);
    assert_eq!(world.phase(), "Succeeded");
}

// contract: 12.19
#[test]
fn workers_keep_their_time_when_the_chiefs_pod_goes() {
    let mut world = world(None, "Always", None);
    world.exit(MX.chief(0), 0);
    world.pass(5);
    world.vanish(MX.chief(0));
    assert_eq!(world.phase(), "Running");
    world.pass(25);
    assert_eq!(world.phase(), "Succeeded");
}

/// A pod that ended so, and in the end was evicted.
fn evicted(world: &mut World, index: u32, reason: &str) {
    world.exit_unseen(MX.worker(index), 137);
    let (name, anything) = (world.name(MX.worker(index)), Preconditions::default());
    let evict = |pod: &mut Pod| {
        let status = pod.status.as_mut().unwrap();
        status.reason = Some("Evicted".to_owned());
        let container = &mut status.container_statuses.as_mut().unwrap()[0];
        let ended = container.state.as_mut().unwrap().terminated.as_mut();
        ended.unwrap().reason = Some(reason.to_owned());
        let condition = json!({"type": "DisruptionTarget", "status": "True"});
        let conditions = status.conditions.as_mut().unwrap();
        conditions.push(serde_json::from_value(condition).unwrap());
    };
    world
        .cluster
        .server
        .update::<Pod>(&name, &anything, Part::Status, evict)
        .unwrap();
    world.settle();
}

// contract: 12.17
#[test]
fn who_ran_out_of_memory_did_also_when_its_pod_was_evicted() {
    let mut old = world(None, "Never", Some(0));
    let before = old.uid(MX.worker(0));
    evicted(&mut old, 0, "Error");
    assert_eq!(old.counts("Worker").restarts, 0, "a disruption");
    assert_eq!((old.phase().as_str(), old.pods().len()), ("Running", 4));
    assert_ne!(old.uid(MX.worker(0)), before);

    let mut old = world(None, "Never", Some(0));
    evicted(&mut old, 0, "OOMKilled");
    let told = "mxjob demo is failed because 1 Worker replica(s) failed.";
    assert_eq!(old.message(ConditionType::Failed), told);
}

// contract: 7.4.7
#[test]
fn a_rule_matches_each_reason_of_a_pod() {
    for reason in ["Evicted", "OOMKilled", "DisruptionTarget"] {
        for (mine, then) in [(reason, "Failed"), ("Deleted", "Restarting")] {
            let mut manifest = MX.job(1, 0, 2);
            let rule = json!({"action": "FailJob", "reasons": [mine]});
            set(
                &mut manifest,
                "spec.failurePolicy",
                json!({"rules": [rule]}),
            );
            let mut world = World::running(MX, manifest);
            evicted(&mut world, 0, "OOMKilled");
            assert_eq!(world.phase(), then, "{reason} {mine}");
        }
    }
}
