//! The model cluster: API server, garbage collector and kubelet bookkeeping for one job, in memory
//! and without a clock. What runs the containers stands outside: it polls [`Work`] and sends
//! [`Report`]s.
//!
//! ```text
//!   create_job ──▶ settle(now): observe → plan → apply, until quiet ──▶ poll_work ──▶ who runs it
//!                    ▲                                                                   │
//!                    └────────────────────────── report(now, …) ◀────────────────────────┘
//! ```

mod api;
mod cache;
mod fault;
mod garbage;
mod kubelet;
mod leader;
mod objects;
mod server;
mod settle;
mod stored;
mod watched;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{ConfigMap, Pod, Service};

use crate::job::{Job, Replica};
use crate::plan::Debounce;
use crate::role::RoleTable;
use crate::wiring::Addresses;
use kubelet::NodePod;

pub use api::{ApiError, Deletion, Part, Preconditions};
pub use cache::{Kind, News};
pub use fault::Fault;
pub use leader::{Done, Leader};
pub use server::{Server, Shelf};
pub use stored::{Stored, StoredJob};

/// A cluster with one job.
#[derive(Clone, Debug)]
pub struct Cluster {
    table: &'static RoleTable,
    addresses: Addresses,
    /// The API server.
    pub server: Server,
    /// What the node knows of each pod, by name.
    node: BTreeMap<String, NodePod>,
    work: VecDeque<Work>,
    wake_at: Option<Timestamp>,
    /// `None`: every status is written at once.
    debounce: Option<Debounce>,
    status_writes: usize,
}

/// Something to do for whoever runs the containers.
#[derive(Clone, Debug)]
pub enum Work {
    /// Start the containers of a pod; `restart` counts earlier starts of the same pod.
    Start {
        /// The pod's uid.
        uid: String,
        /// The pod.
        pod: Arc<Pod>,
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

impl Cluster {
    /// An empty cluster for jobs of the role set `table`, whose replicas find each other by `addresses`.
    pub fn new(table: &'static RoleTable, addresses: Addresses) -> Self {
        Self {
            table,
            addresses,
            server: Server::default(),
            node: BTreeMap::new(),
            work: VecDeque::new(),
            wake_at: None,
            debounce: None,
            status_writes: 0,
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

    /// Keeps every change, for [`Leader`]s that see it later.
    #[must_use]
    pub fn watched(mut self) -> Self {
        self.server = Server::watched();
        self
    }

    /// The job; `None` before it is created and once it and its pods are gone.
    pub fn job(&self) -> Option<&Job> {
        self.server.list::<StoredJob>().next().map(|one| one.job())
    }

    /// The pods, by name.
    pub fn pods(&self) -> impl Iterator<Item = &Pod> {
        self.server.list::<Pod>().map(AsRef::as_ref)
    }

    /// The ConfigMaps, by name.
    pub fn config_maps(&self) -> impl Iterator<Item = &ConfigMap> {
        self.server.list::<ConfigMap>().map(AsRef::as_ref)
    }

    /// The services, by name.
    pub fn services(&self) -> impl Iterator<Item = &Service> {
        self.server.list::<Service>().map(AsRef::as_ref)
    }

    /// The next thing to do for whoever runs the containers.
    pub fn poll_work(&mut self) -> Option<Work> {
        let work = self.work.pop_front()?;
        self.hand_over(work.uid());
        Some(work)
    }

    /// When [`Cluster::settle`] should be called although nothing happens.
    pub fn next_deadline(&self) -> Option<Timestamp> {
        let restarts = self.node.values().filter_map(|pod| pod.restart_at);
        restarts.chain(self.wake_at).min()
    }
}
