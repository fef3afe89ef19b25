//! The wiring: the pods and services of a job, byte for byte.

mod batch;
mod env;
pub mod labels;
pub(crate) mod layout;
pub mod names;
mod pod;
mod service;

use std::collections::BTreeMap;

use k8s_openapi::api::batch::v1::Job as BatchJob;
use k8s_openapi::api::core::v1::{ConfigMap, Pod, Service};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};

use crate::accelerators::Accelerators;
use crate::api::Version;
use crate::api::v1::Services;
use crate::job::{Attempt, Job, Replica, RoleSpec, Spec};
use layout::Layout;
pub(crate) use layout::is_long;

/// How replicas reach each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Addresses {
    /// By the names of their services.
    Cluster,
    /// On this machine: 127.0.0.1 and a port for each replica.
    Loopback(BTreeMap<Replica, u16>),
}

/// Makes the objects of one job. What all replicas share is worked out once.
#[derive(Debug)]
pub struct Wiring<'a> {
    job: &'a Job,
    spec: &'a Spec,
    addresses: Addresses,
    accelerators: Option<&'a Accelerators>,
    layout: Option<Layout>,
}

impl<'a> Wiring<'a> {
    /// The wiring of `job`, whose valid spec `spec` is.
    pub fn new(job: &'a Job, spec: &'a Spec, addresses: Addresses) -> Self {
        let mut wiring = Self {
            job,
            spec,
            addresses,
            accelerators: None,
            layout: None,
        };
        wiring.layout = job.table.config_env.map(|_| Layout::of(&wiring));
        wiring
    }

    /// The same, whose containers get what belongs to the accelerators that they ask for.
    #[must_use]
    pub fn with_accelerators(mut self, accelerators: &'a Accelerators) -> Self {
        self.accelerators = Some(accelerators);
        self
    }

    /// The pod of a replica; `None` when the job has no such role.
    pub fn pod(&self, replica: Replica, attempt: Attempt) -> Option<Pod> {
        self.spec
            .role(replica.role)
            .map(|role| pod::pod(self, role, replica, attempt))
    }

    /// The `batch/v1` Job of a replica, in the pod's place; `None` when the job has no such role.
    pub fn batch_job(&self, replica: Replica, attempt: Attempt) -> Option<BatchJob> {
        self.pod(replica, attempt).map(batch::job)
    }

    /// The headless service of a replica; `None` when the job has no such role.
    pub fn service(&self, replica: Replica) -> Option<Service> {
        self.spec
            .role(replica.role)
            .map(|role| service::of_replica(self, role, replica))
    }

    /// The one headless service of a job with `network.services: PerJob`.
    pub fn job_service(&self) -> Service {
        service::of_job(self)
    }

    /// The ConfigMap of a job whose layout is too long for a variable; `None` for all others.
    pub fn config_map(&self) -> Option<ConfigMap> {
        self.layout.as_ref()?.config_map(ObjectMeta {
            name: Some(names::config_map(self.job)),
            namespace: self.namespace(),
            labels: Some(labels::of_job(self.job)),
            annotations: Some(
                [(labels::SIZE.to_owned(), labels::size(self.job, self.spec))].into(),
            ),
            owner_references: Some(vec![self.owner()]),
            ..ObjectMeta::default()
        })
    }

    /// The pods of a fresh job, role by role in index order.
    pub fn pods(&self) -> impl Iterator<Item = Pod> {
        self.spec
            .replicas()
            .filter_map(|replica| self.pod(replica, Attempt::default()))
    }

    /// The services of a fresh job, role by role in index order.
    pub fn services(&self) -> Vec<Service> {
        match self.spec.services {
            Services::PerJob => vec![self.job_service()],
            Services::PerReplica => served(self.spec)
                .filter_map(|replica| self.service(replica))
                .collect(),
        }
    }

    /// Name of a replica's pod and service.
    pub(crate) fn name(&self, replica: Replica) -> String {
        names::replica(self.job, replica)
    }

    /// Where a replica is reached.
    pub(crate) fn host(&self, replica: Replica) -> String {
        match (&self.addresses, self.spec.services) {
            (Addresses::Loopback(_), _) => "127.0.0.1".to_owned(),
            (Addresses::Cluster, Services::PerReplica) => self.name(replica),
            (Addresses::Cluster, Services::PerJob) => {
                format!("{}.{}", self.name(replica), self.job.meta.name)
            }
        }
    }

    /// The port that a replica listens on.
    pub(crate) fn port(&self, role: &RoleSpec, replica: Replica) -> u16 {
        match &self.addresses {
            Addresses::Cluster => role.port,
            Addresses::Loopback(ports) => ports.get(&replica).copied().unwrap_or(role.port),
        }
    }

    fn owner(&self) -> OwnerReference {
        owner(self.job)
    }

    fn namespace(&self) -> Option<String> {
        Some(self.job.meta.namespace.clone()).filter(|namespace| !namespace.is_empty())
    }
}

/// The replicas that have a service of their own under `PerReplica`.
pub(crate) fn served(spec: &Spec) -> impl Iterator<Item = Replica> {
    spec.roles
        .iter()
        .filter(|role| role.role.services)
        .flat_map(RoleSpec::replicas)
}

/// The reference to the job that its objects have.
pub fn owner(job: &Job) -> OwnerReference {
    OwnerReference {
        api_version: Version::stored(job.table).full(job.table),
        kind: job.table.crd.kind.to_owned(),
        name: job.meta.name.clone(),
        uid: job.meta.uid.clone(),
        controller: Some(true),
        block_owner_deletion: Some(true),
    }
}
