//! What users, the node and the planner do to the job's objects.

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{ConfigMap, Pod, Service};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::{Value, json};
use std::sync::Arc;

use super::Cluster;
use super::api::{ApiError, Deletion, Part, Preconditions};
use super::stored::{Stored, StoredJob};
use crate::job::{Attempt, Job};
use crate::plan::{Action, Target};
use crate::wiring::Wiring;

impl Cluster {
    /// Stores a job. It is not validated: who calls has done that.
    pub fn create_job(&mut self, mut object: Value, now: Timestamp) -> Result<(), ApiError> {
        if let Some(meta) = object.get_mut("metadata").and_then(Value::as_object_mut) {
            meta.entry("namespace").or_insert_with(|| json!("default"));
        }
        let job = StoredJob::new(self.table, &object);
        if let Some(name) = self.job().map(|job| job.meta.name.clone()) {
            let kind = StoredJob::KIND;
            return Err(ApiError::AlreadyExists { kind, name });
        }
        self.server.create(job, now).map(drop)
    }

    /// Edits the job's spec and annotations, as the API server does: a change of the spec is a new
    /// generation.
    pub fn edit_job(&mut self, edit: impl FnOnce(&mut Value)) {
        let Some(name) = self.job().map(|job| job.meta.name.clone()) else {
            return;
        };
        // It has just been found, and nothing is asked of it.
        let _found =
            self.server
                .update::<StoredJob>(&name, &Preconditions::default(), Part::Main, |job| {
                    let mut object = json!({"metadata": job.metadata, "spec": *job.spec});
                    edit(&mut object);
                    let mut part = |key| object.get_mut(key).map(Value::take).unwrap_or_default();
                    let metadata = serde_json::from_value::<ObjectMeta>(part("metadata"));
                    job.metadata.annotations = metadata.unwrap_or_default().annotations;
                    job.spec = Arc::new(part("spec"));
                });
    }

    /// Asks for the job's deletion: its services go, its pods are stopped, then it is gone.
    pub fn delete_job(&mut self, now: Timestamp) {
        if let Some(name) = self.job().map(|job| job.meta.name.clone()) {
            self.server.delete_after_dependants::<StoredJob>(&name, now);
            self.collect_garbage(now);
        }
    }

    /// The garbage collector has its turn, and the node hears of it.
    pub fn collect_garbage(&mut self, now: Timestamp) {
        self.server.collect_garbage(now);
        for name in self.node.keys().cloned().collect::<Vec<_>>() {
            self.look_after(&name, now);
        }
        self.server.collect_garbage(now);
    }

    /// Puts the labels of a pod on the one of that name and uid.
    fn label_pod(&mut self, target: &Target, like: Pod) -> Result<Arc<Pod>, ApiError> {
        let only = Deletion::of(&target.uid).only;
        self.server
            .update::<Pod>(&target.name, &only, Part::Main, |pod| {
                let labels = like.metadata.labels.unwrap_or_default();
                pod.metadata.labels.get_or_insert_default().extend(labels);
            })
    }

    /// Deletes a pod: at once when nothing of it runs, else when it has been stopped.
    pub fn delete_pod(
        &mut self,
        name: &str,
        how: &Deletion,
        now: Timestamp,
    ) -> Result<(), ApiError> {
        self.server.delete::<Pod>(name, how, now)?;
        self.look_after(name, now);
        Ok(())
    }

    /// Creates a pod; the node hears of it.
    pub fn create_pod(&mut self, pod: Pod, now: Timestamp) -> Result<Arc<Pod>, ApiError> {
        let pod = self.server.create(pod, now)?;
        self.look_after(pod.metadata.name.as_deref().unwrap_or_default(), now);
        Ok(pod)
    }

    /// Carries out what the planner wants.
    pub(super) fn act(
        &mut self,
        job: &Job,
        wiring: Option<&Wiring<'_>>,
        action: &Action,
        now: Timestamp,
    ) -> Result<Made, ApiError> {
        let made = match action {
            // What an older operator left in the model has its owner.
            Action::AdoptPod(..) | Action::AdoptService(..) | Action::LabelPodOfJob(..) => None,
            Action::LabelPod(replica, target) => wiring
                .and_then(|wiring| wiring.pod(*replica, Attempt::default()))
                .map(|pod| self.label_pod(target, pod).map(Made::Pod))
                .transpose()?,
            // Its replicas are pods, whatever the API.
            Action::StopPod(target) | Action::DeletePod(target) => {
                self.delete_pod(&target.name, &Deletion::of(&target.uid), now)?;
                None
            }
            Action::DeleteService(target) => {
                let how = Deletion::of(&target.uid);
                self.server.delete::<Service>(&target.name, &how, now)?;
                None
            }
            Action::DeleteConfigMap(target) => {
                let how = Deletion::of(&target.uid);
                self.server.delete::<ConfigMap>(&target.name, &how, now)?;
                None
            }
            Action::DeleteJob => {
                if self
                    .job()
                    .is_some_and(|there| there.meta.uid == job.meta.uid)
                {
                    self.delete_job(now);
                }
                None
            }
            Action::CreatePod(replica, attempt) => wiring
                .and_then(|wiring| wiring.pod(*replica, *attempt))
                .map(|pod| self.create_pod(pod, now).map(Made::Pod))
                .transpose()?,
            Action::CreateService(replica) => wiring
                .and_then(|wiring| wiring.service(*replica))
                .map(|service| self.server.create(service, now).map(Made::Service))
                .transpose()?,
            Action::CreateJobService => wiring
                .map(|wiring| {
                    self.server
                        .create(wiring.job_service(), now)
                        .map(Made::Service)
                })
                .transpose()?,
            Action::CreateConfigMap => wiring
                .and_then(Wiring::config_map)
                .map(|one| self.server.create(one, now).map(Made::ConfigMap))
                .transpose()?,
        };
        Ok(made.unwrap_or(Made::Nothing))
    }
}

/// What an action has made.
#[derive(Clone, Debug)]
pub(super) enum Made {
    /// It was a deletion.
    Nothing,
    /// A pod.
    Pod(Arc<Pod>),
    /// A service.
    Service(Arc<Service>),
    /// A ConfigMap.
    ConfigMap(Arc<ConfigMap>),
}
