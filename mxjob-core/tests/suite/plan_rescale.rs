//! A job whose size is changed.

use crate::support::{SETS, TUNING, World, set, tuning};
use mxjob_core::api::v1::ConditionType;
use serde_json::json;

// contract: 7.7.1
#[test]
fn a_job_of_fixed_membership_restarts_as_a_whole_with_its_new_size() {
    for roles in SETS {
        let crd = roles.table.crd;
        for workers in [1, 3] {
            let mut world = World::running(roles, roles.job(1, 1, 2));
            let before = world.uid(roles.chief(0));
            world.obedient = false;
            world.scale(roles.worker, workers);
            let message = format!("{} demo is restarting because its size changed.", crd.kind);
            let reason = format!("{}Rescaled", crd.kind);
            assert_eq!(world.pods().len(), 4, "the old pods are stopping");
            assert_eq!(world.phase(), "Restarting");
            assert_eq!(world.message(ConditionType::Restarting), message);
            assert_eq!(world.status().reason.as_ref(), Some(&reason));
            assert_eq!(world.said(&reason), [message]);
            world.obedient = true;
            world.settle();
            assert_eq!(world.pods().len(), 2 + workers as usize);
            assert_eq!(world.services(), 2 + workers as usize);
            assert_ne!(world.uid(roles.chief(0)), before);
            world.start_all();
            assert_eq!(world.phase(), "Running");
            let status = world.status();
            assert_eq!((status.restarts, status.counted_restarts), (Some(1), None));
            for worker in 0..workers {
                world.exit(roles.worker(worker), 0);
            }
            world.exit(roles.chief(0), 0);
            assert_eq!(world.phase(), "Succeeded");
            assert_eq!(world.said(&format!("{}Rescaled", crd.kind)).len(), 1);
        }
    }
}

// contract: 7.7.1
#[test]
fn a_role_that_comes_or_goes_is_another_size() {
    for roles in SETS {
        let mut world = World::running(roles, roles.job(1, 0, 2));
        let path = format!("spec.mxReplicaSpecs.{}", roles.server);
        world.edit(&path, roles.replicas(2));
        assert_eq!(
            (world.phase().as_str(), world.pods().len()),
            ("Restarting", 5)
        );
        world.start_all();
        world.cluster.edit_job(|job| {
            let all = job["spec"]["mxReplicaSpecs"].as_object_mut().unwrap();
            all.remove(roles.server);
        });
        world.settle();
        assert_eq!(
            (world.phase().as_str(), world.pods().len()),
            ("Restarting", 3)
        );
        assert!(!world.status().replica_statuses.contains_key(roles.server));
        world.start_all();
        assert_eq!(world.phase(), "Running");
        assert_eq!(world.status().restarts, Some(2));
    }
}

#[test]
fn another_edit_restarts_nothing() {
    for roles in SETS {
        let mut world = World::running(roles, roles.job(1, 1, 2));
        world.edit("spec.runPolicy.ttlSecondsAfterFinished", json!(60));
        assert_eq!(
            (world.phase().as_str(), world.is_quiet()),
            ("Running", true)
        );
        world.scale(roles.worker, 2);
        assert_eq!(world.status().restarts, None);
    }
}

#[test]
fn a_size_changed_while_there_are_no_pods_restarts_nothing() {
    for roles in SETS {
        let mut world = World::running(roles, roles.job(1, 1, 2));
        world.edit("spec.runPolicy.suspend", json!(true));
        world.scale(roles.worker, 3);
        world.edit("spec.runPolicy.suspend", json!(false));
        world.start_all();
        assert_eq!(
            (world.phase().as_str(), world.status().ready.as_deref()),
            ("Running", Some("5/5"))
        );
        assert_eq!(world.status().restarts, None);
    }
}

#[test]
fn a_size_changed_again_while_the_old_pods_stop_is_one_restart() {
    for roles in SETS {
        let mut world = World::running(roles, roles.job(1, 1, 2));
        world.obedient = false;
        for workers in [3, 1, 4] {
            world.scale(roles.worker, workers);
        }
        world.obedient = true;
        world.settle();
        assert_eq!((world.pods().len(), world.status().restarts), (6, Some(1)));
        world.edit("spec.runPolicy.suspend", json!(true));
        world.cluster.edit_job(|job| {
            set(job, "spec.runPolicy.suspend", json!(false));
            let replicas = format!("spec.mxReplicaSpecs.{}.replicas", roles.worker);
            set(job, &replicas, json!(2));
        });
        world.settle();
        assert_eq!((world.pods().len(), world.status().restarts), (4, Some(1)));
    }
}

#[test]
fn a_size_changed_before_any_pod_runs_is_still_a_restart() {
    for roles in SETS {
        let mut world = roles.world(1, 1, 2);
        let before = world.uid(roles.chief(0));
        world.scale(roles.worker, 3);
        assert_ne!(world.uid(roles.chief(0)), before);
        assert_eq!(world.pods().len(), 5);
    }
}

// contract: 7.7.1
#[test]
fn a_restart_for_another_size_neither_waits_nor_makes_others_wait() {
    for roles in SETS {
        let mut manifest = roles.job(1, 1, 2);
        set(
            &mut manifest,
            "spec.failurePolicy",
            json!({"maxRestarts": 3}),
        );
        let mut world = World::running(roles, manifest);
        for workers in [3, 2, 3] {
            world.scale(roles.worker, workers);
            world.start_all();
            assert_eq!(world.phase(), "Running");
        }
        world.exit(roles.worker(0), 137);
        world.start_all();
        assert_eq!(world.phase(), "Running", "the first wait is 0");
        world.exit(roles.worker(0), 137);
        assert_eq!(world.status().restarts, Some(4));
        world.scale(roles.worker, 2);
        assert_eq!(world.status().restarts, Some(5), "a wait is over");
        assert_eq!(world.status().counted_restarts, Some(1));
    }
}

#[test]
fn a_job_that_has_failed_is_not_saved_by_another_size() {
    for roles in SETS {
        let mut world = World::running(roles, roles.job(1, 1, 2));
        world.exit_unseen(roles.worker(0), 1);
        world.scale(roles.worker, 3);
        assert_eq!(world.phase(), "Failed");
    }
}

#[test]
fn a_smaller_job_has_not_succeeded_by_what_the_larger_one_did() {
    for roles in SETS {
        let mut world = World::running(roles, roles.job(0, 0, 2));
        world.exit(roles.worker(0), 0);
        world.scale(roles.worker, 1);
        assert_eq!(
            (world.phase().as_str(), world.pods().len()),
            ("Restarting", 1)
        );
        assert!(
            world.status().replica_statuses[roles.worker]
                .completed_indexes
                .is_none()
        );
    }
}

// contract: 7.7.2
#[test]
fn a_tuning_job_gains_and_loses_just_the_pods_that_differ() {
    let mut world = World::running(TUNING, tuning());
    let before = world.uid(TUNING.worker(0));
    world.scale(TUNING.worker, 3);
    world.start_all();
    assert_eq!((world.pods().len(), world.services()), (5, 5));
    world.scale(TUNING.worker, 1);
    assert_eq!((world.pods().len(), world.services()), (3, 3));
    assert_eq!(world.uid(TUNING.worker(0)), before);
    assert_eq!(
        (world.phase().as_str(), world.status().restarts),
        ("Running", None)
    );
    assert!(world.said("MXJobRescaled").is_empty());
}

#[test]
fn a_pod_that_is_wanted_again_before_it_is_gone_has_not_vanished() {
    let mut manifest = tuning();
    set(
        &mut manifest,
        "spec.mxReplicaSpecs.TunerServer.restartPolicy",
        json!("Never"),
    );
    let mut world = World::running(TUNING, manifest);
    world.obedient = false;
    world.scale(TUNING.worker, 1);
    world.scale(TUNING.worker, 2);
    world.stop_all();
    world.settle();
    world.start_all();
    assert_eq!(
        (world.phase().as_str(), world.status().ready.as_deref()),
        ("Running", Some("4/4"))
    );
}
