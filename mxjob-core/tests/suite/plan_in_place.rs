//! Containers that the kubelet starts again in their pod.

use crate::support::{SETS, Set, TUNING, World, set, tuning};
use serde_json::{Value, json};

fn on_failure(roles: Set, limit: Option<i32>) -> Value {
    let mut manifest = roles.job(1, 0, 2);
    set(
        &mut manifest,
        &format!("spec.mxReplicaSpecs.{}.restartPolicy", roles.worker),
        json!("OnFailure"),
    );
    if let Some(limit) = limit {
        set(&mut manifest, "spec.runPolicy.backoffLimit", json!(limit));
    }
    manifest
}

/// A job of which worker 0 has been restarted in place so many times.
fn restarted(roles: Set, manifest: Value, times: usize) -> World {
    let mut world = World::running(roles, manifest);
    for _ in 0..times {
        world.exit(roles.worker(0), 1);
        world.wait();
        world.start_all();
    }
    world
}

// contract: 7.3.1
#[test]
fn restarts_in_place_of_a_pod_that_vanished_are_not_forgotten() {
    for roles in SETS {
        let mut world = restarted(roles, on_failure(roles, Some(4)), 2);
        world.vanish(roles.worker(0));
        let counts = world.counts(roles.worker);
        assert_eq!((counts.in_place_restarts, counts.restarts), (2, 1));
        world.start_all();
        world.exit(roles.worker(1), 1);
        assert_ne!(world.phase(), "Failed", "three restarts in place");
        world.wait();
        world.start_all();
        world.exit(roles.worker(1), 1);
        assert_eq!(world.phase(), "Failed", "four restarts in place");
    }
}

// contract: 7.3.1
#[test]
fn restarts_in_place_of_a_suspended_job_are_not_forgotten() {
    for roles in SETS {
        let mut world = restarted(roles, on_failure(roles, None), 2);
        world.exit_unseen(roles.worker(0), 1);
        world.edit("spec.runPolicy.suspend", json!(true));
        assert!(world.pods().is_empty());
        assert_eq!(world.counts(roles.worker).in_place_restarts, 3);
        world.edit("spec.runPolicy.suspend", json!(false));
        world.start_all();
        assert_eq!(world.counts(roles.worker).in_place_restarts, 3);
        assert!(world.is_quiet());
    }
}

#[test]
fn a_job_that_resumes_before_its_pods_are_gone_forgets_no_restart() {
    for roles in SETS {
        let mut world = restarted(roles, on_failure(roles, None), 2);
        world.obedient = false;
        world.edit("spec.runPolicy.suspend", json!(true));
        world.edit("spec.runPolicy.suspend", json!(false));
        world.stop_all();
        world.settle();
        world.start_all();
        assert_eq!(
            (
                world.phase().as_str(),
                world.counts(roles.worker).in_place_restarts
            ),
            ("Running", 2)
        );
    }
}

#[test]
fn restarts_in_place_are_booked_once_when_the_whole_job_restarts() {
    for roles in SETS {
        let mut world = restarted(roles, on_failure(roles, None), 2);
        let policy = json!({"rules": [{"action": "RestartReplica", "roles": [roles.worker]}]});
        world.edit("spec.failurePolicy", policy);
        world.obedient = false;
        world.vanish(roles.worker(0));
        world.vanish(roles.chief(0));
        assert_eq!(world.status().restarts, Some(1));
        assert_eq!(world.counts(roles.worker).in_place_restarts, 2);
    }
}

// contract: 7.5
#[test]
fn a_replica_that_was_restarted_in_place_is_warned_of_once() {
    for roles in SETS {
        let mut world = restarted(roles, on_failure(roles, None), 3);
        let warnings = world.said("RestartedInPlace");
        assert_eq!(warnings.len(), 1, "{warnings:?}");
        assert!(
            warnings[0].contains(&format!("{}-0", roles.worker.to_lowercase()))
                && warnings[0].contains("ps-lite does not take a member back")
                && warnings[0].contains("failurePolicy"),
            "{warnings:?}"
        );
        world.vanish(roles.worker(0));
        world.start_all();
        world.exit(roles.worker(0), 1);
        assert_eq!(world.said("RestartedInPlace").len(), 1, "its next pod");
        world.exit(roles.worker(1), 1);
        assert_eq!(world.said("RestartedInPlace").len(), 2, "another replica");
    }
}

#[test]
fn a_replica_without_peers_may_be_restarted_in_place() {
    for roles in SETS {
        let mut manifest = roles.job(0, 0, 1);
        let policy = format!("spec.mxReplicaSpecs.{}.restartPolicy", roles.worker);
        set(&mut manifest, &policy, json!("OnFailure"));
        let world = restarted(roles, manifest, 2);
        assert!(world.said("RestartedInPlace").is_empty());
    }
}

#[test]
fn a_mode_that_takes_members_back_is_not_warned_of() {
    let mut world = World::running(TUNING, tuning());
    let tuner = TUNING.worker(1);
    world.exit(tuner, 1);
    assert_eq!(world.counts(TUNING.worker).container_restarts["1"], 1);
    assert!(world.said("RestartedInPlace").is_empty());
}
