//! One look at pods that a model cluster does not make: disrupted, waiting, of other owners.

use crate::support::{Look, MX, set};
use jiff::{SignedDuration, Timestamp};
use mxjob_core::api::v1::ConditionType;
use mxjob_core::job::Attempt;
use mxjob_core::plan::{Action, Observed, Plan, PodPhase, plan};
use mxjob_core::{Job, MxRole, ReplicaRole};
use serde_json::{Value, json};

fn retried() -> Value {
    let mut manifest = MX.job(1, 1, 2);
    set(
        &mut manifest,
        "spec.mxReplicaSpecs.Worker.restartPolicy",
        json!("ExitCode"),
    );
    manifest
}

fn deletes(plan: &Plan, name: &str) -> bool {
    plan.actions
        .iter()
        .any(|action| matches!(action, Action::DeletePod(target) if target.name == name))
}

// contract: 7.2.1
#[test]
fn a_disrupted_pod_is_replaced_without_counting() {
    let mut look = Look::at(retried());
    look.fail("demo-worker-0", Some(1));
    look.pod("demo-worker-0").disrupted = true;
    let plan = look.plan();
    assert!(deletes(&plan, "demo-worker-0"));
    let status = plan.status.unwrap();
    assert_eq!(status.replica_statuses["Worker"].restarts, 0);
    assert_eq!(status.replica_statuses["Worker"].attempts["0"], 1);
}

// contract: 7.2.1
#[test]
fn a_disrupted_pod_that_may_never_be_restarted_fails_the_job() {
    let mut look = Look::at(MX.job(1, 1, 2));
    look.fail("demo-worker-0", None);
    look.pod("demo-worker-0").disrupted = true;
    assert!(look.plan().status.unwrap().is(ConditionType::Failed));
}

// contract: 7.1.3
#[test]
fn a_pod_that_failed_without_any_exit_code_counts_as_137() {
    let mut look = Look::at(retried());
    look.fail("demo-worker-0", None);
    let plan = look.plan();
    assert!(deletes(&plan, "demo-worker-0"));
    assert_eq!(plan.status.unwrap().replica_statuses["Worker"].restarts, 1);
}

// contract: 7.1.2
#[test]
fn a_pod_that_failed_as_a_whole_is_replaced_when_it_may_be_restarted() {
    for policy in ["OnFailure", "Always"] {
        let mut manifest = retried();
        let path = "spec.mxReplicaSpecs.Worker.restartPolicy";
        set(&mut manifest, path, json!(policy));
        let mut look = Look::at(manifest);
        look.fail("demo-worker-0", Some(1));
        let plan = look.plan();
        assert!(deletes(&plan, "demo-worker-0"), "{policy}");
        let status = plan.status.unwrap();
        assert_eq!(status.replica_statuses["Worker"].restarts, 1);
    }
}

// contract: 7.3.3
#[test]
fn a_replica_that_ran_ten_minutes_does_not_wait() {
    for (ran, waits) in [(599, true), (600, false)] {
        let mut look = Look::at(retried());
        look.job
            .status
            .replica_statuses
            .get_mut("Worker")
            .unwrap()
            .attempts
            .insert("0".into(), 3);
        look.pod("demo-worker-0").attempt = Attempt { job: 0, replica: 3 };
        look.fail("demo-worker-0", Some(137));
        look.pod("demo-worker-0").started_at = look.seconds_ago(ran);
        let plan = look.plan();
        assert_eq!(deletes(&plan, "demo-worker-0"), !waits, "ran {ran} s");
        assert_eq!(plan.wake_at.is_some(), waits, "ran {ran} s");
    }
}

// contract: 9.5
#[test]
fn a_pod_that_waits_for_its_image_stalls_the_job_after_thirty_seconds() {
    let mut look = Look::at(MX.job(1, 0, 1));
    let pod = look.pod("demo-worker-0");
    (pod.phase, pod.started, pod.waiting) =
        (PodPhase::Pending, false, Some("ImagePullBackOff".into()));
    look.pod("demo-worker-0").created_at = look.seconds_ago(29);
    let plan = look.plan();
    assert!(
        plan.wake_at.is_some()
            && !plan
                .status
                .is_some_and(|status| status.is(ConditionType::Stalled))
    );
    look.pod("demo-worker-0").created_at = look.seconds_ago(30);
    let status = look.plan().status.unwrap();
    assert_eq!(
        (status.phase.as_deref(), status.reason.as_deref()),
        (Some("Running"), Some("ImagePullBackOff"))
    );
    look.job.status = status;
    look.pod("demo-worker-0").waiting = None;
    assert!(
        look.plan()
            .status
            .unwrap()
            .condition(ConditionType::Stalled)
            .is_none()
    );
}

// contract: 5.3.4
#[test]
fn a_pod_of_somebody_else_is_neither_adopted_nor_touched() {
    let mut look = Look::at(MX.job(1, 0, 1));
    look.job.status.replica_statuses.clear();
    let pod = look.pod("demo-worker-0");
    (pod.owner, pod.owner_name) = (None, None);
    let plan = look.plan();
    assert!(!deletes(&plan, "demo-worker-0"));
    assert!(
        !plan
            .actions
            .iter()
            .any(|action| matches!(action, Action::CreatePod(..)))
    );
    assert_eq!(plan.status.unwrap().reason.as_deref(), Some("NameTaken"));
}

// contract: 8.1
#[test]
fn a_failed_job_keeps_no_running_pod_under_any_policy() {
    for policy in ["All", "Running", "None"] {
        let mut manifest = MX.job(1, 1, 2);
        set(
            &mut manifest,
            "spec.runPolicy.cleanPodPolicy",
            json!(policy),
        );
        let mut look = Look::at(manifest);
        look.fail("demo-worker-0", Some(1));
        let plan = look.plan();
        let running = ["demo-scheduler-0", "demo-server-0", "demo-worker-1"];
        assert!(running.iter().all(|name| deletes(&plan, name)), "{policy}");
        assert_eq!(deletes(&plan, "demo-worker-0"), policy == "All");
    }
}

// contract: 7.3.2
#[test]
fn restarts_in_place_alone_can_reach_the_limit() {
    for (limit, restarts, fails) in [(0, 1, true), (2, 1, false), (2, 2, true)] {
        let mut manifest = MX.job(1, 0, 1);
        set(
            &mut manifest,
            "spec.mxReplicaSpecs.Worker.restartPolicy",
            json!("OnFailure"),
        );
        set(&mut manifest, "spec.runPolicy.backoffLimit", json!(limit));
        let mut look = Look::at(manifest);
        look.pod("demo-worker-0").container_restarts = restarts;
        let failed = look
            .plan()
            .status
            .is_some_and(|status| status.is(ConditionType::Failed));
        assert_eq!(failed, fails, "limit {limit}, {restarts} restarts");
    }
}

// contract: 8.7
#[test]
fn a_job_that_is_being_deleted_gets_nothing() {
    let mut look = Look::at(MX.job(1, 0, 1));
    look.job.meta.deleting = true;
    look.pods.clear();
    assert_eq!(look.plan(), Plan::default());
}

// contract: 8.4
#[test]
fn a_suspended_job_loses_its_pods_and_starts_anew_on_resume() {
    let mut manifest = MX.job(1, 0, 1);
    set(
        &mut manifest,
        "spec.runPolicy.cleanPodPolicy",
        json!("None"),
    );
    let mut look = Look::at(manifest);
    look.job.spec.as_mut().unwrap().suspend = true;
    let plan = look.plan();
    assert!(deletes(&plan, "demo-scheduler-0") && deletes(&plan, "demo-worker-0"));
    look.job.status = plan.status.unwrap();
    assert_eq!(look.job.status.phase.as_deref(), Some("Suspended"));
    look.job.spec.as_mut().unwrap().suspend = false;
    look.pod("demo-scheduler-0").deleting = true;
    assert!(
        !look
            .plan()
            .actions
            .iter()
            .any(|action| matches!(action, Action::CreatePod(..))),
        "old pods go first"
    );
    (look.pods, look.services) = (Vec::new(), Vec::new());
    look.now = look
        .now
        .checked_add(SignedDuration::from_secs(100))
        .unwrap();
    let plan = look.plan();
    let status = plan.status.unwrap();
    assert_eq!(status.start_time.map(|time| time.0), Some(look.now));
    assert_eq!(plan.actions.len(), 4);
    assert_eq!(plan.events[0].reason, "MXJobResumed");
}

// contract: 5.3.4
#[test]
fn a_service_of_somebody_else_under_our_name_stalls_the_job() {
    let mut look = Look::at(MX.job(1, 0, 1));
    look.job.status.replica_statuses.clear();
    look.pods.clear();
    let service = &mut look.services[0];
    (service.owner, service.owner_name) = (None, None);
    let plan = look.plan();
    assert!(plan.actions.is_empty(), "{:?}", plan.actions);
    assert_eq!(plan.status.unwrap().reason.as_deref(), Some("NameTaken"));
}

// contract: 8.8
#[test]
fn leftovers_of_a_namesake_are_waited_for_before_they_are_called_strangers() {
    let mut look = Look::at(MX.job(1, 0, 1));
    look.job.status.replica_statuses.clear();
    look.pod("demo-worker-0").owner = Some("uid-of-another".into());
    let stalled = |plan: Plan| {
        plan.status
            .is_some_and(|status| status.is(ConditionType::Stalled))
    };
    let plan = look.plan();
    assert!(plan.wake_at.is_some() && !stalled(plan));
    look.now = look.now.checked_add(SignedDuration::from_secs(30)).unwrap();
    assert!(stalled(look.plan()));
}

// contract: 7.2.2
#[test]
fn a_pod_first_seen_running_while_it_is_deleted_has_started() {
    let mut look = Look::at(MX.job(1, 0, 1));
    look.job.status.replica_statuses.clear();
    look.pod("demo-worker-0").deleting = true;
    look.job.status = look.plan().status.unwrap();
    look.pods.retain(|pod| pod.name != "demo-worker-0");
    assert!(look.plan().status.unwrap().is(ConditionType::Failed));
}

#[test]
fn a_pod_that_never_ran_is_not_replaced_in_a_hurry() {
    let mut look = Look::at(retried());
    let worker = look.job.status.replica_statuses.get_mut("Worker").unwrap();
    worker.attempts.insert("0".into(), 1);
    look.pod("demo-worker-0").attempt = Attempt { job: 0, replica: 1 };
    look.fail("demo-worker-0", None);
    let plan = look.plan();
    assert!(!deletes(&plan, "demo-worker-0") && plan.wake_at.is_some());
}

// contract: 7.3.2
#[test]
fn failures_seen_together_pass_the_limit_as_failures_seen_apart_do() {
    let mut manifest = retried();
    set(&mut manifest, "spec.runPolicy.backoffLimit", json!(1));
    let mut look = Look::at(manifest);
    look.fail("demo-worker-0", Some(137));
    assert!(!look.plan().status.unwrap().is(ConditionType::Failed));
    look.fail("demo-worker-1", Some(137));
    assert!(look.plan().status.unwrap().is(ConditionType::Failed));
}

#[test]
fn counts_that_somebody_wrote_by_hand_do_no_harm() {
    let mut manifest = retried();
    set(
        &mut manifest,
        "spec.runPolicy.backoffLimit",
        json!(i32::MAX),
    );
    let mut look = Look::at(manifest);
    let worker = look.job.status.replica_statuses.get_mut("Worker").unwrap();
    (worker.restarts, worker.in_place_restarts) = (i32::MAX, 1);
    look.fail("demo-worker-0", Some(137));
    assert!(deletes(&look.plan(), "demo-worker-0"));
}

// contract: 2.8
#[test]
fn an_invalid_job_of_another_manager_is_left_alone() {
    let mut manifest = MX.job(1, 0, 1);
    set(
        &mut manifest,
        "spec.runPolicy.managedBy",
        json!("example.org/other"),
    );
    set(&mut manifest, "spec.mxReplicaSpecs.Wroker", json!(7));
    let job = Job::read(MxRole::TABLE, &manifest);
    assert!(job.spec.is_err());
    let observed = Observed {
        job: &job,
        pods: &[],
        services: &[],
        config_maps: &[],
    };
    assert_eq!(plan(&observed, Timestamp::UNIX_EPOCH), Plan::default());
}
