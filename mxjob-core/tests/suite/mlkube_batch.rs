//! Jobs of the oldest group, whose replicas are Jobs of `batch/v1`.

use k8s_openapi::api::batch::v1::Job as BatchJob;
use k8s_openapi::api::core::v1::{Pod, Service};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use mxjob_core::Job;
use mxjob_core::api::v1::ConditionType;
use mxjob_core::job::Attempt;
use mxjob_core::k8s_openapi;
use mxjob_core::plan::{
    Action, BatchView, Debounce, Observed, Plan, PodPhase, PodView, ServiceView, Wave, plan,
};
use mxjob_core::wiring::{Addresses, Wiring};
use serde_json::{Value, json};

use crate::lists::sample;
use crate::mlkube::{MLKUBE, dist};

const NOW: jiff::Timestamp = jiff::Timestamp::constant(1_000, 0);

fn batch_jobs(job: &Job) -> Vec<BatchJob> {
    let spec = job.spec.as_ref().unwrap();
    let wiring = Wiring::new(job, spec, Addresses::Cluster);
    let all = spec.replicas();
    all.map(|replica| wiring.batch_job(replica, Attempt::default()).unwrap())
        .collect()
}

/// A job, the Jobs that are its replicas, and their pods.
pub(crate) struct Life {
    pub(crate) job: Job,
    pub(crate) batch: Vec<BatchJob>,
    pub(crate) pods: Vec<Pod>,
    services: Vec<Service>,
}

impl Life {
    /// All run.
    pub(crate) fn running() -> Self {
        let job = MLKUBE.read(&dist()).0;
        let mut batch = batch_jobs(&job);
        let mut pods = Vec::new();
        for (at, one) in batch.iter_mut().enumerate() {
            one.metadata.uid = Some(format!("b-{at}"));
            one.status = serde_json::from_value(json!({"active": 1, "ready": 1})).unwrap();
            pods.push(pod(one, 0, &json!({"running": {}})));
        }
        let spec = job.spec.as_ref().unwrap();
        let services = Wiring::new(&job, spec, Addresses::Cluster).services();
        let mut life = Self {
            job,
            batch,
            pods,
            services,
        };
        life.plan();
        let plan = life.plan();
        assert!(plan.actions.is_empty(), "{:?}", plan.actions);
        assert_eq!(life.phase(), "Running");
        life
    }

    fn phase(&self) -> &str {
        self.job.status.phase.as_deref().unwrap_or_default()
    }

    pub(crate) fn plan(&mut self) -> Plan {
        let plan = self.observe(|observed| plan(observed, NOW));
        if let Some(status) = &plan.status {
            self.job.status = status.clone();
        }
        plan
    }

    /// What the operator looks for by name.
    fn missing(&self) -> Vec<String> {
        self.observe(|observed| Debounce::default().missing(observed).names)
    }

    fn observe<R>(&self, look: impl FnOnce(&Observed<'_>) -> R) -> R {
        let table = self.job.table;
        let pods: Vec<_> = self
            .pods
            .iter()
            .map(|pod| PodView::of(pod, table))
            .collect();
        let batch = self.batch.iter().map(|one| BatchView::of(one, table));
        let services = self.services.iter();
        let services: Vec<_> = services
            .map(|service| ServiceView::of(service, table))
            .collect();
        look(&Observed {
            job: &self.job,
            pods: &BatchView::join(batch, &pods),
            services: &services,
            config_maps: &[],
        })
    }
}

/// The pod of a Job, created at that second, whose container is in that state.
pub(crate) fn pod(job: &BatchJob, second: i64, state: &Value) -> Pod {
    let phase = match state["terminated"]["exitCode"].as_i64() {
        None if state["running"].is_object() => "Running",
        None => "Pending",
        Some(0) => "Succeeded",
        Some(_) => "Failed",
    };
    let name = job.metadata.name.as_deref().unwrap();
    let object = json!({
        "metadata": {
            "name": format!("{name}-{second}"), "uid": format!("{name}-{second}"),
            "creationTimestamp": jiff::Timestamp::from_second(second).unwrap(),
            "labels": job.metadata.labels,
            "ownerReferences": [{
                "apiVersion": "batch/v1", "kind": "Job", "controller": true,
                "name": name, "uid": job.metadata.uid,
            }],
        },
        "status": {"phase": phase, "containerStatuses": [{
            "name": "mxnet", "image": "i", "imageID": "", "ready": true, "restartCount": 0, "state": state,
        }]},
    });
    serde_json::from_value(object).unwrap()
}

pub(crate) fn ended(code: i32, reason: &str) -> Value {
    json!({"terminated": {"exitCode": code, "reason": reason}})
}

// contract: 12.29
// promise: P70
#[test]
fn each_replica_is_a_job_of_one_pod_that_makes_the_next_when_that_has_ended() {
    let job = MLKUBE.read(&sample("mlkube-v1beta1-dist.yaml")).0;
    let batch = batch_jobs(&job);
    insta::assert_yaml_snapshot!("batch_dist", batch[0]);
    let spec = job.spec.as_ref().unwrap();
    let pods: Vec<_> = Wiring::new(&job, spec, Addresses::Cluster).pods().collect();
    assert_eq!(batch.len(), pods.len());
    for (one, pod) in batch.iter().zip(pods) {
        assert_eq!(one.metadata, pod.metadata);
        let spec = one.spec.as_ref().unwrap();
        let template = spec.template.metadata.as_ref().unwrap();
        assert_eq!(template.labels, pod.metadata.labels);
        assert_eq!(spec.template.spec, pod.spec);
        assert_eq!((spec.completions, spec.parallelism), (Some(1), Some(1)));
    }
}

// contract: 12.29
#[test]
fn a_replica_is_as_its_newest_pod_and_its_job_say() {
    let table = MLKUBE.table();
    let job = MLKUBE.read(&dist()).0;
    let mut batch = batch_jobs(&job).remove(1);
    batch.metadata.uid = Some("b-1".to_owned());
    let view = |status: Value, pods: &[Pod]| {
        let mut batch = batch.clone();
        batch.status = serde_json::from_value(status).unwrap();
        let pods: Vec<_> = pods.iter().map(|pod| PodView::of(pod, table)).collect();
        let mut all = BatchView::join([BatchView::of(&batch, table)].into_iter(), &pods);
        let view = all.remove(0);
        assert_eq!((view.uid.as_str(), view.labelled), ("b-1", true));
        view
    };
    let facts = |view: &PodView| {
        let code = view.exit.as_ref().map(|exit| exit.code);
        let last = view.last_exit.as_ref().map(|exit| exit.code);
        (
            view.phase,
            view.started,
            code,
            last,
            view.container_restarts,
        )
    };
    let (runs, failed) = (json!({"running": {}}), ended(137, "Error"));
    let pending = PodPhase::Pending;
    let new = view(json!({}), &[]);
    assert_eq!(facts(&new), (pending, false, None, None, 0));
    // Its pods may be hidden: somebody took labels off.
    let hidden = view(json!({"active": 1, "ready": 1, "failed": 2}), &[]);
    assert_eq!(facts(&hidden), (PodPhase::Running, true, None, None, 2));
    let running = view(json!({"active": 1}), &[pod(&batch, 1, &runs)]);
    assert_eq!(facts(&running), (PodPhase::Running, true, None, None, 0));
    // It failed; the Job makes another.
    let fails = [pod(&batch, 1, &failed)];
    let again = view(json!({"active": 1}), &fails);
    assert_eq!(facts(&again), (pending, true, Some(137), None, 0));
    let both = [pod(&batch, 9, &runs), pod(&batch, 1, &failed)];
    let anew = view(json!({"active": 1, "failed": 1}), &both);
    assert_eq!(facts(&anew), (PodPhase::Running, true, None, Some(137), 1));
    // How a pod ended that somebody took away is nothing about it.
    let mut gone = both.clone();
    gone[1].metadata.deletion_timestamp = gone[1].metadata.creation_timestamp.clone();
    assert_eq!(view(json!({"active": 1}), &gone).last_exit, None);
    let mut going = fails.clone();
    going[0].metadata.deletion_timestamp = going[0].metadata.creation_timestamp.clone();
    let going = view(json!({"active": 1}), &going);
    assert_eq!(facts(&going), (pending, true, None, None, 0));
    // The Job has the last word.
    let condition =
        |kind: &str| json!({"conditions": [{"type": kind, "status": "True", "reason": "why"}]});
    let done = view(condition("Complete"), &[pod(&batch, 1, &ended(0, ""))]);
    assert_eq!(facts(&done), (PodPhase::Succeeded, true, Some(0), None, 0));
    let over = view(condition("Failed"), &fails);
    assert_eq!(facts(&over), (PodPhase::Failed, true, Some(137), None, 0));
    assert_eq!(over.reason.as_deref(), Some("why"));
    // A pod of another Job is no pod of it.
    let mut other = batch.clone();
    other.metadata.uid = Some("b-2".to_owned());
    let alone = view(json!({"active": 1}), &[pod(&other, 1, &runs)]);
    assert_eq!(facts(&alone), (pending, false, None, None, 0));
}

// contract: 12.26, 12.29
#[test]
fn the_job_tries_again_unless_the_code_says_that_it_is_over() {
    for code in 1..=255 {
        let mut life = Life::running();
        life.pods[4] = pod(&life.batch[4], 1, &ended(code, "Error"));
        let plan = life.plan();
        if code < 128 {
            assert_eq!(life.phase(), "Failed", "{code}");
            let gone = plan.actions.iter();
            let gone = gone.filter(|action| matches!(action, Action::StopPod(_)));
            // No Job is deleted: the pod that failed stays, for its log. Nor is a service.
            assert_eq!((gone.count(), plan.actions.len()), (5, 5), "{plan:?}");
            life.batch.iter_mut().for_each(|one| {
                one.spec.as_mut().unwrap().suspend = Some(true);
            });
            assert!(life.plan().actions.is_empty());
        } else {
            assert_eq!(life.phase(), "Running", "{code}");
            assert!(plan.actions.is_empty(), "{code}: {:?}", plan.actions);
        }
    }
    let mut life = Life::running();
    life.pods[4] = pod(&life.batch[4], 1, &ended(137, "OOMKilled"));
    life.plan();
    assert_eq!(life.phase(), "Failed");
}

// contract: 12.27, 12.29
#[test]
fn a_pod_that_the_job_made_anew_is_told_as_recovering() {
    let mut life = Life::running();
    life.pods
        .push(pod(&life.batch[4], 9, &json!({"running": {}})));
    life.pods[4] = pod(&life.batch[4], 1, &ended(137, "Error"));
    life.batch[4].status = serde_json::from_value(json!({"active": 1, "failed": 1})).unwrap();
    let plan = life.plan();
    assert!(plan.actions.is_empty(), "{:?}", plan.actions);
    let told = life.job.status.milestones.iter();
    let told: Vec<_> = told.map(|one| one.kind.as_str()).collect();
    assert_eq!(told, ["Ready", "Recovering", "Ready"]);
}

// contract: 12.29
#[test]
fn a_job_that_somebody_deleted_is_made_anew_and_told_so() {
    let mut life = Life::running();
    life.batch.remove(4);
    for _ in 0..4 {
        let plan = life.plan();
        assert!(plan.actions.is_empty(), "its pod is there: {plan:?}");
    }
    // It may be there, without its labels.
    assert_eq!(life.missing(), ["example-worker-e9c9-2"]);
    life.pods.remove(4);
    let created = |plan: &Plan| {
        let creates = plan.actions.iter();
        let mut creates = creates.filter(|action| matches!(action, Action::CreatePod(..)));
        creates.next().cloned()
    };
    let mut found = None;
    for _ in 0..4 {
        found = found.or(created(&life.plan()));
    }
    let event = Wave::default().add(&life.job, &found.unwrap(), Ok(()));
    let event = event.unwrap();
    assert_eq!(event.reason, "SuccessfulCreateJob");
    assert!(event.message.starts_with("Created job: example-worker-"));
}

// contract: 12.40
// promise: P70
#[test]
fn what_the_first_operator_left_without_an_owner_is_adopted() {
    let old = |meta: &mut ObjectMeta| {
        meta.owner_references = None;
        let labels = meta.labels.as_mut().unwrap();
        let own = ["mxnet.mlkube.io", "job_type", "runtime_id", "task_index"];
        labels.retain(|label, _| own.contains(&label.as_str()));
    };
    let left = || {
        let mut life = Life::running();
        life.batch.iter_mut().for_each(|one| old(&mut one.metadata));
        life.services.truncate(1);
        life.services
            .iter_mut()
            .for_each(|one| old(&mut one.metadata));
        life
    };
    let mut life = left();
    let plan = life.plan();
    let (mut pods, mut services, mut others) = (0, 0, Vec::new());
    for action in &plan.actions {
        match action {
            Action::AdoptPod(..) => pods += 1,
            Action::AdoptService(..) => services += 1,
            Action::CreateService(_) => {}
            other => others.push(other),
        }
    }
    assert_eq!((pods, services), (5, 1));
    assert!(others.is_empty(), "{others:?}");
    assert_eq!(life.phase(), "Running");
    // Not what only looks like it.
    for (label, value) in [
        ("mxnet.mlkube.io", None),
        ("runtime_id", Some("zzzz")),
        ("task_index", Some("7")),
        ("job_type", None),
        ("mx_job_name", Some("another")),
    ] {
        let mut life = left();
        let labels = life.batch[4].metadata.labels.as_mut().unwrap();
        match value {
            Some(value) => labels.insert(label.to_owned(), value.to_owned()),
            None => labels.remove(label),
        };
        let adopted = life.plan().actions;
        let adopted = adopted.iter();
        let adopted = adopted.filter(|action| matches!(action, Action::AdoptPod(..)));
        assert_eq!(adopted.count(), 4, "{label}");
        assert!(
            life.job.status.condition(ConditionType::Stalled).is_some(),
            "{label}"
        );
    }
    // Nor what was there before the job: an earlier one of that name and id ended so.
    let mut life = left();
    life.job.meta.created_at = jiff::Timestamp::from_second(60).ok();
    for (at, second) in [(4, 59), (3, 61)] {
        let time = jiff::Timestamp::from_second(second).unwrap();
        life.batch[at].metadata.creation_timestamp = Some(Time(time));
    }
    life.pods.clear();
    let adopted = life.plan().actions;
    let adopted = adopted.iter();
    let adopted = adopted.filter(|action| matches!(action, Action::AdoptPod(..)));
    assert_eq!(adopted.count(), 4);
    // It goes with a job that has ended.
    let mut life = left();
    life.pods[0] = pod(&life.batch[0], 0, &ended(0, ""));
    life.batch[0].status =
        serde_json::from_value(json!({"conditions": [{"type": "Complete", "status": "True"}]}))
            .unwrap();
    let plan = life.plan();
    assert_eq!(life.phase(), "Succeeded");
    let adopted = plan.actions.iter();
    let adopted = adopted.filter(|action| matches!(action, Action::AdoptPod(..)));
    assert_eq!(adopted.count(), 5);
}

// contract: 12.29
#[test]
fn a_pod_that_its_job_has_let_go_stands_in_the_way_of_another() {
    let mut life = Life::running();
    life.batch.remove(4);
    life.pods[4].metadata.owner_references = None;
    let labels = life.pods[4].metadata.labels.as_mut().unwrap();
    let name = "example-worker-e9c9-2".to_owned();
    labels.insert("batch.kubernetes.io/job-name".to_owned(), name);
    for _ in 0..4 {
        let plan = life.plan();
        let creates = |action: &Action| matches!(action, Action::CreatePod(..));
        assert!(!plan.actions.iter().any(creates), "{plan:?}");
    }
}

// contract: 12.29
#[test]
fn a_job_that_makes_no_pod_keeps_the_job_waiting_and_says_why() {
    for (suspend, reason) in [(None, "NoPod"), (Some(true), "Suspended")] {
        let mut life = Life::running();
        let created = jiff::Timestamp::from_second(900).unwrap();
        life.batch[4].metadata.creation_timestamp = Some(Time(created));
        life.batch[4].status = None;
        life.batch[4].spec.as_mut().unwrap().suspend = suspend;
        life.pods.remove(4);
        life.plan();
        let stalled = life.job.status.condition(ConditionType::Stalled);
        assert_eq!(stalled.unwrap().reason.as_deref(), Some(reason));
    }
}
