//! The API server's side: objects come and go by its rules.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::{ConfigMap, Pod, Service};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use serde_json::{Value, json};
use std::time::Duration;

use super::kubelet::ModelPod;
use super::{ApiError, Cluster, Work};
use crate::api::v1::JobStatus;
use crate::job::Job;
use crate::plan::Target;

/// Seconds between SIGTERM and SIGKILL when a pod does not say; as the API server's default.
const GRACE: i64 = 30;

impl Cluster {
    /// Stores a job. It is not validated: who calls has done that.
    pub fn create_job(&mut self, mut object: Value, now: Timestamp) -> Result<(), ApiError> {
        let kind = self.table.crd.plural;
        let meta = object.get_mut("metadata").and_then(Value::as_object_mut);
        let meta = meta.ok_or(ApiError::NoName { kind })?;
        let name = meta
            .get("name")
            .and_then(Value::as_str)
            .filter(|name| !name.is_empty());
        let name = name.ok_or(ApiError::NoName { kind })?.to_owned();
        if self.job.is_some() {
            return Err(ApiError::AlreadyExists { kind, name });
        }
        let revision = self.revision + 1;
        meta.insert("uid".to_owned(), json!(format!("uid-{revision}")));
        meta.insert("resourceVersion".to_owned(), json!(revision.to_string()));
        meta.insert("generation".to_owned(), json!(1));
        meta.insert("creationTimestamp".to_owned(), json!(now.to_string()));
        meta.entry("namespace").or_insert_with(|| json!("default"));
        self.revision = revision;
        self.store(object);
        Ok(())
    }

    /// Edits the job, as the API server does: a change of the spec is a new generation.
    pub fn edit_job(&mut self, edit: impl FnOnce(&mut Value)) {
        let mut object = self.object.take();
        let before = object.get("spec").cloned();
        edit(&mut object);
        let changed = object.get("spec") != before.as_ref();
        let revision = self.next_revision();
        if let Some(meta) = object.get_mut("metadata").and_then(Value::as_object_mut) {
            let generation = meta.get("generation").and_then(Value::as_i64).unwrap_or(0);
            meta.insert(
                "generation".to_owned(),
                json!(generation + i64::from(changed)),
            );
            meta.insert("resourceVersion".to_owned(), json!(revision.to_string()));
        }
        self.store(object);
    }

    /// Asks for the job's deletion: its services go, its pods are stopped, then it is gone.
    pub fn delete_job(&mut self, now: Timestamp) {
        if let Some(meta) = self
            .object
            .get_mut("metadata")
            .and_then(Value::as_object_mut)
        {
            meta.insert("deletionTimestamp".to_owned(), json!(now.to_string()));
            let object = self.object.take();
            self.store(object);
            self.services.clear();
            self.config_maps.clear();
            let pods: Vec<_> = self.pods.values().map(ModelPod::target).collect();
            for pod in pods {
                // A pod that is not there any more is what was asked for.
                let _gone = self.delete_pod(&pod, now);
            }
            self.collect();
        }
    }

    pub(super) fn write_status(&mut self, status: &JobStatus) {
        let revision = self.next_revision();
        self.status_writes += 1;
        let mut object = self.object.take();
        if let Some(object) = object.as_object_mut() {
            object.insert(
                "status".to_owned(),
                serde_json::to_value(status).unwrap_or_default(),
            );
            if let Some(meta) = object.get_mut("metadata").and_then(Value::as_object_mut) {
                meta.insert("resourceVersion".to_owned(), json!(revision.to_string()));
            }
        }
        self.store(object);
    }

    pub(super) fn create_pod(&mut self, mut pod: Pod, now: Timestamp) -> Result<(), ApiError> {
        let name = self.admit("pods", &mut pod.metadata, now, |cluster, name| {
            cluster.pods.contains_key(name)
        })?;
        if let Some(model) = ModelPod::new(pod, self.table, self.job.as_ref()) {
            self.work.push_back(model.start(0));
            self.pods.insert(name, model);
        }
        Ok(())
    }

    pub(super) fn create_service(
        &mut self,
        mut service: Service,
        now: Timestamp,
    ) -> Result<(), ApiError> {
        let taken = |cluster: &Self, name: &str| cluster.services.contains_key(name);
        let name = self.admit("services", &mut service.metadata, now, taken)?;
        self.services.insert(name, service);
        Ok(())
    }

    pub(super) fn create_config_map(
        &mut self,
        mut config_map: ConfigMap,
        now: Timestamp,
    ) -> Result<(), ApiError> {
        let taken = |cluster: &Self, name: &str| cluster.config_maps.contains_key(name);
        let name = self.admit("configmaps", &mut config_map.metadata, now, taken)?;
        self.config_maps.insert(name, config_map);
        Ok(())
    }

    /// Fills in what the API server fills in; the object's name when that is free.
    fn admit(
        &mut self,
        kind: &'static str,
        meta: &mut ObjectMeta,
        now: Timestamp,
        taken: impl Fn(&Self, &str) -> bool,
    ) -> Result<String, ApiError> {
        let name = meta.name.clone().ok_or(ApiError::NoName { kind })?;
        if taken(self, &name) {
            return Err(ApiError::AlreadyExists { kind, name });
        }
        let revision = self.next_revision();
        meta.uid = Some(format!("uid-{revision}"));
        meta.resource_version = Some(revision.to_string());
        meta.creation_timestamp = Some(Time(now));
        Ok(name)
    }

    /// Adds labels to a pod.
    pub(super) fn label_pod(
        &mut self,
        target: &Target,
        labels: Option<BTreeMap<String, String>>,
    ) -> Result<(), ApiError> {
        let Target { name, uid } = target;
        let pod = self.pods.get_mut(name).ok_or_else(|| ApiError::NotFound {
            kind: "pods",
            name: name.clone(),
        })?;
        if pod.uid() != uid {
            return Err(ApiError::Conflict {
                kind: "pods",
                name: name.clone(),
            });
        }
        let known = pod.pod.metadata.labels.get_or_insert_default();
        known.extend(labels.unwrap_or_default());
        Ok(())
    }

    /// Deletes a pod: at once when nothing of it runs, else when it has been stopped.
    pub(super) fn delete_pod(&mut self, target: &Target, now: Timestamp) -> Result<(), ApiError> {
        let Target { name, uid } = target;
        let pod = self.pods.get_mut(name).ok_or_else(|| ApiError::NotFound {
            kind: "pods",
            name: name.clone(),
        })?;
        if pod.uid() != uid {
            return Err(ApiError::Conflict {
                kind: "pods",
                name: name.clone(),
            });
        }
        let queued = self.work.len();
        self.work
            .retain(|work| !(matches!(work, Work::Start { .. }) && work.uid() == uid));
        if queued > self.work.len() || !pod.handed_over || pod.is_idle() {
            self.pods.remove(name);
            self.collect();
        } else if pod.pod.metadata.deletion_timestamp.is_none() {
            let grace = pod
                .pod
                .spec
                .as_ref()
                .and_then(|spec| spec.termination_grace_period_seconds);
            let grace = grace.unwrap_or(GRACE).max(0);
            let end = now
                .checked_add(SignedDuration::from_secs(grace))
                .unwrap_or(now);
            pod.pod.metadata.deletion_timestamp = Some(Time(end));
            pod.restart_at = None;
            let grace = Duration::from_secs(u64::try_from(grace).unwrap_or(0));
            self.work.push_back(Work::Stop {
                uid: uid.clone(),
                grace,
            });
        }
        Ok(())
    }

    pub(super) fn delete_service(&mut self, target: &Target) -> Result<(), ApiError> {
        let found = self.services.get(&target.name).map(|one| &one.metadata);
        is_still(found, "services", target)?;
        self.services.remove(&target.name);
        Ok(())
    }

    pub(super) fn delete_config_map(&mut self, target: &Target) -> Result<(), ApiError> {
        let found = self.config_maps.get(&target.name).map(|one| &one.metadata);
        is_still(found, "configmaps", target)?;
        self.config_maps.remove(&target.name);
        Ok(())
    }

    /// A job that is being deleted is gone once its pods are.
    pub(super) fn collect(&mut self) {
        if self.pods.is_empty() && self.job.as_ref().is_some_and(|job| job.meta.deleting) {
            self.job = None;
            self.object = Value::Null;
        }
    }

    fn store(&mut self, object: Value) {
        self.job = Some(Job::read(self.table, &object));
        self.object = object;
    }
}

/// Fails when the object is gone, or another one has its name.
fn is_still(
    found: Option<&ObjectMeta>,
    kind: &'static str,
    target: &Target,
) -> Result<(), ApiError> {
    let name = || target.name.clone();
    let meta = found.ok_or_else(|| ApiError::NotFound { kind, name: name() })?;
    if meta.uid.as_ref() == Some(&target.uid) {
        return Ok(());
    }
    Err(ApiError::Conflict { kind, name: name() })
}
