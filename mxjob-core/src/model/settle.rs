//! Observe, plan, apply, until quiet.

use jiff::Timestamp;

use super::{ApiError, Cluster};
use crate::job::Attempt;
use crate::plan::{
    self, Action, ConfigMapView, Debounce, Event, Observed, Plan, PodView, ServiceView, Wave,
};
use crate::wiring::Wiring;

/// Rounds after which a planner that never comes to rest is stopped. A planner does not come to rest
/// only through a mistake in it; the tests hold that this number is never reached.
const ROUNDS: usize = 1_000;

impl Cluster {
    /// Lets the planner and the API server go on until nothing is left to do now. Returns what was
    /// said on the way.
    pub fn settle(&mut self, now: Timestamp) -> Vec<Event> {
        self.start_due(now);
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
        let job = self.job.as_ref()?;
        let pods: Vec<_> = self
            .pods
            .values()
            .map(|one| PodView::of(&one.pod, self.table))
            .collect();
        let services: Vec<_> = self.services.values().map(ServiceView::of).collect();
        let config_maps: Vec<_> = self.config_maps.values().map(ConfigMapView::of).collect();
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
        let Some(job) = self.job.clone() else { return };
        let wiring = job
            .spec
            .as_ref()
            .ok()
            .map(|spec| Wiring::new(&job, spec, self.addresses.clone()));
        let mut wave = Wave::default();
        for action in &plan.actions {
            let error = self.act(wiring.as_ref(), action, now).err();
            let error = error.map(|error| error.to_string());
            events.extend(wave.add(&job, action, error.as_deref().map_or(Ok(()), Err)));
        }
        events.extend(wave.end());
    }

    fn act(
        &mut self,
        wiring: Option<&Wiring<'_>>,
        action: &Action,
        now: Timestamp,
    ) -> Result<(), ApiError> {
        match action {
            Action::LabelPod(replica, target) => {
                let pod = wiring.and_then(|wiring| wiring.pod(*replica, Attempt::default()));
                self.label_pod(target, pod.and_then(|pod| pod.metadata.labels))
            }
            Action::DeletePod(target) => self.delete_pod(target, now),
            Action::DeleteService(target) => self.delete_service(target),
            Action::DeleteConfigMap(target) => self.delete_config_map(target),
            Action::CreateConfigMap => {
                let config_map = wiring.and_then(Wiring::config_map);
                config_map.map_or(Ok(()), |one| self.create_config_map(one, now))
            }
            Action::DeleteJob => {
                self.delete_job(now);
                Ok(())
            }
            Action::CreatePod(replica, attempt) => {
                let pod = wiring.and_then(|wiring| wiring.pod(*replica, *attempt));
                pod.map_or(Ok(()), |pod| self.create_pod(pod, now))
            }
            Action::CreateService(replica) => {
                let service = wiring.and_then(|wiring| wiring.service(*replica));
                service.map_or(Ok(()), |service| self.create_service(service, now))
            }
            Action::CreateJobService => wiring.map_or(Ok(()), |wiring| {
                self.create_service(wiring.job_service(), now)
            }),
        }
    }
}
