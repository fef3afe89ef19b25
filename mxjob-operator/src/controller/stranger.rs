//! Objects of others under the names that our jobs' objects would have. Those without our labels are
//! not watched; a refused create is how we meet them.

use std::collections::{BTreeMap, HashMap};
use std::fmt;

use mxjob_core::Job;
use mxjob_core::plan::{Action, ConfigMapView, PodView, ServiceView};
use tokio::time::Instant;

use super::backoff;
use super::key::JobKey;

/// An object of somebody else, or one of the job's own whose labels somebody took off.
#[derive(Clone, Debug)]
pub(super) enum Stranger {
    /// A pod.
    Pod(Box<PodView>),
    /// A service.
    Service(ServiceView),
    /// A ConfigMap.
    ConfigMap(ConfigMapView),
}

impl Stranger {
    /// Uid of its controlling owner.
    pub(super) fn owner(&self) -> Option<&str> {
        match self {
            Self::Pod(pod) => pod.owner.as_deref(),
            Self::Service(service) => service.owner.as_deref(),
            Self::ConfigMap(config_map) => config_map.owner.as_deref(),
        }
    }

    /// An older operator has left it to the job of its name.
    pub(super) fn is_left(&self) -> bool {
        match self {
            Self::Pod(pod) => pod.orphan,
            Self::Service(service) => service.orphan,
            Self::ConfigMap(_) => false,
        }
    }

    fn id(&self) -> Id {
        match self {
            Self::Pod(pod) => Id::Pod(pod.name.clone()),
            Self::Service(service) => Id::Service(service.name.clone()),
            Self::ConfigMap(config_map) => Id::ConfigMap(config_map.name.clone()),
        }
    }
}

/// Kind and name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Id {
    /// Of a pod.
    Pod(String),
    /// Of a service.
    Service(String),
    /// Of a ConfigMap.
    ConfigMap(String),
}

impl Id {
    /// Of what the action creates; `None`: it creates nothing.
    pub(super) fn of(action: &Action, job: &Job) -> Option<Self> {
        let name = action.object(job);
        match action {
            Action::CreatePod(..) => Some(Self::Pod(name)),
            Action::CreateService(_) | Action::CreateJobService => Some(Self::Service(name)),
            Action::CreateConfigMap => Some(Self::ConfigMap(name)),
            Action::LabelPod(..)
            | Action::LabelPodOfJob(..)
            | Action::StopPod(_)
            | Action::AdoptPod(..)
            | Action::AdoptService(..)
            | Action::DeletePod(_)
            | Action::DeleteService(_)
            | Action::DeleteConfigMap(_)
            | Action::DeleteJob => None,
        }
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pod(name) => write!(f, "pod {name}"),
            Self::Service(name) => write!(f, "service {name}"),
            Self::ConfigMap(name) => write!(f, "config map {name}"),
        }
    }
}

#[derive(Debug)]
struct Met {
    stranger: Stranger,
    times: u32,
    look_again: Instant,
}

/// The strangers met so far, by job.
#[derive(Debug, Default)]
pub(super) struct Strangers {
    by_job: HashMap<JobKey, BTreeMap<Id, Met>>,
}

impl Strangers {
    /// The name is (still) taken; it is to be looked at again after a growing wait.
    pub(super) fn meet(&mut self, job: &JobKey, stranger: Stranger, now: Instant) {
        let known = self.by_job.entry(job.clone()).or_default();
        let id = stranger.id();
        let times = known.get(&id).map_or(0, |met| met.times).saturating_add(1);
        known.insert(
            id,
            Met {
                stranger,
                times,
                look_again: now + backoff::wait(times),
            },
        );
    }

    /// It could not be seen whether the name is still taken; try again later.
    pub(super) fn postpone(&mut self, job: &JobKey, id: &Id, now: Instant) {
        if let Some(met) = self.by_job.get_mut(job).and_then(|known| known.get_mut(id)) {
            met.times = met.times.saturating_add(1);
            met.look_again = now + backoff::wait(met.times);
        }
    }

    /// Its deletion was answered: what became of it is to be looked at before it is deleted again.
    pub(super) fn look_soon(&mut self, job: &JobKey, id: &Id) {
        if let Some(met) = self.by_job.get_mut(job).and_then(|known| known.get_mut(id)) {
            met.look_again = Instant::now();
        }
    }

    /// The name is free again.
    pub(super) fn part(&mut self, job: &JobKey, id: &Id) {
        if let Some(known) = self.by_job.get_mut(job) {
            known.remove(id);
        }
    }

    /// There is no such job any more.
    pub(super) fn forget(&mut self, job: &JobKey) {
        self.by_job.remove(job);
    }

    /// Which names to look at again now.
    pub(super) fn due(&self, job: &JobKey, now: Instant) -> Vec<Id> {
        let known = self.by_job.get(job).into_iter().flatten();
        known
            .filter(|(_, met)| met.look_again <= now)
            .map(|(id, _)| id.clone())
            .collect()
    }

    /// When the next name of the job is due.
    pub(super) fn next_due(&self, job: &JobKey) -> Option<Instant> {
        self.by_job
            .get(job)
            .into_iter()
            .flatten()
            .map(|(_, met)| met.look_again)
            .min()
    }

    /// Adds the job's strangers to what was watched of it.
    pub(super) fn add_to(
        &self,
        job: &JobKey,
        pods: &mut Vec<PodView>,
        services: &mut Vec<ServiceView>,
        config_maps: &mut Vec<ConfigMapView>,
    ) {
        for (_, met) in self.by_job.get(job).into_iter().flatten() {
            match &met.stranger {
                Stranger::Pod(pod)
                    if !pods
                        .iter()
                        .any(|known| known.name == pod.name && !known.left_over) =>
                {
                    pods.push(pod.as_ref().clone());
                }
                Stranger::Service(service)
                    if !services.iter().any(|known| known.name == service.name) =>
                {
                    services.push(service.clone());
                }
                Stranger::ConfigMap(theirs)
                    if !config_maps.iter().any(|known| known.name == theirs.name) =>
                {
                    config_maps.push(theirs.clone());
                }
                Stranger::Pod(_) | Stranger::Service(_) | Stranger::ConfigMap(_) => {}
            }
        }
    }
}
