//! The list of conditions: its order, what excludes what, and the two times of each.

use crate::support::{MX, SETS, World, set};
use jiff::Timestamp;
use mxjob_core::api::v1::{Condition, ConditionType};
use serde_json::json;

fn condition(world: &World, kind: ConditionType) -> Condition {
    world.status().condition(kind).unwrap().clone()
}

fn moved(world: &World, kind: ConditionType) -> Timestamp {
    condition(world, kind).last_transition_time.unwrap().0
}

/// A job whose worker was killed, and is to be replaced.
fn restarting(roles: crate::support::Set) -> World {
    let mut manifest = roles.job(1, 1, 1);
    let policy = json!({"maxRestarts": 3});
    set(&mut manifest, "spec.failurePolicy", policy);
    let mut world = World::running(roles, manifest);
    world.pass(5);
    world.exit(roles.worker(0), 137);
    world
}

// contract: 7.1.4, 9.2
// promise: P68
#[test]
fn a_job_is_restarting_until_its_chief_runs_again() {
    for roles in SETS {
        let mut world = restarting(roles);
        let before = ["Created=True", "Restarting=True"];
        assert_eq!(world.conditions(), before);
        world.start(roles.worker(0));
        assert_eq!(world.conditions(), before, "only a worker runs");
        world.start(roles.chief(0));
        assert_eq!(world.conditions(), ["Created=True", "Running=True"]);
    }
}

// contract: 6.6, 9.2
// promise: P68
#[test]
fn an_end_comes_last_and_turns_running_to_false() {
    for roles in SETS {
        let mut world = World::running(roles, roles.job(1, 1, 1));
        let running = condition(&world, ConditionType::Running);
        world.pass(7);
        world.exit(roles.worker(0), 1);
        assert_eq!(
            world.conditions(),
            ["Created=True", "Running=False", "Failed=True"]
        );
        let over = condition(&world, ConditionType::Running);
        assert_eq!(
            (over.reason, over.message),
            (running.reason, running.message)
        );
    }
}

// contract: 9.3
#[test]
fn the_time_of_a_transition_is_that_of_the_status() {
    let mut manifest = MX.job(1, 0, 1);
    set(
        &mut manifest,
        "spec.mxReplicaSpecs.Worker.restartPolicy",
        json!("OnFailure"),
    );
    let mut world = World::running(MX, manifest);
    let began = moved(&world, ConditionType::Running);
    world.pass(9);
    world.edit("spec.runPolicy.suspend", json!(true));
    let suspended = moved(&world, ConditionType::Running);
    assert_eq!(suspended.duration_since(began).as_secs(), 9);
    assert_eq!(moved(&world, ConditionType::Suspended), suspended);
    world.pass(4);
    world.edit("spec.runPolicy.suspend", json!(false));
    let resumed = condition(&world, ConditionType::Suspended);
    assert_eq!(
        (resumed.status.as_str(), resumed.reason.as_deref()),
        ("False", Some("MXJobResumed"))
    );
    let resumed = moved(&world, ConditionType::Suspended);
    assert_eq!(resumed.duration_since(suspended).as_secs(), 4);
    assert_eq!(moved(&world, ConditionType::Created), began);
}

// contract: 9.3
#[test]
fn another_reason_leaves_the_time_of_the_transition() {
    let mut world = restarting(MX);
    let first = condition(&world, ConditionType::Restarting);
    world.pass(3);
    world.scale("Worker", 2);
    let second = condition(&world, ConditionType::Restarting);
    assert_eq!(
        (first.reason.as_deref(), second.reason.as_deref()),
        (Some("MXJobRestarting"), Some("MXJobRescaled"))
    );
    assert_eq!(first.last_transition_time, second.last_transition_time);
    assert_ne!(first.last_update_time, second.last_update_time);
}
