//! From nothing to Succeeded.

use crate::support::{Look, MX, SETS, World, set};
use jiff::SignedDuration;
use mxjob_core::api::v1::ConditionType;
use mxjob_core::plan::{Exit, PodPhase};
use serde_json::json;

// contract: 6.2, 6.9, 9.1
// promise: P38, P54
#[test]
fn a_job_is_created_runs_and_succeeds() {
    for roles in SETS {
        let mut world = roles.world(1, 2, 2);
        assert_eq!((world.pods().len(), world.services()), (5, 5));
        assert_eq!(
            (world.phase().as_str(), world.status().ready.as_deref()),
            ("Created", Some("0/5"))
        );
        world.start_all();
        assert_eq!(
            (world.phase().as_str(), world.status().ready.as_deref()),
            ("Running", Some("5/5"))
        );
        for replica in [
            roles.worker(0),
            roles.server(0),
            roles.chief(0),
            roles.server(1),
        ] {
            world.exit(replica, 0);
            assert_eq!(world.phase(), "Running");
        }
        world.exit(roles.worker(1), 0);
        assert_eq!(
            world.conditions(),
            ["Created=True", "Running=False", "Succeeded=True"]
        );
        assert!(world.status().completion_time.is_some());
        assert_eq!((world.pods().len(), world.services()), (5, 0));
        assert!(world.is_quiet());
    }
}

#[test]
fn every_step_leaves_a_world_in_which_nothing_is_left_to_do() {
    for roles in SETS {
        let mut world = roles.world(1, 1, 1);
        assert!(world.is_quiet());
        world.start_all();
        assert!(world.is_quiet());
        world.exit(roles.worker(0), 0);
        assert!(world.is_quiet());
    }
}

// contract: 6.1
// promise: P67
#[test]
fn without_a_chief_role_the_workers_decide() {
    for roles in SETS {
        let mut world = World::running(roles, roles.job(0, 0, 2));
        world.exit(roles.worker(1), 0);
        assert_eq!(world.phase(), "Running");
        world.exit(roles.worker(0), 0);
        assert_eq!(world.phase(), "Succeeded");
    }
}

// contract: 6.3
#[test]
fn workers_may_go_on_for_thirty_seconds_after_the_chief() {
    for roles in SETS {
        let mut world = World::running(roles, roles.job(1, 0, 1));
        world.exit(roles.chief(0), 0);
        world.pass(29);
        assert_eq!(world.phase(), "Running");
        world.pass(1);
        assert_eq!(world.phase(), "Succeeded");
    }
}

// contract: 6.3
#[test]
fn a_clock_that_is_an_hour_ahead_gives_them_no_hour() {
    let world = World::running(MX, MX.job(1, 0, 1));
    let mut look = Look::of(&world);
    let (ended, hour) = (look.now, SignedDuration::from_hours(1));
    let pod = look.pod("demo-scheduler-0");
    pod.phase = PodPhase::Succeeded;
    pod.exit = Some(Exit {
        code: 0,
        reason: None,
        at: ended.checked_add(hour).ok(),
    });
    for (seconds, succeeded) in [(0, false), (29, false), (31, true)] {
        look.now = ended
            .checked_add(SignedDuration::from_secs(seconds))
            .unwrap();
        let plan = look.plan();
        let status = plan.status.unwrap_or_else(|| look.job.status.clone());
        let done = status.condition(ConditionType::Succeeded).is_some();
        assert_eq!(done, succeeded, "after {seconds} s");
        look.job.status = status;
    }
}

// contract: 6.3
#[test]
fn the_planner_says_when_to_look_again_after_the_chief_has_ended() {
    for roles in SETS {
        let mut world = World::running(roles, roles.job(1, 0, 1));
        world.exit(roles.chief(0), 0);
        let wait = world
            .cluster
            .next_deadline()
            .unwrap()
            .duration_since(world.now);
        assert_eq!(wait.as_secs(), 30);
    }
}

// contract: 6.4
#[test]
fn all_workers_waits_for_every_worker_and_for_nobody_else() {
    for roles in SETS {
        let mut manifest = roles.job(1, 0, 2);
        set(&mut manifest, "spec.successPolicy", json!("AllWorkers"));
        let mut world = World::running(roles, manifest);
        world.exit(roles.chief(0), 0);
        world.exit(roles.worker(0), 0);
        world.pass(3600);
        assert_eq!(world.phase(), "Running");
        world.exit(roles.worker(1), 0);
        assert_eq!(world.phase(), "Succeeded");
    }
}

// contract: 6.5
// promise: P67
#[test]
fn failed_beats_succeeded_in_one_look() {
    for roles in SETS {
        let mut world = World::running(roles, roles.job(1, 1, 1));
        world.exit_unseen(roles.worker(0), 0);
        world.exit_unseen(roles.chief(0), 0);
        world.exit_unseen(roles.server(0), 1);
        world.settle();
        assert_eq!(world.phase(), "Failed");
    }
}

// contract: 6.6
#[test]
fn a_final_condition_never_changes() {
    for roles in SETS {
        let mut world = World::running(roles, roles.job(1, 1, 1));
        world.exit(roles.server(0), 1);
        let before = world.status();
        world.pass(3600);
        assert_eq!((world.phase().as_str(), world.status()), ("Failed", before));
    }
}

// contract: 9.4
#[test]
fn the_status_of_a_finished_job_says_what_each_role_did() {
    let roles = crate::support::MX;
    let mut world = World::running(roles, roles.job(1, 1, 2));
    for replica in [
        roles.worker(0),
        roles.worker(1),
        roles.server(0),
        roles.chief(0),
    ] {
        world.exit(replica, 0);
    }
    let workers = world.counts("Worker");
    assert_eq!(
        (workers.succeeded, workers.completed_indexes.as_deref()),
        (2, Some("0-1"))
    );
    assert_eq!(
        world.message(ConditionType::Succeeded),
        "MXJob demo is successfully completed."
    );
    assert_eq!(
        world.status().chief.as_deref(),
        Some("Scheduler/0 Succeeded")
    );
}

// contract: 6.8
#[test]
fn who_only_serves_ends_no_job_and_who_is_not_there_keeps_none_from_ending() {
    for roles in SETS {
        let mut world = World::running(roles, roles.job(1, 2, 1));
        world.exit(roles.server(0), 0);
        world.exit(roles.server(1), 0);
        assert_eq!(world.phase(), "Running");

        let mut world = World::running(roles, roles.job(1, 0, 0));
        world.exit(roles.chief(0), 0);
        assert_eq!(world.phase(), "Succeeded");
    }
}

// contract: 2.2
#[test]
fn a_roles_name_in_another_letter_case_is_the_role() {
    let mut manifest = MX.job(1, 0, 1);
    let roles = manifest["spec"]["mxReplicaSpecs"].as_object_mut().unwrap();
    let worker = roles.remove("Worker").unwrap();
    roles.insert("wOrker".to_owned(), worker);
    let mut world = World::running(MX, manifest);
    assert_eq!(world.pods(), ["scheduler-0", "worker-0"]);
    world.exit(MX.worker(0), 0);
    world.exit(MX.chief(0), 0);
    assert_eq!(world.phase(), "Succeeded");
}
