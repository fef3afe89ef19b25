//! The kinds of objects that the API server stores, and by what they differ.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::api::core::v1::{ConfigMap, Pod, PodStatus, Service};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::{Value, json};

use super::server::{Server, Shelf};
use crate::api::v1::JobStatus;
use crate::job::Job;
use crate::role::RoleTable;

/// Seconds between SIGTERM and SIGKILL when a pod does not say; as the API server's default.
pub(super) const GRACE: i64 = 30;

/// A kind of object.
pub trait Stored: Clone + PartialEq + 'static {
    /// Its plural, as in messages.
    const KIND: &'static str;
    /// The server counts changes of its spec.
    const HAS_GENERATION: bool;
    /// It cannot be replaced without its resourceVersion.
    const NEEDS_VERSION: bool;
    /// An update of its status takes nothing else from what is sent, not even the uid.
    const STATUS_ALONE: bool = false;
    /// Its metadata.
    fn meta(&self) -> &ObjectMeta;
    /// Its metadata.
    fn meta_mut(&mut self) -> &mut ObjectMeta;
    /// True when what the user asks for is the same, metadata aside.
    fn is_same_spec(&self, other: &Self) -> bool;
    /// Takes the status of `other`.
    fn take_status(&mut self, other: &Self);
    /// A fresh object has the status that the server gives it.
    fn clear_status(&mut self);
    /// Seconds that it has to stop when that many are asked for; `None`: it has nothing to stop.
    fn grace(&self, _asked: Option<i64>) -> Option<i64> {
        None
    }
    /// Its metadata or spec was changed.
    fn changed(&mut self) {}
    /// How an operator takes it that has known `before`; `None`: as it is.
    fn after(&self, _before: &Self) -> Option<Self> {
        None
    }
    /// Where the server keeps its kind.
    fn shelf(server: &Server) -> &Shelf<Self>;
    /// Where the server keeps its kind.
    fn shelf_mut(server: &mut Server) -> &mut Shelf<Self>;
}

impl Stored for Pod {
    const KIND: &'static str = "pods";
    const HAS_GENERATION: bool = true;
    const NEEDS_VERSION: bool = false;

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }

    fn is_same_spec(&self, other: &Self) -> bool {
        self.spec == other.spec
    }

    fn take_status(&mut self, other: &Self) {
        self.status.clone_from(&other.status);
    }

    fn clear_status(&mut self) {
        self.status = Some(PodStatus {
            phase: Some("Pending".to_owned()),
            ..PodStatus::default()
        });
    }

    /// One that is on no node, or has ended, has nothing to stop.
    fn grace(&self, asked: Option<i64>) -> Option<i64> {
        let spec = self.spec.as_ref();
        let own = spec.and_then(|spec| spec.termination_grace_period_seconds);
        let on_node = spec.is_some_and(|spec| spec.node_name.is_some());
        let phase = self.status.as_ref().and_then(|one| one.phase.as_deref());
        let ended = matches!(phase, Some("Succeeded" | "Failed"));
        let seconds = match asked.or(own).unwrap_or(GRACE) {
            negative if negative < 0 => 1,
            seconds => seconds,
        };
        Some(if on_node && !ended { seconds } else { 0 })
    }

    fn shelf(server: &Server) -> &Shelf<Self> {
        &server.pods
    }

    fn shelf_mut(server: &mut Server) -> &mut Shelf<Self> {
        &mut server.pods
    }
}

impl Stored for Service {
    const KIND: &'static str = "services";
    const HAS_GENERATION: bool = false;
    const NEEDS_VERSION: bool = false;

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }

    fn is_same_spec(&self, other: &Self) -> bool {
        self.spec == other.spec
    }

    fn take_status(&mut self, other: &Self) {
        self.status.clone_from(&other.status);
    }

    fn clear_status(&mut self) {
        self.status = None;
    }

    fn shelf(server: &Server) -> &Shelf<Self> {
        &server.services
    }

    fn shelf_mut(server: &mut Server) -> &mut Shelf<Self> {
        &mut server.services
    }
}

impl Stored for ConfigMap {
    const KIND: &'static str = "configmaps";
    const HAS_GENERATION: bool = false;
    const NEEDS_VERSION: bool = false;

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }

    fn is_same_spec(&self, other: &Self) -> bool {
        self.data == other.data && self.binary_data == other.binary_data
    }

    fn take_status(&mut self, _other: &Self) {}

    fn clear_status(&mut self) {}

    fn shelf(server: &Server) -> &Shelf<Self> {
        &server.config_maps
    }

    fn shelf_mut(server: &mut Server) -> &mut Shelf<Self> {
        &mut server.config_maps
    }
}

/// A job as the server stores it, and as the planner reads it. It is read again only when its spec
/// or its annotations change, or what it comes to depends on the status: that is what costs.
#[derive(Clone, Debug)]
pub struct StoredJob {
    /// Metadata.
    pub metadata: ObjectMeta,
    /// The spec, as the user wrote it.
    pub spec: Arc<Value>,
    job: Job,
    read: (Arc<Value>, Option<BTreeMap<String, String>>),
}

impl StoredJob {
    /// A job that is to be stored; it is not validated, as after a change of the schema.
    pub fn new(table: &'static RoleTable, object: &Value) -> Self {
        let metadata = object.get("metadata").cloned().unwrap_or_default();
        let spec = Arc::new(object.get("spec").cloned().unwrap_or_default());
        let metadata: ObjectMeta = serde_json::from_value(metadata).unwrap_or_default();
        Self {
            job: Job::read(table, object),
            read: (spec.clone(), metadata.annotations.clone()),
            metadata,
            spec,
        }
    }

    /// As the planner reads it.
    pub fn job(&self) -> &Job {
        &self.job
    }

    /// The status.
    pub fn status_mut(&mut self) -> &mut JobStatus {
        &mut self.job.status
    }
}

impl PartialEq for StoredJob {
    fn eq(&self, other: &Self) -> bool {
        self.metadata == other.metadata
            && self.is_same_spec(other)
            && self.job.status == other.job.status
    }
}

impl Stored for StoredJob {
    const KIND: &'static str = "jobs";
    const HAS_GENERATION: bool = true;
    const NEEDS_VERSION: bool = true;
    const STATUS_ALONE: bool = true;

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }

    fn is_same_spec(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.spec, &other.spec) || self.spec == other.spec
    }

    fn take_status(&mut self, other: &Self) {
        self.job.status.clone_from(&other.job.status);
    }

    fn clear_status(&mut self) {
        self.job.status = JobStatus::default();
    }

    fn changed(&mut self) {
        let renamed = self.metadata.uid.as_deref() != Some(&self.job.meta.uid);
        let (spec, annotations) = &self.read;
        let edited = !Arc::ptr_eq(&self.spec, spec) || self.metadata.annotations != *annotations;
        let by_status = match &self.job.spec {
            Ok(spec) => spec.kept.is_some() || spec.closed.is_some(),
            Err(_) => self.job.meta.run.is_some(),
        };
        if renamed || edited || by_status {
            let object = json!({
                "metadata": self.metadata, "spec": *self.spec, "status": self.job.status,
            });
            let job = Job::read(self.job.table, &object);
            self.job.meta.managed_elsewhere = job.meta.managed_elsewhere;
            self.job.meta.run = job.meta.run;
            self.job.spec = job.spec;
            self.read = (self.spec.clone(), self.metadata.annotations.clone());
        }
        let (meta, own) = (&mut self.job.meta, &self.metadata);
        meta.name = own.name.clone().unwrap_or_default();
        meta.namespace = own.namespace.clone().unwrap_or_default();
        meta.uid = own.uid.clone().unwrap_or_default();
        meta.generation = own.generation.unwrap_or_default();
        meta.deleting = own.deletion_timestamp.is_some();
    }

    fn after(&self, before: &Self) -> Option<Self> {
        let job = self.job.clone().after(&before.job);
        let stored = self.clone();
        job.wiped.then(|| Self { job, ..stored })
    }

    fn shelf(server: &Server) -> &Shelf<Self> {
        &server.jobs
    }

    fn shelf_mut(server: &mut Server) -> &mut Shelf<Self> {
        &mut server.jobs
    }
}
