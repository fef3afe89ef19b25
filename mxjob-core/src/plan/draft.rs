//! The plan while it is being made.

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::world::World;
use super::{Action, ConfigMapView, Event, Plan, PodView, ServiceView, Target, milestones};
use crate::api::v1::JobStatus;
use crate::job::Job;

/// By how much the clocks of machines that are in order may differ.
const CLOCKS_DIFFER: SignedDuration = SignedDuration::from_mins(1);

pub(super) struct Draft<'a> {
    pub(super) job: &'a Job,
    pub(super) now: Timestamp,
    pub(super) status: JobStatus,
    pub(super) actions: Vec<Action>,
    pub(super) events: Vec<Event>,
    /// Names and images of what goes, where the image is known.
    pub(super) images: Vec<(String, String)>,
    wake_at: Option<Timestamp>,
}

impl<'a> Draft<'a> {
    pub(super) fn new(job: &'a Job, now: Timestamp) -> Self {
        let status = job.status.clone();
        Self {
            job,
            now,
            status,
            actions: Vec::new(),
            events: Vec::new(),
            images: Vec::new(),
            wake_at: None,
        }
    }

    /// A time that is more than a minute to come is of a clock that is wrong, a node's or ours, and
    /// tells nothing.
    pub(super) fn is_to_come(&self, at: Timestamp) -> bool {
        at.duration_since(self.now) > CLOCKS_DIFFER
    }

    /// Now, as the API keeps it.
    pub(super) fn stamp(&self) -> Time {
        whole_seconds(self.now)
    }

    /// Looks again at `at` at the latest.
    pub(super) fn wake(&mut self, at: Timestamp) {
        self.wake_at = Some(self.wake_at.map_or(at, |sooner| sooner.min(at)));
    }

    /// Looks again when `seconds` have passed since `start`; true when they have.
    pub(super) fn passed(&mut self, start: Timestamp, seconds: i64) -> bool {
        let due = start
            .checked_add(jiff::SignedDuration::from_secs(seconds))
            .unwrap_or(Timestamp::MAX);
        if due > self.now {
            self.wake(due);
        }
        due <= self.now
    }

    pub(super) fn delete_pod(&mut self, pod: &PodView) {
        if !pod.deleting {
            let image = pod
                .image
                .iter()
                .map(|image| (pod.name.clone(), image.clone()));
            self.images.extend(image);
            self.actions.push(Action::DeletePod(Target::of(pod)));
        }
    }

    pub(super) fn stop_pod(&mut self, pod: &PodView) {
        if !pod.deleting && !pod.stopped && !pod.phase.is_final() {
            self.actions.push(Action::StopPod(Target::of(pod)));
        }
    }

    pub(super) fn delete_service(&mut self, service: &ServiceView) {
        if !service.deleting {
            let target = Target {
                name: service.name.clone(),
                uid: service.uid.clone(),
            };
            self.actions.push(Action::DeleteService(target));
        }
    }

    /// All by which the replicas find each other.
    pub(super) fn delete_addresses(&mut self, world: &World<'_>) {
        for service in world.own_services() {
            self.delete_service(service);
        }
        for config_map in &world.config_maps {
            self.delete_config_map(config_map);
        }
    }

    pub(super) fn delete_config_map(&mut self, config_map: &ConfigMapView) {
        if !config_map.deleting {
            let target = Target {
                name: config_map.name.clone(),
                uid: config_map.uid.clone(),
            };
            self.actions.push(Action::DeleteConfigMap(target));
        }
    }

    pub(super) fn event(&mut self, event: Event) {
        self.events.push(event);
    }

    /// The kind's name before a word, like `MXJobCreated`.
    pub(super) fn reason(&self, word: &str) -> String {
        format!("{}{word}", self.job.table.crd.kind)
    }

    /// What is to be done, and no word about it.
    pub(super) fn into_actions(self) -> Plan {
        Plan {
            actions: self.actions,
            ..Plan::default()
        }
    }

    pub(super) fn into_plan(mut self) -> Plan {
        milestones::note(&mut self);
        let changed = self.job.wiped || self.status != self.job.status;
        let status = changed.then_some(self.status);
        Plan {
            status,
            actions: self.actions,
            events: self.events,
            wake_at: self.wake_at,
        }
    }
}

/// All that the API keeps of a time.
pub(super) fn whole_seconds(at: Timestamp) -> Time {
    Time(Timestamp::from_second(at.as_second()).unwrap_or(at))
}
