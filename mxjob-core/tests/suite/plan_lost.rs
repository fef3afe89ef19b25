//! Pods that go without the operator's doing: deleted behind its back, or drained.

use crate::support::{SETS, Set, World, set};
use mxjob_core::api::v1::ConditionType;
use serde_json::json;

fn retried(roles: Set) -> World {
    let mut manifest = roles.job(1, 1, 2);
    for role in [roles.chief, roles.worker] {
        set(
            &mut manifest,
            &format!("spec.mxReplicaSpecs.{role}.restartPolicy"),
            json!("ExitCode"),
        );
    }
    World::running(roles, manifest)
}

fn with_failure_policy(roles: Set, policy: serde_json::Value) -> World {
    let mut manifest = roles.job(1, 1, 2);
    set(&mut manifest, "spec.failurePolicy", policy);
    World::running(roles, manifest)
}

// contract: 7.2.2, 7.3.3
#[test]
fn a_pod_that_vanished_waits_as_one_that_failed() {
    for roles in SETS {
        let mut world = retried(roles);
        let mut waits = Vec::new();
        for _ in 0..8 {
            world.vanish(roles.worker(0));
            waits.push(world.wait_for_pod(roles.worker(0), None));
            world.start_all();
        }
        assert_eq!(waits, [0, 10, 20, 40, 80, 160, 300, 300]);
        assert_eq!(world.counts(roles.worker).restarts, 8);
        assert!(world.counts(roles.worker).ended_at.is_empty());
    }
}

#[test]
fn a_look_in_the_middle_does_not_make_the_wait_longer() {
    for roles in SETS {
        let mut world = retried(roles);
        world.vanish(roles.worker(0));
        world.start_all();
        world.vanish(roles.worker(0));
        for _ in 0..9 {
            world.pass(1);
            assert!(world.uid(roles.worker(0)).is_none() && world.is_quiet());
        }
        world.pass(1);
        assert!(world.uid(roles.worker(0)).is_some());
    }
}

// contract: 7.4.5
#[test]
fn a_whole_job_waits_also_when_a_pod_vanished() {
    for roles in SETS {
        let mut world = with_failure_policy(roles, json!({"maxRestarts": 5}));
        let mut waits = Vec::new();
        for _ in 0..3 {
            world.vanish(roles.worker(0));
            waits.push(world.wait_for_pod(roles.worker(0), None));
            world.start_all();
        }
        assert_eq!(waits, [0, 10, 20]);
    }
}

// contract: 7.2.1, 7.2.3
#[test]
fn a_drained_pod_is_replaced_without_counting_once_it_is_gone() {
    for roles in SETS {
        let mut world = retried(roles);
        world.obedient = false;
        let before = world.uid(roles.worker(0));
        world.drain(roles.worker(0));
        assert_eq!(world.uid(roles.worker(0)), before, "it is still stopping");
        assert_eq!(
            (
                world.phase().as_str(),
                world.counts(roles.worker).active,
                world.counts(roles.worker).failed
            ),
            ("Running", 1, 0)
        );
        world.stop_all();
        world.settle();
        assert!(
            world
                .uid(roles.worker(0))
                .is_some_and(|uid| Some(uid) != before)
        );
        let counts = world.counts(roles.worker);
        assert_eq!((counts.restarts, counts.disrupted_indexes), (0, None));
    }
}

// contract: 7.2.1
#[test]
fn a_backoff_limit_does_not_end_a_drained_job() {
    for roles in SETS {
        let mut manifest = roles.job(1, 0, 1);
        set(&mut manifest, "spec.runPolicy.backoffLimit", json!(0));
        set(
            &mut manifest,
            &format!("spec.mxReplicaSpecs.{}.restartPolicy", roles.worker),
            json!("OnFailure"),
        );
        let mut world = World::running(roles, manifest);
        world.drain(roles.worker(0));
        assert_ne!(world.phase(), "Failed");
        world.start_all();
        world.vanish(roles.worker(0));
        assert_eq!(world.phase(), "Failed");
    }
}

// contract: 7.2.1
#[test]
fn a_drained_pod_that_may_never_be_restarted_fails_the_job() {
    for roles in SETS {
        let mut world = World::running(roles, roles.job(1, 1, 2));
        world.drain(roles.worker(0));
        assert!(world.status().is(ConditionType::Failed));
    }
}

// contract: 7.2.2
#[test]
fn a_pod_that_was_drained_before_it_started_is_simply_created_again() {
    for roles in SETS {
        let mut world = roles.world(1, 1, 2);
        world.drain(roles.worker(0));
        let counts = world.counts(roles.worker);
        assert!(world.uid(roles.worker(0)).is_some());
        assert!(counts.attempts.is_empty() && counts.disrupted_indexes.is_none());
    }
}

// contract: 7.4.1
#[test]
fn a_rule_knows_a_drained_pod_from_a_deleted_one() {
    let rules = json!({"rules": [
        {"action": "FailJob", "reasons": ["Deleted"]},
        {"action": "RestartJob", "reasons": ["DisruptionTarget"], "countsTowardLimit": false},
    ]});
    for roles in SETS {
        let mut world = with_failure_policy(roles, rules.clone());
        world.drain(roles.worker(0));
        assert_eq!(
            (world.status().restarts, world.status().counted_restarts),
            (Some(1), None)
        );
        world.start_all();
        world.vanish(roles.worker(0));
        assert_eq!(world.phase(), "Failed");
    }
}

#[test]
fn a_pod_drained_after_ten_minutes_is_replaced_at_once() {
    for (ran, waits) in [(599, true), (600, false)] {
        for roles in SETS {
            let mut world = retried(roles);
            for _ in 0..2 {
                world.exit(roles.worker(0), 137);
                world.wait();
                world.start_all();
            }
            world.pass(ran);
            world.drain(roles.worker(0));
            assert_eq!(world.uid(roles.worker(0)).is_none(), waits, "ran {ran} s");
        }
    }
}
