//! A job's objects, to be changed by hand.

use jiff::{SignedDuration, Timestamp};
use mxjob_core::plan::{Exit, Observed, Plan, PodPhase, PodView, ServiceView, plan};
use mxjob_core::{Job, MxRole, ReplicaRole};
use serde_json::Value;

use super::{MX, World};

/// A running job's objects, to be changed by hand.
pub(crate) struct Look {
    pub(crate) job: Job,
    pub(crate) pods: Vec<PodView>,
    pub(crate) services: Vec<ServiceView>,
    pub(crate) now: Timestamp,
}

impl Look {
    pub(crate) fn at(manifest: Value) -> Self {
        Self::of(&World::running(MX, manifest))
    }

    pub(crate) fn of(world: &World) -> Self {
        Self {
            job: world.cluster.job().unwrap().clone(),
            pods: world
                .cluster
                .pods()
                .map(|pod| PodView::of(pod, MxRole::TABLE))
                .collect(),
            services: world
                .cluster
                .services()
                .map(|one| ServiceView::of(one, MxRole::TABLE))
                .collect(),
            now: world.now,
        }
    }

    pub(crate) fn pod(&mut self, name: &str) -> &mut PodView {
        self.pods.iter_mut().find(|pod| pod.name == name).unwrap()
    }

    pub(crate) fn observed(&self) -> Observed<'_> {
        Observed {
            job: &self.job,
            pods: &self.pods,
            services: &self.services,
            config_maps: &[],
        }
    }

    pub(crate) fn plan(&self) -> Plan {
        plan(&self.observed(), self.now)
    }

    pub(crate) fn seconds_ago(&self, seconds: i64) -> Option<Timestamp> {
        self.now
            .checked_sub(SignedDuration::from_secs(seconds))
            .ok()
    }

    pub(crate) fn fail(&mut self, name: &str, code: Option<i32>) {
        let at = Some(self.now);
        let reason = None;
        let pod = self.pod(name);
        pod.phase = PodPhase::Failed;
        pod.exit = code.map(|code| Exit { code, reason, at });
    }
}
