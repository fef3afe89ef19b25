//! The status of jobs of the oldest group: phases, a ring of ten conditions, and a pause.

use crate::mlkube::{MLKUBE, dist, world};
use crate::mlkube_batch::{Life, ended, pod};
use crate::support::{MX, World};
use mxjob_core::api::v1::{JobStatus, Milestone};
use mxjob_core::plan::{Action, Observed, Plan, plan};
use serde_json::{Value, json};

fn milestones(world: &World) -> Vec<(String, String)> {
    let all = world.status().milestones;
    let words = |one: Milestone| {
        assert_eq!(
            one.transition_time
                .parse::<jiff::Timestamp>()
                .unwrap()
                .subsec_nanosecond(),
            0
        );
        (one.kind, one.reason)
    };
    all.into_iter().map(words).collect()
}

fn one(kind: &str, reason: &str) -> (String, String) {
    (kind.to_owned(), reason.to_owned())
}

/// The status as it is stored.
fn shown(status: &JobStatus) -> Value {
    let (_, form) = MLKUBE.read(&dist());
    form.status(status)
}

// contract: 12.27
// promise: P49
// promise: P51
#[test]
fn conditions_tell_of_readiness_and_of_members_that_are_replaced() {
    let mut world = world(&dist());
    assert_eq!(milestones(&world), [one("Ready", "")]);
    let name = world.name(MX.worker(1));
    world.exit(MX.worker(1), 137);
    world.start_all();
    let why = "mxjob demo is restarting because 1 Worker replica(s) failed.";
    assert_eq!(
        milestones(&world),
        [
            one("Ready", ""),
            one("Recovering", why),
            one(
                "RemovingDeadMember",
                &format!("removing dead member {name}")
            ),
            one("Ready", ""),
        ]
    );
    assert!(world.is_quiet());
    let stored = shown(&world.status());
    assert_eq!(stored["conditions"][1]["type"], "Recovering");
    assert_eq!(stored["conditions"][1]["reason"], why);
    assert!(stored["conditions"][1]["transitionTime"].is_string());
    assert_eq!(
        stored["replicaStatuses"][0],
        json!({"Mx_replica_type": "SCHEDULER", "state": "Running", "ReplicasStates": {"Running": 1}})
    );
}

// contract: 12.27
// promise: P50
#[test]
fn readiness_is_told_again_only_after_something_else() {
    let mut world = world(&dist());
    world.exit(MX.worker(0), 0);
    world.exit(MX.worker(1), 0);
    assert_eq!(milestones(&world), [one("Ready", "")]);
}

// contract: 12.27
// promise: P49
#[test]
fn another_size_is_told_up_and_down() {
    let mut world = world(&dist());
    for (workers, kind, had, wanted) in [(5, "ScalingUp", 5, 7), (2, "ScalingDown", 7, 4)] {
        world.scale("Worker", workers);
        world.start_all();
        let all = milestones(&world);
        let reason = format!("Current cluster size: {had}, desired cluster size: {wanted}");
        let last = all.len() - 2;
        assert_eq!(all[last..], [one(kind, &reason), one("Ready", "")]);
    }
}

// contract: 12.27
// promise: P49
// promise: P51
#[test]
fn a_member_that_is_made_anew_with_another_image_is_told_as_an_upgrade() {
    for (had, upgrades) in [("some/image:0", 1), ("some/image", 0)] {
        let mut life = Life::running();
        let batch = &mut life.batch[4];
        let name = batch.metadata.name.clone().unwrap();
        let template = &mut batch.spec.as_mut().unwrap().template;
        template.spec.as_mut().unwrap().containers[0].image = Some(had.to_owned());
        let failed = json!({"failed": 7, "conditions": [
            {"type": "Failed", "status": "True", "reason": "BackoffLimitExceeded"}]});
        batch.status = serde_json::from_value(failed).unwrap();
        life.pods[4] = pod(&life.batch[4], 1, &ended(137, "Error"));
        assert!(life.plan().status.is_some());
        // It is told once, however long the Job takes to go.
        assert!(life.plan().status.is_none());
        let told = life.job.status.milestones.iter();
        let told: Vec<_> = told.map(|told| one(&told.kind, &told.reason)).collect();
        let removed = one(
            "RemovingDeadMember",
            &format!("removing dead member {name}"),
        );
        assert!(told.contains(&removed), "{told:?}");
        let why = format!("upgrading cluster member {name} version to some/image");
        let news = told.iter().filter(|told| **told == one("Upgrading", &why));
        assert_eq!(news.count(), upgrades, "{told:?}");
        assert!(upgrades > 0 || told.iter().all(|(kind, _)| kind != "Upgrading"));
    }
}

// contract: 12.27
// promise: P48
#[test]
fn the_ten_newest_are_kept() {
    let mut world = world(&dist());
    for _ in 0..6 {
        let before = world.uid(MX.worker(1));
        world.exit(MX.worker(1), 200);
        world.wait_for_pod(MX.worker(1), before.as_ref());
        world.start_all();
    }
    let all = milestones(&world);
    assert_eq!(all.len(), 10, "{all:?}");
    assert_eq!(all.last(), Some(&one("Ready", "")));
    assert_eq!(all[0].0, "Ready", "{all:?}");
}

// contract: 12.27
#[test]
fn jobs_of_other_apis_have_none() {
    let world = World::running(MX, MX.job(1, 1, 1));
    assert_eq!(world.phase(), "Running");
    assert!(world.status().milestones.is_empty());
}

// contract: 12.28
// promise: P47
#[test]
fn a_paused_job_is_left_as_it_is_until_it_goes_on() {
    let planned = |status: Value| {
        let mut object = dist();
        object["status"] = status;
        let (job, form) = MLKUBE.read(&object);
        let writes = form.spec(&job).is_some();
        let observed = Observed {
            job: &job,
            pods: &[],
            services: &[],
            config_maps: &[],
        };
        let plan = plan(&observed, jiff::Timestamp::UNIX_EPOCH);
        let status = plan.status.as_ref().map(|status| form.status(status));
        (writes, plan.actions.len(), plan.wake_at, status)
    };
    assert_eq!(
        planned(json!({"controlPaused": true})),
        (false, 0, None, None)
    );
    let running = json!({"phase": "Running", "state": "Running", "controlPaused": true});
    assert_eq!(planned(running), (false, 0, None, None));
    let (writes, _, _, status) = planned(json!({"controlPaused": false}));
    assert!(writes);
    // What somebody has set stays in what is written.
    assert_eq!(status.unwrap()["controlPaused"], false);
}

/// What has no owner would stay when the job is deleted.
// contract: 12.28, 12.40
#[test]
fn a_paused_job_gets_what_an_older_operator_left_of_it_and_nothing_else() {
    let mut life = crate::mlkube_batch::Life::running();
    life.job.status.paused = Some(true);
    assert_eq!(life.plan(), Plan::default());
    for one in &mut life.batch {
        one.metadata.owner_references = None;
    }
    let plan = life.plan();
    let adopts = |action: &Action| matches!(action, Action::AdoptPod(..));
    assert_eq!(plan.actions.iter().filter(|one| adopts(one)).count(), 5);
    let actions = plan.actions.clone();
    assert_eq!(
        plan,
        Plan {
            actions,
            ..Plan::default()
        }
    );
    assert_eq!(plan.actions.len(), 5);
}

// contract: 12.28
#[test]
fn a_pause_that_wipes_the_status_is_a_pause() {
    let mut begun = dist();
    begun["status"] = json!({"phase": "Running", "state": "Running"});
    let mut wiped = dist();
    wiped["status"] = json!({"controlPaused": true});
    let job = MLKUBE.read(&wiped).0.after(&MLKUBE.read(&begun).0);
    assert!(job.status.is_paused());
    begun["status"]["controlPaused"] = json!(true);
    wiped["status"] = json!({"controlPaused": false});
    let job = MLKUBE.read(&wiped).0.after(&MLKUBE.read(&begun).0);
    assert!(!job.status.is_paused());
    assert_eq!(job.status.phase.as_deref(), Some("Running"));
}

// contract: 12.27, 12.33
#[test]
fn one_that_its_first_operator_met_again_and_called_failed_goes_on() {
    let ended = |status: Value| {
        let mut object = dist();
        object["status"] = status;
        MLKUBE.read(&object).0.status.is_finished()
    };
    let reason = "unexpected MxJob phase: Creating";
    assert!(!ended(json!({"phase": "Failed", "reason": reason})));
    assert!(!ended(
        json!({"phase": "Failed", "state": "", "reason": reason})
    ));
    assert!(ended(
        json!({"phase": "Failed", "state": "Succeeded", "reason": reason})
    ));
    assert!(ended(
        json!({"phase": "Failed", "reason": "invalid job spec"})
    ));
}
