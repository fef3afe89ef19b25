//! Deadline, time to live, suspension, cleanup, invalid jobs.

use crate::support::{MX, SETS, World, set};
use mxjob_core::api::v1::ConditionType;
use serde_json::json;

// contract: 7.6
#[test]
fn a_deadline_fires_on_a_quiet_job_and_never_before() {
    for roles in SETS {
        let mut manifest = roles.job(1, 0, 1);
        set(
            &mut manifest,
            "spec.runPolicy.activeDeadlineSeconds",
            json!(60),
        );
        let mut world = World::running(roles, manifest);
        world.pass(59);
        assert_eq!(world.phase(), "Running");
        world.pass(1);
        let message = "Job demo has failed because it was active longer than specified deadline";
        assert_eq!(
            (
                world.phase().as_str(),
                world.message(ConditionType::Failed).as_str()
            ),
            ("Failed", message)
        );
        assert!(world.pods().is_empty());
    }
}

// contract: 8.3
#[test]
fn a_finished_job_goes_when_its_time_to_live_is_over() {
    for roles in SETS {
        let mut manifest = roles.job(0, 0, 1);
        set(
            &mut manifest,
            "spec.runPolicy.ttlSecondsAfterFinished",
            json!(10),
        );
        let mut world = World::running(roles, manifest);
        world.exit(roles.worker(0), 0);
        world.pass(9);
        assert!(world.cluster.job().is_some());
        world.pass(1);
        assert!(world.cluster.job().is_none() && world.pods().is_empty());
    }
}

// contract: 8.3
#[test]
fn a_finished_job_goes_in_time_also_when_its_spec_is_spoilt_since() {
    for place in ["spec.runPolicy.", "spec."] {
        for was_valid in [true, false] {
            let mut manifest = MX.job(0, 0, 1);
            let path = format!("{place}ttlSecondsAfterFinished");
            set(&mut manifest, &path, json!(10));
            let mut world = World::running(MX, manifest);
            if was_valid {
                world.exit(MX.worker(0), 0);
            }
            world.edit("spec.jobMode", json!("MXNothing"));
            world.pass(9);
            assert!(world.cluster.job().is_some());
            world.pass(1);
            assert_eq!(world.cluster.job().is_none(), was_valid, "{place}");
        }
    }
}

// contract: 2.5, 5.3.5, 8.1
// promise: P29
#[test]
fn each_clean_pod_policy_keeps_what_it_says() {
    for (policy, kept) in [("All", 0), ("Running", 2), ("None", 3)] {
        for roles in SETS {
            let mut manifest = roles.job(1, 1, 1);
            set(
                &mut manifest,
                "spec.runPolicy.cleanPodPolicy",
                json!(policy),
            );
            let mut world = World::running(roles, manifest);
            world.exit(roles.worker(0), 0);
            world.exit(roles.chief(0), 0);
            assert_eq!(
                (world.phase().as_str(), world.pods().len()),
                ("Succeeded", kept),
                "{policy}"
            );
        }
    }
}

// contract: 8.5
#[test]
fn a_job_created_suspended_has_no_pods_and_no_start_time() {
    for roles in SETS {
        let mut manifest = roles.job(1, 1, 1);
        set(&mut manifest, "spec.runPolicy.suspend", json!(true));
        let world = World::of(roles, manifest);
        assert_eq!(world.conditions(), ["Created=True", "Suspended=True"]);
        assert!(world.pods().is_empty() && world.status().start_time.is_none() && world.is_quiet());
    }
}

// contract: 2.8
#[test]
fn a_job_managed_elsewhere_is_left_alone() {
    let mut manifest = MX.job(1, 1, 1);
    set(
        &mut manifest,
        "spec.runPolicy.managedBy",
        json!("example.org/other"),
    );
    let world = World::of(MX, manifest);
    assert!(world.pods().is_empty() && world.conditions().is_empty());
}

// contract: 3.15
// defect: D7
#[test]
fn an_invalid_job_fails_once_with_every_error_and_no_pod() {
    let mut manifest = MX.job(1, 0, 1);
    set(
        &mut manifest,
        "spec.mxReplicaSpecs.Wroker",
        json!({"template": {"spec": {"containers": []}}}),
    );
    let world = World::of(MX, manifest);
    assert_eq!(
        (world.phase().as_str(), world.status().reason.as_deref()),
        ("Failed", Some("FailedInvalidMXJobSpec"))
    );
    assert!(world.message(ConditionType::Failed).contains("Wroker"));
    assert!(world.pods().is_empty() && world.is_quiet());
    assert_eq!(world.said("FailedInvalidMXJobSpec").len(), 1);
}

// contract: 8.6
#[test]
fn suspended_time_does_not_count_towards_the_deadline() {
    for roles in SETS {
        let mut manifest = roles.job(1, 0, 1);
        let deadline = "spec.runPolicy.activeDeadlineSeconds";
        set(&mut manifest, deadline, json!(60));
        let mut world = World::running(roles, manifest);
        world.pass(50);
        world.edit("spec.runPolicy.suspend", json!(true));
        world.pass(100);
        assert_eq!(world.phase(), "Suspended");
        world.edit("spec.runPolicy.suspend", json!(false));
        world.start_all();
        world.pass(59);
        assert_eq!(world.phase(), "Running");
        world.pass(1);
        assert_eq!(world.phase(), "Failed");
    }
}

// contract: 8.6
#[test]
fn a_finished_job_ignores_that_it_is_suspended() {
    for roles in SETS {
        let mut manifest = roles.job(0, 0, 1);
        set(
            &mut manifest,
            "spec.runPolicy.cleanPodPolicy",
            json!("None"),
        );
        let mut world = World::running(roles, manifest);
        world.exit(roles.worker(0), 0);
        let ended = (world.status(), world.pods());
        world.edit("spec.runPolicy.suspend", json!(true));
        world.pass(60);
        assert_eq!(
            (world.status().conditions, world.pods()),
            (ended.0.conditions, ended.1)
        );
    }
}
