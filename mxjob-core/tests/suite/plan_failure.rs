//! Failures, replacements, restarts of the whole job, limits.

use crate::support::{Look, MX, SETS, Set, World, set};
use jiff::SignedDuration;
use mxjob_core::api::v1::ConditionType;
use mxjob_core::plan::Action;
use serde_json::json;

fn with_restart_policy(roles: Set, role: &str, policy: &str) -> serde_json::Value {
    let mut manifest = roles.job(1, 1, 2);
    set(
        &mut manifest,
        &format!("spec.mxReplicaSpecs.{role}.restartPolicy"),
        json!(policy),
    );
    manifest
}

fn with_failure_policy(roles: Set, policy: serde_json::Value) -> serde_json::Value {
    let mut manifest = roles.job(1, 1, 2);
    set(&mut manifest, "spec.failurePolicy", policy);
    manifest
}

// contract: 7.1.1
#[test]
fn a_failed_replica_fails_the_job_and_stops_the_others() {
    for roles in SETS {
        let mut world = World::running(roles, roles.job(1, 2, 2));
        world.exit(roles.worker(1), 137);
        assert_eq!(world.phase(), "Failed");
        assert_eq!(world.pods(), [format!("{}-1", roles.worker.to_lowercase())]);
        assert_eq!(world.services(), 0);
        assert!(world.status().completion_time.is_some() && world.is_quiet());
    }
}

// contract: 9.1
#[test]
fn the_message_counts_the_failed_replicas_of_the_first_role() {
    let mut world = World::running(MX, MX.job(1, 1, 2));
    world.exit(MX.worker(0), 1);
    assert_eq!(
        world.message(ConditionType::Failed),
        "mxjob demo is failed because 1 Worker replica(s) failed."
    );
    assert_eq!(
        world.said("ExitedWithCode"),
        ["Pod: lab.demo-worker-0 exited with code 1"]
    );
    assert_eq!(world.said("MXJobFailed").len(), 1);
}

// contract: 7.1.3
#[test]
fn exit_code_policy_replaces_after_a_signal_and_fails_after_an_error() {
    for roles in SETS {
        let manifest = with_restart_policy(roles, roles.worker, "ExitCode");
        let mut world = World::running(roles, manifest.clone());
        let before = world.uid(roles.worker(0));
        world.exit(roles.worker(0), 137);
        assert!(
            world
                .uid(roles.worker(0))
                .is_some_and(|uid| Some(uid) != before)
        );
        assert_eq!(world.counts(roles.worker).restarts, 1);
        let mut world = World::running(roles, manifest);
        world.exit(roles.worker(0), 1);
        assert_eq!(world.phase(), "Failed");
    }
}

// contract: 5.4.1
#[test]
fn on_failure_restarts_in_place() {
    for roles in SETS {
        let mut world =
            World::running(roles, with_restart_policy(roles, roles.worker, "OnFailure"));
        let before = world.uid(roles.worker(0));
        world.exit(roles.worker(0), 1);
        world.start_all();
        assert_eq!(world.uid(roles.worker(0)), before);
        assert_eq!(
            (world.phase().as_str(), world.counts(roles.worker).restarts),
            ("Running", 0)
        );
    }
}

// contract: 7.3.3
#[test]
fn replacements_of_one_replica_wait_longer_each_time() {
    for roles in SETS {
        let mut world = World::running(roles, with_restart_policy(roles, roles.worker, "ExitCode"));
        let mut waits = Vec::new();
        for _ in 0..8 {
            let failed_at = world.now;
            world.exit(roles.worker(0), 137);
            while world.planned().is_empty()
                && world.counts(roles.worker).restarts == i32::try_from(waits.len()).unwrap()
            {
                let due = world.cluster.next_deadline().expect("a wait");
                world.pass(due.duration_since(world.now).as_secs());
            }
            waits.push(world.now.duration_since(failed_at).as_secs());
            world.start_all();
        }
        assert_eq!(waits, [0, 10, 20, 40, 80, 160, 300, 300]);
    }
}

// contract: 7.3.3
#[test]
fn a_clock_that_is_an_hour_ahead_keeps_nothing_waiting() {
    let mut world = World::running(MX, with_restart_policy(MX, MX.worker, "ExitCode"));
    for (earlier, wait) in [(0, 0), (1, 10), (2, 20)] {
        // The node's clock ends the replica in an hour, and the server's has begun it now.
        let mut look = Look::of(&world);
        look.fail("demo-worker-0", Some(137));
        let created = look.now;
        let pod = look.pod("demo-worker-0");
        let later = created.checked_add(SignedDuration::from_hours(1)).ok();
        pod.started_at = later;
        pod.exit.as_mut().unwrap().at = later;
        pod.created_at = Some(created);
        let plan = look.plan();
        let deletes = plan
            .actions
            .iter()
            .any(|action| matches!(action, Action::DeletePod(_)));
        assert_eq!(deletes, wait == 0, "{plan:?}");
        if wait > 0 {
            let due = plan.wake_at.unwrap().duration_since(created);
            assert_eq!(due.as_secs(), wait);
        }
        world.exit(MX.worker(0), 137);
        while world.planned().is_empty() && world.counts(MX.worker).restarts == earlier {
            let due = world.cluster.next_deadline().expect("a wait");
            world.pass(due.duration_since(world.now).as_secs());
        }
        world.start_all();
    }
    // Where ours is behind by so much, everything is still to come.
    let mut look = Look::of(&world);
    look.fail("demo-worker-0", Some(137));
    let later = look.now.checked_add(SignedDuration::from_hours(1)).ok();
    let pod = look.pod("demo-worker-0");
    pod.exit.as_mut().unwrap().at = later;
    pod.created_at = later;
    let plan = look.plan();
    let deletes = plan
        .actions
        .iter()
        .any(|action| matches!(action, Action::DeletePod(_)));
    assert!(deletes, "{plan:?}");
}

// contract: 7.3.3
#[test]
fn after_a_run_of_ten_minutes_the_waits_start_over() {
    for roles in SETS {
        for manifest in [
            with_restart_policy(roles, roles.worker, "ExitCode"),
            with_failure_policy(roles, json!({"maxRestarts": 20})),
        ] {
            let mut world = World::running(roles, manifest);
            let mut waits = Vec::new();
            for ran in [1, 1, 1, 600, 1, 1, 1, 599, 600, 1] {
                world.pass(ran);
                let before = world.uid(roles.worker(0));
                world.exit(roles.worker(0), 137);
                waits.push(world.wait_for_pod(roles.worker(0), before.as_ref()));
                world.start_all();
            }
            assert_eq!(waits, [0, 10, 20, 0, 10, 20, 40, 80, 0, 10]);
        }
    }
}

// contract: 7.4.1, 7.4.2
#[test]
fn a_failure_policy_restarts_the_whole_job() {
    for roles in SETS {
        let mut world =
            World::running(roles, with_failure_policy(roles, json!({"maxRestarts": 1})));
        let before: Vec<_> = [roles.chief(0), roles.server(0), roles.worker(1)]
            .map(|one| world.uid(one))
            .into();
        world.exit(roles.worker(0), 137);
        assert_eq!(
            (world.phase().as_str(), world.status().restarts),
            ("Restarting", Some(1))
        );
        assert_eq!(world.pods().len(), 4);
        let after: Vec<_> = [roles.chief(0), roles.server(0), roles.worker(1)]
            .map(|one| world.uid(one))
            .into();
        assert!(
            before
                .iter()
                .zip(&after)
                .all(|(before, after)| before != after && after.is_some())
        );
        world.start_all();
        assert_eq!(world.phase(), "Running");
        for replica in [roles.worker(0), roles.worker(1), roles.chief(0)] {
            world.exit(replica, 0);
        }
        assert_eq!(world.phase(), "Succeeded");
    }
}

// contract: 7.4.2
#[test]
fn nothing_of_the_next_life_starts_before_all_of_the_last_is_gone() {
    for roles in SETS {
        let mut world = World::running(roles, with_failure_policy(roles, json!({})));
        world.obedient = false;
        world.exit(roles.worker(0), 137);
        assert_eq!(
            world.pods().len(),
            3,
            "the failed pod is gone, the others are stopping"
        );
        world.stop_all();
        world.settle();
        assert_eq!(world.pods().len(), 4);
    }
}

// contract: 7.4.3
#[test]
fn past_max_restarts_the_job_fails() {
    for roles in SETS {
        let mut world =
            World::running(roles, with_failure_policy(roles, json!({"maxRestarts": 0})));
        world.exit(roles.worker(0), 1);
        assert_eq!(world.phase(), "Failed");
        let message = "Job demo has failed because it has reached maxRestarts (0)";
        assert_eq!(world.message(ConditionType::Failed), message);
    }
}

// contract: 7.4.1, 7.4.4
#[test]
fn the_first_rule_that_matches_decides() {
    let rules = json!({"rules": [
        {"action": "FailJob", "roles": ["Worker"], "exitCodes": ["1-127"]},
        {"action": "RestartReplica", "roles": ["Server"]},
        {"action": "RestartJob", "reasons": ["Error"], "countsTowardLimit": false},
    ]});
    let mut world = World::running(MX, with_failure_policy(MX, rules));
    world.exit(MX.server(0), 9);
    assert_eq!(
        (world.counts("Server").restarts, world.status().restarts),
        (1, None)
    );
    world.start_all();
    world.exit(MX.worker(0), 137);
    assert_eq!(
        (world.status().restarts, world.status().counted_restarts),
        (Some(1), None)
    );
    world.start_all();
    world.exit(MX.worker(0), 3);
    assert_eq!(world.phase(), "Failed");
}

// contract: 7.3.2
#[test]
fn a_backoff_limit_ends_the_replacements() {
    for roles in SETS {
        let mut manifest = with_restart_policy(roles, roles.worker, "ExitCode");
        set(&mut manifest, "spec.runPolicy.backoffLimit", json!(1));
        let mut world = World::running(roles, manifest);
        world.exit(roles.worker(0), 137);
        world.start_all();
        assert_eq!(world.phase(), "Running");
        world.exit(roles.worker(1), 137);
        assert_eq!(world.phase(), "Failed");
        let message = "Job demo has failed because it has reached the specified backoff limit";
        assert_eq!(world.message(ConditionType::Failed), message);
    }
}

// contract: 7.3.1
#[test]
fn a_failure_is_counted_once_however_often_it_is_seen() {
    for roles in SETS {
        let mut world = World::running(roles, with_restart_policy(roles, roles.worker, "ExitCode"));
        world.exit(roles.worker(0), 137);
        for _ in 0..3 {
            world.settle();
        }
        assert_eq!(world.counts(roles.worker).restarts, 1);
        assert_eq!(world.said("ExitedWithCode").len(), 1);
    }
}

// contract: 7.2.2
#[test]
fn a_pod_that_vanished_after_its_start_is_a_failure() {
    for roles in SETS {
        let mut world = World::running(roles, roles.job(1, 1, 2));
        world.vanish(roles.worker(0));
        assert_eq!(world.phase(), "Failed");
        let mut world = World::running(roles, with_restart_policy(roles, roles.worker, "ExitCode"));
        world.vanish(roles.worker(0));
        assert_eq!(
            (world.phase().as_str(), world.counts(roles.worker).restarts),
            ("Running", 1)
        );
        assert!(world.uid(roles.worker(0)).is_some());
    }
}

// contract: 7.2.2
#[test]
fn a_pod_that_vanished_before_its_start_is_simply_created_again() {
    for roles in SETS {
        let mut world = roles.world(1, 1, 2);
        let before = world.uid(roles.worker(0));
        world.vanish(roles.worker(0));
        assert!(
            world
                .uid(roles.worker(0))
                .is_some_and(|uid| Some(uid) != before)
        );
        assert_eq!(
            (world.phase().as_str(), world.counts(roles.worker).restarts),
            ("Created", 0)
        );
    }
}

// contract: 6.7
#[test]
fn a_succeeded_pod_that_somebody_deletes_is_not_run_again() {
    for roles in SETS {
        let mut world = World::running(roles, roles.job(1, 0, 2));
        world.exit(roles.worker(0), 0);
        world.vanish(roles.worker(0));
        assert!(world.uid(roles.worker(0)).is_none());
        world.exit(roles.worker(1), 0);
        world.exit(roles.chief(0), 0);
        assert_eq!(world.phase(), "Succeeded");
    }
}
