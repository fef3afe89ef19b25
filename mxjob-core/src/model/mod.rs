//! The model cluster: API server, garbage collector and kubelet bookkeeping for one job, in memory
//! and without a clock. What runs the containers stands outside: it polls [`Work`] and sends
//! [`Report`]s.
//!
//! ```text
//!   create_job ──▶ settle(now): observe → plan → apply, until quiet ──▶ poll_work ──▶ who runs it
//!                    ▲                                                                   │
//!                    └────────────────────────── report(now, …) ◀────────────────────────┘
//! ```

mod kubelet;
mod objects;
mod settle;

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{ConfigMap, Pod, Service};
use serde_json::Value;

use crate::job::{Job, Replica};
use crate::plan::Debounce;
use crate::role::RoleTable;
use crate::wiring::Addresses;
use kubelet::ModelPod;

/// A cluster with one job.
#[derive(Debug)]
pub struct Cluster {
    table: &'static RoleTable,
    addresses: Addresses,
    object: Value,
    job: Option<Job>,
    pods: BTreeMap<String, ModelPod>,
    services: BTreeMap<String, Service>,
    config_maps: BTreeMap<String, ConfigMap>,
    work: VecDeque<Work>,
    wake_at: Option<Timestamp>,
    /// `None`: every status is written at once.
    debounce: Option<Debounce>,
    status_writes: usize,
    /// Last uid and resourceVersion handed out.
    revision: u64,
}

/// Something to do for whoever runs the containers.
#[derive(Clone, Debug)]
pub enum Work {
    /// Start the containers of a pod; `restart` counts earlier starts of the same pod.
    Start {
        /// The pod's uid.
        uid: String,
        /// The pod.
        pod: Box<Pod>,
        /// Which replica it is.
        replica: Replica,
        /// Earlier starts of the same pod.
        restart: u32,
    },
    /// Stop them: SIGTERM, and SIGKILL after `grace`.
    Stop {
        /// The pod's uid.
        uid: String,
        /// Time between SIGTERM and SIGKILL.
        grace: Duration,
    },
}

impl Work {
    /// Uid of the pod that it is about.
    pub fn uid(&self) -> &str {
        match self {
            Self::Start { uid, .. } | Self::Stop { uid, .. } => uid,
        }
    }
}

/// What became of the containers of a pod.
#[derive(Clone, Debug)]
pub enum Report {
    /// They run.
    Started {
        /// The pod's uid.
        uid: String,
    },
    /// The job's container has ended, or could not be started (code 128, reason `StartError`).
    Exited {
        /// The pod's uid.
        uid: String,
        /// Exit code; 128 + n when signal n ended it.
        code: i32,
        /// `Completed`, `Error`, `OOMKilled`, `StartError`; `None`: as the code says.
        reason: Option<String>,
    },
}

/// What the API server answers instead of doing something.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ApiError {
    /// 409: an object of that name is there.
    #[error("{kind} \"{name}\" already exists")]
    AlreadyExists {
        /// Kind, plural.
        kind: &'static str,
        /// Name.
        name: String,
    },
    /// 404: no object of that name is there.
    #[error("{kind} \"{name}\" not found")]
    NotFound {
        /// Kind, plural.
        kind: &'static str,
        /// Name.
        name: String,
    },
    /// 409: it is another object than the one meant.
    #[error("{kind} \"{name}\": the uid in the precondition does not match")]
    Conflict {
        /// Kind, plural.
        kind: &'static str,
        /// Name.
        name: String,
    },
    /// 422: the object has no name.
    #[error("{kind}: metadata.name is required")]
    NoName {
        /// Kind, plural.
        kind: &'static str,
    },
}

impl Cluster {
    /// An empty cluster for jobs of the role set `table`, whose replicas find each other by `addresses`.
    pub fn new(table: &'static RoleTable, addresses: Addresses) -> Self {
        Self {
            table,
            addresses,
            object: Value::Null,
            job: None,
            pods: BTreeMap::new(),
            services: BTreeMap::new(),
            config_maps: BTreeMap::new(),
            work: VecDeque::new(),
            wake_at: None,
            debounce: None,
            status_writes: 0,
            revision: 0,
        }
    }

    /// Lets a status wait for the next one, as the operator does: who has no API server to spare
    /// would only hear of it later.
    #[must_use]
    pub fn debounced(mut self) -> Self {
        self.debounce = Some(Debounce::default());
        self
    }

    /// The operator is started anew: what it had not written is forgotten.
    pub fn restart_operator(&mut self) {
        self.debounce = self.debounce.take().map(|_| Debounce::default());
    }

    /// How often a status was written.
    pub fn status_writes(&self) -> usize {
        self.status_writes
    }

    /// The job; `None` before it is created and once it and its pods are gone.
    pub fn job(&self) -> Option<&Job> {
        self.job.as_ref()
    }

    /// The pods, by name.
    pub fn pods(&self) -> impl Iterator<Item = &Pod> {
        self.pods.values().map(|one| &one.pod)
    }

    /// The ConfigMaps, by name.
    pub fn config_maps(&self) -> impl Iterator<Item = &ConfigMap> {
        self.config_maps.values()
    }

    /// The services, by name.
    pub fn services(&self) -> impl Iterator<Item = &Service> {
        self.services.values()
    }

    /// The next thing to do for whoever runs the containers.
    pub fn poll_work(&mut self) -> Option<Work> {
        let work = self.work.pop_front()?;
        if let Some(pod) = self.pods.values_mut().find(|pod| pod.uid() == work.uid()) {
            pod.handed_over = true;
        }
        Some(work)
    }

    /// When [`Cluster::settle`] should be called although nothing happens.
    pub fn next_deadline(&self) -> Option<Timestamp> {
        let restarts = self.pods.values().filter_map(|pod| pod.restart_at);
        restarts.chain(self.wake_at).min()
    }

    fn next_revision(&mut self) -> u64 {
        self.revision += 1;
        self.revision
    }
}
