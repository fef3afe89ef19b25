//! How often a status is written, and that nothing is forgotten while one waits.

use crate::support::{Look, SETS, Set, World, set};
use jiff::SignedDuration;
use mxjob_core::api::v1::JobStatus;
use mxjob_core::job::Replica;
use mxjob_core::plan::{Action, Debounce, Observed, PodView, ServiceView};
use serde_json::json;

/// All replicas of a job of one server and so many workers, the chief at the given place.
fn order(roles: Set, workers: u32, chief_at: usize) -> Vec<Replica> {
    let mut all: Vec<_> = (0..workers).map(|index| roles.worker(index)).collect();
    all.insert(0, roles.server(0));
    all.insert(chief_at, roles.chief(0));
    all
}

// contract: 9.7
#[test]
fn a_smooth_life_takes_four_status_writes_at_most() {
    for roles in SETS {
        for (workers, chief_at) in [(1, 0), (1, 2), (30, 0), (30, 1), (30, 17), (30, 31)] {
            let mut world = World::debounced(roles, roles.job(1, 1, workers));
            world.pass(3);
            for replica in order(roles, workers, chief_at) {
                world.start(replica);
                world.pass_millis(100);
            }
            world.pass(60);
            let wanted = format!("{0}/{0}", workers + 2);
            assert_eq!(world.status().ready, Some(wanted));
            for replica in order(roles, workers, 1) {
                world.exit(replica, 0);
                world.pass_millis(100);
            }
            assert_eq!(world.phase(), "Succeeded");
            let writes = world.cluster.status_writes();
            assert!(writes <= 4, "{writes} writes, {workers} workers");
            world.pass(60);
            assert_eq!(world.cluster.status_writes(), writes);
            assert_eq!(world.said("ExitedWithCode").len(), workers as usize + 2);
        }
    }
}

#[test]
fn counts_are_written_a_second_after_the_last_change_and_five_after_the_first() {
    for roles in SETS {
        let mut world = World::debounced(roles, roles.job(1, 1, 20));
        world.start(roles.chief(0));
        let ready = |world: &World| world.status().ready.unwrap();
        world.start(roles.worker(0));
        assert_eq!(
            (world.phase().as_str(), ready(&world)),
            ("Running", "1/22".into())
        );
        world.pass_millis(999);
        assert_eq!(ready(&world), "1/22");
        world.pass_millis(1);
        assert_eq!(ready(&world), "2/22");
        for worker in 1..11 {
            world.start(roles.worker(worker));
            world.pass_millis(499);
        }
        assert_eq!(ready(&world), "2/22");
        world.pass_millis(10);
        assert_eq!(ready(&world), "12/22");
    }
}

#[test]
fn what_decides_is_written_at_once_with_all_that_waits() {
    for roles in SETS {
        let mut manifest = roles.job(1, 0, 3);
        let policy = format!("spec.mxReplicaSpecs.{}.restartPolicy", roles.worker);
        set(&mut manifest, &policy, json!("ExitCode"));
        let mut world = World::debounced(roles, manifest);
        world.start(roles.chief(0));
        world.start(roles.worker(0));
        world.start(roles.worker(1));
        assert_eq!(world.counts(roles.worker).started_indexes, None);
        world.exit(roles.worker(1), 137);
        let counts = world.counts(roles.worker);
        assert_eq!(counts.restarts, 1);
        assert_eq!(counts.started_indexes.as_deref(), Some("0"));
    }
}

#[test]
fn a_pod_that_vanishes_while_its_start_waits_to_be_written_has_started() {
    for roles in SETS {
        let mut world = World::debounced(roles, roles.job(1, 0, 2));
        world.start(roles.chief(0));
        world.start(roles.worker(0));
        world.vanish(roles.worker(0));
        assert_eq!(world.phase(), "Failed");
    }
}

#[test]
fn a_pod_that_goes_while_its_success_waits_to_be_written_is_not_run_again() {
    for roles in SETS {
        let mut world = World::debounced(roles, roles.job(1, 0, 2));
        world.start_all();
        world.pass(2);
        world.exit(roles.worker(0), 0);
        world.vanish(roles.worker(0));
        assert!(world.uid(roles.worker(0)).is_none());
        world.pass(2);
        let counts = world.counts(roles.worker);
        assert_eq!(counts.completed_indexes.as_deref(), Some("0"));
    }
}

#[test]
fn an_operator_that_restarts_reads_what_waited_from_the_pods() {
    for roles in SETS {
        let mut world = World::debounced(roles, roles.job(1, 0, 2));
        world.start_all();
        world.exit(roles.worker(0), 0);
        assert!(world.said("ExitedWithCode").is_empty(), "it waits as well");
        world.cluster.restart_operator();
        world.pass(0);
        world.pass(1);
        let counts = world.counts(roles.worker);
        assert_eq!((counts.succeeded, counts.active), (1, 1));
        assert_eq!(world.said("ExitedWithCode").len(), 1);
    }
}

// contract: 9.6
#[test]
fn counts_that_change_back_are_not_written() {
    for roles in SETS {
        let mut world = World::debounced(roles, roles.job(1, 0, 2));
        world.start_all();
        world.pass(2);
        let job = world.cluster.job().unwrap();
        let pods = world.cluster.pods();
        let mut pods: Vec<_> = pods.map(|pod| PodView::of(pod, roles.table)).collect();
        let services: Vec<_> = world
            .cluster
            .services()
            .map(|one| ServiceView::of(one, world.set.table))
            .collect();
        let mut debounce = Debounce::default();
        for (ready, after) in [(false, 0), (true, 500), (true, 2_000), (true, 10_000)] {
            pods[0].ready = ready;
            let now = world.now + SignedDuration::from_millis(after);
            let observed = Observed {
                job,
                pods: &pods,
                services: &services,
                config_maps: &[],
            };
            assert_eq!(debounce.plan(&observed, now).status, None, "{after} ms");
        }
        assert!(debounce.is_empty());
    }
}

fn trusting() -> Debounce {
    let mut debounce = Debounce::default();
    debounce.trust(true);
    debounce
}

/// A job of so many seconds of which nothing is there yet.
fn newcomer(roles: Set, workers: u32, seconds: i64) -> Look {
    let mut look = Look::of(&World::of(roles, roles.job(1, 1, workers)));
    look.job.status = JobStatus::default();
    look.job.meta.created_at = look.seconds_ago(seconds);
    look.pods.clear();
    look.services.clear();
    look
}

// contract: 9.10
#[test]
fn the_first_status_of_a_small_new_job_comes_after_its_objects() {
    for roles in SETS {
        let mut look = newcomer(roles, 2, 1);
        let mut debounce = trusting();
        let first = debounce.plan(&look.observed(), look.now);
        assert_eq!((&first.status, first.events.len()), (&None, 0));
        assert_eq!(first.actions.len(), 8, "services and pods");
        // They are refused for some seconds: the job says by then that it was seen.
        assert_eq!(first.wake_at, look.seconds_ago(-4));
        let late = debounce.plan(&look.observed(), first.wake_at.unwrap());
        assert!(late.status.is_some() && late.actions.len() == 8);
        // They are there.
        let made = Look::of(&World::of(roles, roles.job(1, 1, 2)));
        (look.pods, look.services) = (made.pods, made.services);
        look.job.meta.uid.clone_from(&made.job.meta.uid);
        let second = debounce.plan(&look.observed(), look.now);
        assert_eq!(second.actions, []);
        assert_eq!(second.status.unwrap().phase.as_deref(), Some("Created"));
    }
}

// contract: 9.10
#[test]
fn the_first_status_comes_first_where_it_may_be_waited_for_or_is_not_the_first() {
    for roles in SETS {
        let has_status = |look: &Look| {
            let plan = trusting().plan(&look.observed(), look.now);
            (
                plan.status.is_some(),
                plan.actions
                    .iter()
                    .any(|one| matches!(one, Action::CreatePod(..))),
            )
        };
        assert_eq!(has_status(&newcomer(roles, 2, 1)), (false, true));
        let look = newcomer(roles, 2, 1);
        let untried = Debounce::default().plan(&look.observed(), look.now);
        assert!(untried.status.is_some(), "it may not be kept");
        assert_eq!(
            has_status(&newcomer(roles, 31, 1)),
            (true, true),
            "66 objects"
        );
        assert_eq!(has_status(&newcomer(roles, 2, 5)), (true, true), "not new");
        assert_eq!(
            has_status(&newcomer(roles, 2, -1)),
            (true, true),
            "clocks differ"
        );
        let mut known = newcomer(roles, 2, 1);
        known.job.status.observed_generation = Some(1);
        assert_eq!(has_status(&known), (true, true), "not the first");
        let mut wiped = newcomer(roles, 2, 1);
        wiped.job.wiped = true;
        assert_eq!(has_status(&wiped), (true, true), "somebody has wiped it");
    }
}
