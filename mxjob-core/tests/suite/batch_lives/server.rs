//! What the cluster has of one job whose replicas are Jobs of `batch/v1`, with the Job controller, the
//! garbage collector and a node.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::batch::v1::Job as BatchJob;
use k8s_openapi::api::core::v1::{Pod, Service};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use mxjob_core::Job;
use mxjob_core::k8s_openapi;
use mxjob_core::wiring::labels;
use serde_json::{Value, json};

/// Failures after which a Job makes no other pod.
const LIMIT: i32 = 6;

/// By name.
pub(super) type All<T> = BTreeMap<String, T>;

#[derive(Clone)]
pub(super) struct Server {
    pub(super) now: Timestamp,
    pub(super) job: Job,
    /// Of the job's status.
    pub(super) version: u64,
    pub(super) batch: All<BatchJob>,
    pub(super) pods: All<Pod>,
    pub(super) services: All<Service>,
    /// Pods that have failed, by the uid of their Job, and when the last did.
    failed: BTreeMap<String, (BTreeSet<String>, Timestamp)>,
    made: u32,
}

pub(super) fn name(meta: &ObjectMeta) -> String {
    meta.name.clone().unwrap_or_default()
}

pub(super) fn uid(meta: &ObjectMeta) -> &str {
    meta.uid.as_deref().unwrap_or_default()
}

fn owner(meta: &ObjectMeta) -> &str {
    labels::controller(meta).map_or("", |owner| &owner.uid)
}

pub(super) fn phase(pod: &Pod) -> &str {
    let status = pod.status.as_ref();
    status
        .and_then(|status| status.phase.as_deref())
        .unwrap_or_default()
}

pub(super) fn is_over(pod: &Pod) -> bool {
    matches!(phase(pod), "Succeeded" | "Failed")
}

pub(super) fn is_deleting(meta: &ObjectMeta) -> bool {
    meta.deletion_timestamp.is_some()
}

impl Server {
    pub(super) fn new(job: Job) -> Self {
        Self {
            now: Timestamp::from_second(1_800_000_000).unwrap(),
            job,
            version: 1,
            batch: All::new(),
            pods: All::new(),
            services: All::new(),
            failed: BTreeMap::new(),
            made: 0,
        }
    }

    /// What every new object gets.
    pub(super) fn stamp(&mut self, meta: &mut ObjectMeta) {
        self.made += 1;
        meta.uid = Some(format!("uid-{}", self.made));
        meta.creation_timestamp = Some(Time(self.now));
    }

    /// Deletes a Job when its pods are gone.
    pub(super) fn delete_job(&mut self, name: &str) {
        let now = Time(self.now);
        if let Some(job) = self.batch.get_mut(name) {
            job.metadata.deletion_timestamp.get_or_insert(now);
        }
    }

    /// Deletes a Job at once; the garbage collector takes its pods.
    pub(super) fn drop_job(&mut self, name: &str) {
        if let Some(job) = self.batch.remove(name) {
            let own = uid(&job.metadata).to_owned();
            self.delete_pods(&own, |_| true);
        }
    }

    fn delete_pods(&mut self, job: &str, which: impl Fn(&Pod) -> bool) {
        let now = Time(self.now);
        let own = self.pods.values_mut();
        for pod in own.filter(|pod| owner(&pod.metadata) == job && which(pod)) {
            pod.metadata.deletion_timestamp.get_or_insert(now.clone());
        }
    }

    /// The Job controller has its turn.
    pub(super) fn control(&mut self) {
        for at in self.batch.keys().cloned().collect::<Vec<_>>() {
            self.control_one(&at);
        }
    }

    fn control_one(&mut self, at: &str) {
        let mut job = self.batch[at].clone();
        let id = uid(&job.metadata).to_owned();
        if is_deleting(&job.metadata) {
            self.delete_pods(&id, |_| true);
            if !self.pods.values().any(|pod| owner(&pod.metadata) == id) {
                self.batch.remove(at);
            }
            return;
        }
        let has = |job: &BatchJob, kind: &str| {
            let status = job.status.iter();
            let mut all = status.flat_map(|status| status.conditions.iter().flatten());
            all.any(|one| one.type_ == kind)
        };
        let over = has(&job, "Complete") || has(&job, "Failed");
        let suspended = job
            .spec
            .as_ref()
            .is_some_and(|spec| spec.suspend == Some(true));
        let own: Vec<_> = self
            .pods
            .values()
            .filter(|pod| owner(&pod.metadata) == id)
            .cloned()
            .collect();
        let (failed, last) = {
            let known = self
                .failed
                .entry(id.clone())
                .or_insert_with(|| (BTreeSet::new(), self.now));
            let new: Vec<_> = own
                .iter()
                .filter(|pod| phase(pod) == "Failed")
                .map(|pod| uid(&pod.metadata).to_owned())
                .collect();
            let before = known.0.len();
            known.0.extend(new);
            if known.0.len() > before {
                known.1 = self.now;
            }
            (i32::try_from(known.0.len()).unwrap(), known.1)
        };
        let done = own.iter().any(|pod| phase(pod) == "Succeeded");
        let end = if done { "Complete" } else { "Failed" };
        let ends = !over && (done || failed > LIMIT);
        if ends || (suspended && !over) {
            self.delete_pods(&id, |pod| !is_over(pod));
        }
        let active = own.iter().filter(|pod| !is_over(pod));
        let wait = SignedDuration::from_secs(if failed > 0 { 10 << failed.min(5) } else { 0 });
        let due = self.now.duration_since(last) >= wait;
        let mut running = active
            .clone()
            .filter(|pod| !is_deleting(&pod.metadata))
            .count();
        if !over && !ends && !suspended && active.count() == 0 && due {
            self.make_pod(&job);
            running = 1;
        }
        let ready = own
            .iter()
            .filter(|pod| phase(pod) == "Running" && !is_deleting(&pod.metadata))
            .count();
        let mut status = json!({
            "active": if ends || over || suspended { 0 } else { running }, "failed": failed, "ready": ready,
            "conditions": job.status.as_ref().and_then(|status| status.conditions.clone()).unwrap_or_default(),
        });
        if ends {
            let condition =
                json!({"type": end, "status": "True", "reason": "BackoffLimitExceeded"});
            status["conditions"].as_array_mut().unwrap().push(condition);
        }
        if done {
            let known = job.status.as_ref();
            let known = known.and_then(|status| status.completion_time.clone());
            status["completionTime"] = json!(known.unwrap_or(Time(self.now)));
        }
        job.status = serde_json::from_value(status).unwrap();
        self.batch.insert(at.to_owned(), job);
    }

    fn make_pod(&mut self, job: &BatchJob) {
        let own = name(&job.metadata);
        let template = &job.spec.as_ref().unwrap().template;
        let mut meta = template.metadata.clone().unwrap_or_default();
        self.stamp(&mut meta);
        meta.name = Some(format!("{own}-x{:04}", self.made));
        let all = meta.labels.get_or_insert_default();
        all.insert(labels::BATCH.to_owned(), own.clone());
        let owner = json!([{
            "apiVersion": "batch/v1", "kind": "Job", "name": own, "uid": job.metadata.uid,
            "controller": true, "blockOwnerDeletion": true,
        }]);
        meta.owner_references = serde_json::from_value(owner).unwrap();
        let pod = Pod {
            metadata: meta,
            spec: template.spec.clone(),
            status: serde_json::from_value(json!({"phase": "Pending"})).unwrap(),
        };
        self.pods.insert(name(&pod.metadata), pod);
    }

    fn set(&mut self, pod: &str, phase: &str, state: &Value, restarts: i32, last: Option<Value>) {
        let status = json!({
            "phase": phase,
            "conditions": [{"type": "Ready", "status": if phase == "Running" { "True" } else { "False" }}],
            "containerStatuses": [{
                "name": "mxnet", "image": "i", "imageID": "", "ready": phase == "Running",
                "restartCount": restarts, "state": state, "lastState": last.unwrap_or_else(|| json!({})),
            }],
        });
        let pod = self.pods.get_mut(pod).unwrap();
        pod.status = serde_json::from_value(status).unwrap();
    }

    /// The node starts what is to run.
    pub(super) fn start(&mut self) {
        let waits = |pod: &&Pod| phase(pod) == "Pending" && !is_deleting(&pod.metadata);
        let all = self.pods.values().filter(waits);
        for pod in all.map(|pod| name(&pod.metadata)).collect::<Vec<_>>() {
            let state = json!({"running": {"startedAt": Time(self.now)}});
            self.set(&pod, "Running", &state, 0, None);
        }
    }

    /// It stops what is deleted; that is gone then. What ran counts as failed for its Job.
    pub(super) fn stop(&mut self) {
        let going = self.pods.values().filter(|pod| is_deleting(&pod.metadata));
        for pod in going.cloned().collect::<Vec<_>>() {
            if !is_over(&pod)
                && let Some((failed, at)) = self.failed.get_mut(owner(&pod.metadata))
            {
                failed.insert(uid(&pod.metadata).to_owned());
                *at = self.now;
            }
            self.pods.remove(&name(&pod.metadata));
        }
    }

    /// Pods that run.
    pub(super) fn running(&self) -> Vec<String> {
        let runs = |pod: &&Pod| phase(pod) == "Running" && !is_deleting(&pod.metadata);
        let all = self.pods.values().filter(runs);
        all.map(|pod| name(&pod.metadata)).collect()
    }

    /// The container of a pod ends; where the kubelet does that it begins again.
    pub(super) fn exit(&mut self, pod: &str, code: i32) {
        let ended = json!({"terminated": {
            "exitCode": code, "finishedAt": Time(self.now),
            "reason": if code == 0 { "Completed" } else { "Error" },
        }});
        let found = &self.pods[pod];
        let policy = found
            .spec
            .as_ref()
            .and_then(|spec| spec.restart_policy.as_deref());
        let in_place = policy == Some("OnFailure") && code != 0;
        let statuses = found
            .status
            .as_ref()
            .and_then(|status| status.container_statuses.as_ref());
        let restarts = statuses.map_or(0, |all| all[0].restart_count);
        if in_place {
            let running = json!({"running": {"startedAt": Time(self.now)}});
            self.set(pod, "Running", &running, restarts + 1, Some(ended));
        } else {
            let phase = if code == 0 { "Succeeded" } else { "Failed" };
            self.set(pod, phase, &ended, restarts, None);
        }
    }
}
