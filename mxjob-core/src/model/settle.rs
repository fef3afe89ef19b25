//! Observe, plan, apply, until quiet.

use jiff::Timestamp;

use super::Cluster;
use super::api::{Part, Preconditions};
use super::stored::StoredJob;
use crate::api::v1::JobStatus;
use crate::plan::{
    self, ConfigMapView, Debounce, Event, Observed, Plan, PodView, ServiceView, Wave,
};
use crate::wiring::Wiring;

/// Rounds after which a planner that never comes to rest is stopped. A planner does not come to rest
/// only through a mistake in it; the tests hold that this number is never reached.
const ROUNDS: usize = 1_000;

impl Cluster {
    /// Lets the planner and the API server go on until nothing is left to do now. Returns what was
    /// said on the way.
    pub fn settle(&mut self, now: Timestamp) -> Vec<Event> {
        self.start_restarts(now);
        let mut events = Vec::new();
        for _ in 0..ROUNDS {
            let mut debounce = self.debounce.clone();
            let Some(plan) = self.look(debounce.as_mut(), now) else {
                return events;
            };
            self.debounce = debounce;
            self.wake_at = plan.wake_at;
            if plan.status.is_none() && plan.actions.is_empty() {
                return events;
            }
            self.apply(plan, now, &mut events);
        }
        events
    }

    /// What the planner says to the cluster as it is; `None` without a job.
    pub fn plan(&self, now: Timestamp) -> Option<Plan> {
        self.look(self.debounce.clone().as_mut(), now)
    }

    fn look(&self, debounce: Option<&mut Debounce>, now: Timestamp) -> Option<Plan> {
        let job = self.job()?;
        let pods: Vec<_> = self
            .pods()
            .map(|pod| PodView::of(pod, self.table))
            .collect();
        let services: Vec<_> = self
            .services()
            .map(|one| ServiceView::of(one, self.table))
            .collect();
        let config_maps: Vec<_> = self.config_maps().map(ConfigMapView::of).collect();
        let observed = Observed {
            job,
            pods: &pods,
            services: &services,
            config_maps: &config_maps,
        };
        Some(match debounce {
            Some(debounce) => debounce.plan(&observed, now),
            None => plan::plan(&observed, now),
        })
    }

    fn apply(&mut self, plan: Plan, now: Timestamp, events: &mut Vec<Event>) {
        if let Some(status) = &plan.status {
            self.write_status(status);
        }
        events.extend(plan.events);
        let Some(job) = self.job().cloned() else {
            return;
        };
        let wiring = job
            .spec
            .as_ref()
            .ok()
            .map(|spec| Wiring::new(&job, spec, self.addresses.clone()));
        let mut wave = Wave::default();
        for action in &plan.actions {
            let error = self.act(&job, wiring.as_ref(), action, now).err();
            let error = error.map(|error| error.to_string());
            events.extend(wave.add(&job, action, error.as_deref().map_or(Ok(()), Err)));
        }
        events.extend(wave.end());
    }

    fn write_status(&mut self, status: &JobStatus) {
        let Some(name) = self.job().map(|job| job.meta.name.clone()) else {
            return;
        };
        self.status_writes += 1;
        // It has just been found, and nothing is asked of it.
        let _found = self.server.update::<StoredJob>(
            &name,
            &Preconditions::default(),
            Part::Status,
            |job| status.clone_into(job.status_mut()),
        );
    }
}
