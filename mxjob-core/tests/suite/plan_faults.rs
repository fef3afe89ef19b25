//! Objects that somebody else has changed: labels taken off, a status wiped or written by hand.

use crate::support::{Look, MX, World};
use mxjob_core::api::v1::{ConditionType, JobStatus};
use mxjob_core::plan::{Action, Debounce, PodView, plan};
use mxjob_core::wiring::labels;
use mxjob_core::{Job, MxRole, ReplicaRole};
use serde_json::{Value, json};

#[test]
fn labels_that_somebody_took_off_are_put_back() {
    let mut look = Look::at(MX.job(1, 1, 2));
    assert_eq!(look.plan().actions, []);
    look.pod("demo-worker-1").labelled = false;
    let actions = look.plan().actions;
    let [Action::LabelPod(_, target)] = &actions[..] else {
        panic!("{actions:?}");
    };
    assert_eq!(target.name, "demo-worker-1");
    look.pod("demo-worker-1").deleting = true;
    assert_eq!(look.plan().actions, [], "nothing needs it any more");
}

#[test]
fn a_pod_is_its_owners_whatever_its_labels_say() {
    let world = World::running(MX, MX.job(1, 1, 1));
    let mut pod = world.cluster.pods().next().unwrap().clone();
    assert!(PodView::of(&pod, MxRole::TABLE).labelled);
    assert_eq!(labels::job(&pod.metadata, MxRole::TABLE), Some("demo"));
    for label in [labels::OPERATOR, labels::JOB, labels::ROLE, labels::INDEX] {
        let all = pod.metadata.labels.as_mut().unwrap();
        let right = all.insert(label.to_owned(), "other".to_owned()).unwrap();
        assert!(!PodView::of(&pod, MxRole::TABLE).labelled, "{label}");
        assert_eq!(labels::job(&pod.metadata, MxRole::TABLE), Some("demo"));
        pod.metadata
            .labels
            .as_mut()
            .unwrap()
            .insert(label.to_owned(), right);
    }
    pod.metadata.owner_references.as_mut().unwrap()[0].kind = "Other".to_owned();
    pod.metadata
        .labels
        .as_mut()
        .unwrap()
        .insert(labels::JOB.to_owned(), "other".to_owned());
    assert_eq!(labels::job(&pod.metadata, MxRole::TABLE), Some("other"));
}

#[test]
fn a_pod_that_has_run_is_looked_for_before_it_counts_as_gone() {
    let mut look = Look::at(MX.job(1, 1, 2));
    let debounce = Debounce::default();
    assert_eq!(debounce.missing(&look.observed()).names, [""; 0]);
    look.pods.retain(|pod| pod.name != "demo-worker-1");
    assert_eq!(debounce.missing(&look.observed()).names, ["demo-worker-1"]);
    look.job.status = look.plan().status.unwrap();
    assert!(look.job.status.is_finished());
    assert_eq!(
        debounce.missing(&look.observed()).names,
        [""; 0],
        "a finished job has nothing to lose"
    );
}

#[test]
fn of_a_lost_status_the_pods_tell_the_life() {
    let mut look = Look::at(MX.job(1, 1, 2));
    for pod in &mut look.pods {
        pod.attempt.job = 2;
    }
    look.pod("demo-worker-1").attempt.replica = 3;
    look.job.status = mxjob_core::api::v1::JobStatus::default();
    let plan = look.plan();
    assert_eq!(plan.actions, [], "the pods stay");
    let status = plan.status.unwrap();
    assert_eq!(status.restarts, Some(2));
    assert_eq!(status.replica_statuses["Worker"].attempts["1"], 3);
}

/// The job as stored, with that status.
fn stored(status: &Value) -> Job {
    let mut object = MX.job(1, 1, 2);
    object["metadata"]["uid"] = json!("1");
    object["status"] = status.clone();
    Job::read(MxRole::TABLE, &object)
}

#[test]
fn of_a_status_written_by_hand_all_that_can_be_read_is_kept() {
    let job = stored(&json!({
        "conditions": [
            {"type": "Created", "status": "True", "lastUpdateTime": "yesterday", "reason": 7},
            {"status": "True"},
            "Failed",
            {"type": "Running", "status": "True"},
        ],
        "startTime": "never",
        "restarts": 2,
        "countedRestarts": "many",
        "replicaStatuses": {
            "Worker": {
                "restarts": 1,
                "active": "two",
                "attempts": {"0": 1, "1": "x"},
                "endedAt": {"0": "soon", "1": "2026-01-01T00:00:00Z"},
                "startedIndexes": 5,
                "completedIndexes": "0",
            },
            "Server": [],
        },
    }));
    let kinds: Vec<_> = job.status.conditions.iter().map(|one| &one.kind).collect();
    assert_eq!(kinds, ["Created", "Running"]);
    assert_eq!(
        (job.status.restarts, job.status.counted_restarts),
        (Some(2), None)
    );
    let worker = &job.status.replica_statuses["Worker"];
    assert_eq!((worker.restarts, worker.active), (1, 0));
    assert_eq!(worker.completed_indexes.as_deref(), Some("0"));
    assert_eq!(worker.attempts.keys().collect::<Vec<_>>(), ["0"]);
    assert_eq!(worker.ended_at.keys().collect::<Vec<_>>(), ["1"]);
    assert_eq!(stored(&json!([1])).status, JobStatus::default());
}

#[test]
fn of_a_wiped_status_the_one_from_before_stands_in() {
    let is = |kind: &str| json!({"conditions": [{"type": kind, "status": "True"}]});
    let after = |before: &Value, now: &Value| stored(now).after(&stored(before));
    for before in ["Created", "Succeeded", "Failed"] {
        let job = after(&is(before), &json!({}));
        assert!(job.wiped, "{before}");
        assert_eq!(job.status.conditions[0].kind, before);
    }
    // What the operator itself writes, or somebody who adds to it, is no loss.
    let both = json!({"conditions": [
        {"type": "Created", "status": "True"}, {"type": "Failed", "status": "True"},
    ]});
    for (before, now) in [
        (json!({}), json!({})),
        (is("Created"), both.clone()),
        (is("Running"), json!({})),
    ] {
        assert!(!after(&before, &now).wiped, "{before} {now}");
    }
    assert!(after(&both, &is("Created")).wiped, "the end is for ever");
    // A job of the same name is another one.
    let mut other = stored(&json!({}));
    other.meta.uid = "2".to_owned();
    assert!(!other.after(&stored(&is("Created"))).wiped);
}

#[test]
fn what_waits_to_be_written_about_a_job_says_nothing_of_the_next_of_its_name() {
    let mut look = Look::at(MX.job(1, 1, 2));
    for role in look.job.status.replica_statuses.values_mut() {
        role.started_indexes = None;
    }
    let mut debounce = Debounce::default();
    let plan = debounce.plan(&look.observed(), look.now);
    assert_eq!(plan.status, None, "who has started waits to be written");
    look.pods.clear();
    assert_eq!(debounce.missing(&look.observed()).names.len(), 4);
    // Made in the same second it has the same status.
    look.job.meta.uid = "another".to_owned();
    assert_eq!(debounce.missing(&look.observed()).names, [""; 0]);
    let plan = debounce.plan(&look.observed(), look.now);
    assert_eq!(plan, Debounce::default().plan(&look.observed(), look.now));
}

#[test]
fn a_wiped_status_is_written_again_at_once() {
    let mut look = Look::at(MX.job(1, 1, 2));
    let known = look.job.clone();
    look.job.status = JobStatus::default();
    look.job = look.job.clone().after(&known);
    let plan_now = plan(&look.observed(), look.now);
    assert_eq!(
        (plan_now.status.as_ref(), &plan_now.actions[..]),
        (Some(&known.status), &[][..])
    );
    let held = Debounce::default().plan(&look.observed(), look.now);
    assert_eq!(held.status.as_ref(), Some(&known.status));

    look.job.meta.managed_elsewhere = true;
    assert_eq!(
        look.plan().status,
        None,
        "somebody else's job is left alone"
    );
}

#[test]
fn of_a_wiped_end_the_pods_tell_the_same_end() {
    for (code, end) in [(0, ConditionType::Succeeded), (1, ConditionType::Failed)] {
        let mut world = World::running(MX, MX.job(1, 1, 2));
        for replica in world.running_replicas() {
            let server = MxRole::TABLE.role(replica.role).name == "Server";
            if !server && !world.cluster.job().unwrap().status.is_finished() {
                world.exit(replica, code);
            }
        }
        let mut look = Look::of(&world);
        assert!(look.job.status.is(end));
        look.job.status = JobStatus::default();
        let plan = look.plan();
        let creates = plan
            .actions
            .iter()
            .any(|one| matches!(one, Action::CreatePod(..)));
        assert!(!creates, "{:?}", plan.actions);
        assert!(plan.status.unwrap().is(end));
    }
}
