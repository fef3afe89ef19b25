//! What users read off a job: its columns, its generation, its counts, and when it is done.

use crate::support::{Look, MX, SETS, World, set};
use mxjob_core::api::v1::ConditionType;
use mxjob_core::plan::{Action, PodPhase};
use serde_json::json;

// contract: 1.5
#[test]
fn the_columns_name_the_newest_true_condition() {
    let mut manifest = MX.job(1, 0, 1);
    set(&mut manifest, "spec.failurePolicy", json!({}));
    let mut world = World::of(MX, manifest);
    let shown = |world: &World| {
        let status = world.status();
        let mut true_ones = status.conditions.iter().filter(|one| one.is_true());
        let newest = true_ones.next_back().unwrap();
        assert_eq!(status.phase.as_ref(), Some(&newest.kind));
        assert_eq!(status.reason, newest.reason);
        (status.phase.unwrap(), status.reason.unwrap())
    };
    let pair = |phase: &str, reason: &str| (phase.to_owned(), reason.to_owned());
    assert_eq!(shown(&world), pair("Created", "MXJobCreated"));
    world.start_all();
    assert_eq!(shown(&world), pair("Running", "MXJobRunning"));
    world.exit(MX.worker(0), 1);
    assert_eq!(shown(&world), pair("Restarting", "MXJobRestarting"));
    world.start_all();
    world.edit("spec.runPolicy.suspend", json!(true));
    assert_eq!(shown(&world), pair("Suspended", "MXJobSuspended"));
    // Suspended is False by then, and Running: what is left is Created.
    world.edit("spec.runPolicy.suspend", json!(false));
    assert_eq!(shown(&world), pair("Created", "MXJobCreated"));
    world.start_all();
    world.exit(MX.worker(0), 0);
    world.exit(MX.chief(0), 0);
    assert_eq!(shown(&world), pair("Succeeded", "MXJobSucceeded"));
}

// contract: 1.5
#[test]
fn a_stalled_job_shows_its_phase_and_why_it_is_stalled() {
    let mut look = Look::at(MX.job(1, 0, 1));
    look.pod("demo-worker-0").phase = PodPhase::Pending;
    look.pod("demo-worker-0").started = false;
    look.pod("demo-worker-0").waiting = Some("ErrImagePull".into());
    look.pod("demo-worker-0").created_at = look.seconds_ago(60);
    let status = look.plan().status.unwrap();
    let last = status.conditions.last().unwrap();
    assert_eq!(last.kind, ConditionType::Stalled.name());
    assert_eq!(
        (status.phase.as_deref(), status.reason.as_deref()),
        (Some("Running"), Some("ErrImagePull"))
    );
}

// contract: 9.8
#[test]
fn the_status_says_which_generation_of_the_spec_it_is_about() {
    for roles in SETS {
        let seen = |world: &World| {
            let generation = world.cluster.job().unwrap().meta.generation;
            assert_eq!(world.status().observed_generation, Some(generation));
            generation
        };
        let mut world = roles.world(1, 0, 1);
        assert_eq!(seen(&world), 1);
        world.start_all();
        world.edit("spec.runPolicy.backoffLimit", json!(7));
        assert_eq!(seen(&world), 2);
        world.edit("spec.runPolicy.suspend", json!(true));
        assert_eq!(seen(&world), 3);
    }
    let mut invalid = MX.job(1, 0, 1);
    set(&mut invalid, "spec.mxReplicaSpecs.Wroker", json!({}));
    let world = World::of(MX, invalid);
    assert_eq!(world.phase(), "Failed");
    assert_eq!(world.status().observed_generation, Some(1));
}

// contract: 9.9
#[test]
fn active_is_who_runs_and_is_not_terminating() {
    let mut look = Look::at(MX.job(1, 0, 4));
    let (pending, ended) = ("demo-worker-1", "demo-worker-2");
    look.pod("demo-worker-0").deleting = true;
    look.pod(pending).phase = PodPhase::Pending;
    look.fail(ended, Some(0));
    look.pod(ended).phase = PodPhase::Succeeded;
    let status = look.plan().status.unwrap();
    assert_eq!(status.replica_statuses["Worker"].active, 1);
    assert_eq!(status.replica_statuses["Scheduler"].active, 1);
}

/// Every order of so many things.
fn orders(count: usize) -> Vec<Vec<usize>> {
    let Some(last) = count.checked_sub(1) else {
        return vec![Vec::new()];
    };
    let shorter = orders(last);
    let with_last = |order: &Vec<usize>, at: usize| {
        let mut order = order.clone();
        order.insert(at, last);
        order
    };
    let all = shorter.iter();
    all.flat_map(|order| (0..count).map(move |at| with_last(order, at)))
        .collect()
}

// contract: 6.10
// defect: D15
#[test]
fn the_order_in_which_objects_are_seen_decides_nothing() {
    for failure_policy in [false, true] {
        let mut manifest = MX.job(1, 2, 2);
        if failure_policy {
            set(&mut manifest, "spec.failurePolicy", json!({}));
        }
        for (codes, phase) in [
            ([("demo-server-0", 1), ("demo-worker-1", 2)], "Failed"),
            ([("demo-worker-0", 0), ("demo-worker-1", 0)], "Running"),
            ([("demo-scheduler-0", 0), ("demo-worker-1", 3)], "Failed"),
        ] {
            let mut look = Look::at(manifest.clone());
            for (name, code) in codes {
                look.fail(name, Some(code));
                if code == 0 {
                    look.pod(name).phase = PodPhase::Succeeded;
                }
            }
            let first = look.plan();
            let status = first.status.clone().unwrap();
            let wanted = if failure_policy && phase == "Failed" {
                "Restarting"
            } else {
                phase
            };
            assert_eq!(status.phase.as_deref(), Some(wanted), "{codes:?}");
            let (pods, services) = (look.pods.clone(), look.services.clone());
            for order in orders(pods.len()) {
                look.pods = order.iter().map(|at| pods[*at].clone()).collect();
                look.services = order.iter().map(|at| services[*at].clone()).collect();
                assert_eq!(look.plan(), first, "{order:?}");
            }
        }
    }
}

// contract: 6.11
#[test]
fn a_worker_that_has_not_started_has_not_ended() {
    for roles in SETS {
        let mut world = roles.world(1, 0, 2);
        world.start(roles.chief(0));
        world.start(roles.worker(0));
        world.exit(roles.worker(0), 0);
        world.exit(roles.chief(0), 0);
        world.pass(29);
        assert_eq!(world.phase(), "Running");
        world.pass(1);
        assert_eq!(world.phase(), "Succeeded");
    }
}

// contract: 6.12
#[test]
fn a_chief_pod_that_is_gone_ends_the_wait_for_workers() {
    for roles in SETS {
        let mut world = World::running(roles, roles.job(1, 0, 1));
        world.exit(roles.chief(0), 0);
        world.pass(3);
        assert_eq!(world.phase(), "Running");
        world.vanish(roles.chief(0));
        assert_eq!(world.phase(), "Succeeded");
    }
}

// contract: 7.1.5
#[test]
fn the_pod_that_failed_is_deleted_and_no_other_of_its_name() {
    let mut manifest = MX.job(1, 0, 2);
    let path = "spec.mxReplicaSpecs.Worker.restartPolicy";
    set(&mut manifest, path, json!("ExitCode"));
    let mut look = Look::at(manifest);
    look.fail("demo-worker-1", Some(137));
    let uid = look.pod("demo-worker-1").uid.clone();
    assert!(!uid.is_empty());
    let plan = look.plan();
    let deleted: Vec<_> = plan
        .actions
        .iter()
        .filter_map(|action| match action {
            Action::DeletePod(target) => Some((target.name.as_str(), target.uid.as_str())),
            _ => None,
        })
        .collect();
    assert_eq!(deleted, [("demo-worker-1", uid.as_str())]);
}

// contract: 7.1.3, 7.1.6
#[test]
fn an_exit_code_that_is_not_retried_ends_the_job_with_its_time() {
    for roles in SETS {
        let mut manifest = roles.job(1, 0, 1);
        let path = format!("spec.mxReplicaSpecs.{}.restartPolicy", roles.worker);
        set(&mut manifest, &path, json!("ExitCode"));
        let mut world = World::running(roles, manifest);
        world.pass(5);
        world.exit(roles.worker(0), 127);
        let status = world.status();
        assert_eq!(status.phase.as_deref(), Some("Failed"));
        assert_eq!(status.completion_time.map(|time| time.0), Some(world.now));
    }
}
