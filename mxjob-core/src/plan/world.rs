//! The observed objects, sorted by what they are to the job.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use jiff::Timestamp;

use super::{ConfigMapView, Observed, PodPhase, PodView, ServiceView};
use crate::job::Replica;
use crate::wiring::names;

pub(super) struct World<'a> {
    /// The job's own pods by replica, wanted or not.
    pub(super) pods: BTreeMap<Replica, &'a PodView>,
    /// They have the names of another runtime id: the newest of the job's own pods do.
    pub(super) renamed: bool,
    /// The job's own pods that are no replica's.
    pub(super) strays: Vec<&'a PodView>,
    /// Pods of others under the name of a replica.
    pub(super) foreign: BTreeMap<Replica, &'a PodView>,
    /// The job's own services, by name.
    pub(super) services: BTreeMap<&'a str, &'a ServiceView>,
    /// Services of others, by name.
    pub(super) foreign_services: BTreeMap<&'a str, &'a ServiceView>,
    /// The job's own ConfigMaps.
    pub(super) config_maps: Vec<&'a ConfigMapView>,
    /// Somebody else's ConfigMap under the name of the job's.
    pub(super) foreign_config_map: Option<&'a ConfigMapView>,
}

impl<'a> World<'a> {
    pub(super) fn of(observed: &Observed<'a>) -> Self {
        let job = observed.job;
        let uid = job.meta.uid.as_str();
        let mut world = Self {
            pods: BTreeMap::new(),
            renamed: false,
            strays: Vec::new(),
            foreign: BTreeMap::new(),
            services: BTreeMap::new(),
            foreign_services: BTreeMap::new(),
            config_maps: Vec::new(),
            foreign_config_map: None,
        };
        let config_map = names::config_map(job);
        for found in observed.config_maps {
            if found.owner.as_deref() == Some(uid) {
                world.config_maps.push(found);
            } else if found.name == config_map {
                world.foreign_config_map = Some(found);
            }
        }
        for service in observed.services {
            let left = || {
                let meant = names::parse(job, &service.name).is_some();
                service.orphan && meant && !job.meta.is_newer_than(service.created_at)
            };
            let ours = service.owner.as_deref() == Some(uid) || left();
            let services = if ours {
                &mut world.services
            } else {
                &mut world.foreign_services
            };
            services.insert(&service.name, service);
        }
        let (mut older, mut otherwise) = (Vec::new(), Vec::new());
        for pod in observed.pods {
            let ours = pod.owner.as_deref() == Some(uid);
            let now = |(replica, run)| (replica, run == job.meta.run.as_deref());
            let (table, name) = (job.table, job.meta.name.as_str());
            match names::parts(table, name, &pod.name).map(now) {
                // Its Job may be there as well.
                Some((replica, true)) if pod.left_over => {
                    world.pods.entry(replica).or_insert(pod);
                }
                // What is older was another job's of that name and id.
                Some((replica, true))
                    if ours || pod.orphan && !job.meta.is_newer_than(pod.created_at) =>
                {
                    world.pods.insert(replica, pod);
                }
                Some((replica, true)) => {
                    world.foreign.insert(replica, pod);
                }
                Some((replica, false)) if ours => otherwise.push((replica, pod)),
                // Nobody needs the name that a pod of an older operator has.
                None if ours => match names::of_older_pod(table, name, &pod.name).map(now) {
                    Some((replica, true)) => older.push((replica, pod)),
                    Some((replica, false)) => otherwise.push((replica, pod)),
                    None => world.strays.push(pod),
                },
                _ => {}
            }
        }
        world.take_older(older);
        world.take_in(otherwise);
        world
    }

    /// The job's own pods that an older operator made. One that this operator has made beside such a one,
    /// because it was not to be seen, does not stand above it for its name.
    fn take_older(&mut self, pods: Vec<(Replica, &'a PodView)>) {
        for (replica, pod) in pods {
            match self.pods.entry(replica) {
                Entry::Vacant(place) => {
                    place.insert(pod);
                }
                Entry::Occupied(mut place) if rank(pod) > rank(place.get()) => {
                    self.strays.push(place.insert(pod));
                }
                Entry::Occupied(_) => self.strays.push(pod),
            }
        }
    }

    /// The job's own pods under the names of replicas with another runtime id. Newer than all under
    /// the present names they are what the job consists of until it has been restarted; else somebody
    /// has made them, or they came too late.
    fn take_in(&mut self, mut pods: Vec<(Replica, &'a PodView)>) {
        let newest = pods.iter().map(|(_, pod)| pod.attempt.job).max();
        self.renamed = newest > self.pods.values().map(|pod| pod.attempt.job).max();
        if !self.renamed {
            self.strays.extend(pods.into_iter().map(|(_, pod)| pod));
            return;
        }
        self.strays
            .extend(std::mem::take(&mut self.pods).into_values());
        pods.sort_by_key(|(_, pod)| rank(pod));
        for (replica, pod) in pods {
            self.strays.extend(self.pods.insert(replica, pod));
        }
    }

    /// All pods of the job.
    pub(super) fn own_pods(&self) -> impl Iterator<Item = &'a PodView> {
        self.pods.values().chain(&self.strays).copied()
    }

    /// All services of the job.
    pub(super) fn own_services(&self) -> impl Iterator<Item = &'a ServiceView> {
        self.services.values().copied()
    }
}

/// Of several pods of a replica that one counts of which this is the highest: an older operator left
/// those that had failed beside the one that took their place. Of two that go on it is the one that
/// has the most to lose.
fn rank(pod: &PodView) -> impl Ord {
    let standing = match pod.phase {
        PodPhase::Failed => 0,
        PodPhase::Succeeded => 2,
        PodPhase::Pending | PodPhase::Running if pod.deleting => 1,
        PodPhase::Pending => 3,
        PodPhase::Running => 4,
    };
    let attempt = (pod.attempt.job, pod.attempt.replica);
    let age = pod.created_at.map_or(0, Timestamp::as_second);
    let age = if standing > 2 { -age } else { age };
    (attempt, standing, age, pod.name.clone())
}
