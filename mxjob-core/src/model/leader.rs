//! An operator with caches of its own that lag behind: it looks, writes the status if the job is
//! still the one that it knows, and carries its plan out request by request. The shell for a real
//! cluster does the same; here every request can be made to fail, and another leader can come
//! between any two.

use std::collections::VecDeque;
use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{ConfigMap, Pod, Service};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::Cluster;
use super::api::{ApiError, Part, Preconditions};
use super::cache::{Cache, Kind, News};
use super::fault::{Fault, send};
use super::objects::Made;
use super::stored::{Stored, StoredJob};
use super::watched::{is_older, is_ours, is_watched};
use crate::api::v1::JobStatus;
use crate::job::Job;
use crate::plan::{Action, ConfigMapView, Debounce, Observed, Plan, PodView, ServiceView, plan};
use crate::role::RoleTable;
use crate::wiring::{Wiring, labels};

/// What a leader has done.
#[derive(Clone, Debug)]
pub enum Done {
    /// It knows no such job.
    Nothing,
    /// It has looked, and written the status when the plan says so.
    Looked {
        /// The plan.
        plan: Box<Plan>,
        /// What became of the status; when it could not be written, nothing else is done.
        status: Result<(), ApiError>,
    },
    /// It has carried out an action of the last plan.
    Acted {
        /// The action.
        action: Action,
        /// What became of it; that an object is there already, or gone already, is no error.
        result: Result<(), ApiError>,
    },
}

/// An operator that looks after the job of that name.
#[derive(Clone, Debug)]
pub struct Leader {
    table: &'static RoleTable,
    name: String,
    jobs: Cache<StoredJob>,
    pods: Cache<Pod>,
    older_pods: Cache<Pod>,
    services: Cache<Service>,
    older_services: Cache<Service>,
    config_maps: Cache<ConfigMap>,
    /// Pods that it has just looked for and found.
    found: Vec<Arc<Pod>>,
    debounce: Option<Debounce>,
    /// What is left of the last plan, and the job that it was made for.
    rest: VecDeque<Action>,
    planned_for: Option<Arc<StoredJob>>,
}

impl Leader {
    /// One that begins: it lists everything.
    pub fn new(cluster: &Cluster, name: &str, debounced: bool) -> Self {
        let mut leader = Self {
            table: cluster.table,
            name: name.to_owned(),
            jobs: Cache::default(),
            pods: Cache::default(),
            older_pods: Cache::default(),
            services: Cache::default(),
            older_services: Cache::default(),
            config_maps: Cache::default(),
            found: Vec::new(),
            debounce: debounced.then(|| {
                let mut debounce = Debounce::default();
                debounce.trust(true);
                debounce
            }),
            rest: VecDeque::new(),
            planned_for: None,
        };
        leader.hear_all(cluster, News::List);
        leader
    }

    /// The watches of all kinds say something.
    pub fn hear_all(&mut self, cluster: &Cluster, news: News) {
        for kind in [
            Kind::Jobs,
            Kind::Pods,
            Kind::OlderPods,
            Kind::Services,
            Kind::OlderServices,
            Kind::ConfigMaps,
        ] {
            self.hear(cluster, kind, news);
        }
    }

    /// Too much time has passed since its requests were answered: it does not believe any more what the
    /// watches have not confirmed. A job it would read.
    pub fn expire(&mut self) {
        self.pods.expire();
        self.older_pods.expire();
        self.services.expire();
        self.older_services.expire();
        self.config_maps.expire();
    }

    /// The watch of one kind says something.
    pub fn hear(&mut self, cluster: &Cluster, kind: Kind, news: News) {
        let (table, job, server) = (self.table, self.name.as_str(), &cluster.server);
        match kind {
            Kind::Jobs => self.jobs.hear(news, StoredJob::shelf(server), |_| true),
            Kind::Pods => {
                self.found.clear();
                self.pods
                    .hear(news, Pod::shelf(server), |one| is_watched(one, table, job));
            }
            Kind::OlderPods => {
                self.found.clear();
                self.older_pods
                    .hear(news, Pod::shelf(server), |one| is_older(one, table, job));
            }
            Kind::Services => self.services.hear(news, Service::shelf(server), |one| {
                is_watched(one, table, job)
            }),
            Kind::OlderServices => self
                .older_services
                .hear(news, Service::shelf(server), |one| {
                    is_older(one, table, job)
                }),
            Kind::ConfigMaps => self
                .config_maps
                .hear(news, ConfigMap::shelf(server), |one| {
                    is_watched(one, table, job)
                }),
        }
    }

    /// Looks again at the names that were taken.
    pub fn look_at_strangers(&mut self, cluster: &Cluster) {
        let (table, job, server) = (self.table, self.name.as_str(), &cluster.server);
        self.pods
            .look_again(server, |one| is_watched(one, table, job));
        self.services
            .look_again(server, |one| is_watched(one, table, job));
        self.config_maps
            .look_again(server, |one| is_watched(one, table, job));
    }

    /// Looks for the pods that have run and that no watch shows.
    fn look_for_pods(&mut self, cluster: &Cluster) {
        self.found.clear();
        let Some(stored) = self.jobs.get(&self.name).cloned() else {
            return;
        };
        let plain = Debounce::default();
        let debounce = self.debounce.as_ref().unwrap_or(&plain);
        let missing = self.observe(stored.job(), |seen| debounce.missing(seen));
        for name in missing.names {
            if let Ok(pod) = cluster.server.get::<Pod>(&name) {
                self.found.push(pod.clone());
                if !is_watched(pod.as_ref(), self.table, &self.name) {
                    self.pods.meet(pod, false);
                }
            }
        }
        if missing.labels.is_empty() {
            return;
        }
        let is_one = |pod: &&Arc<Pod>| {
            let all = pod.metadata.labels.as_ref();
            let has =
                |(key, value): &(&str, String)| all.and_then(|all| all.get(*key)) == Some(value);
            missing.labels.iter().all(has)
        };
        self.found
            .extend(cluster.server.list::<Pod>().filter(is_one).cloned());
    }

    /// The job as it knows it.
    pub fn job(&self) -> Option<&Job> {
        self.jobs.get(&self.name).map(|stored| stored.job())
    }

    /// The job as it knew it when it made its last plan.
    pub fn planned_for(&self) -> Option<&Job> {
        self.planned_for.as_ref().map(|stored| stored.job())
    }

    /// What it sends next of its last plan; `None`: nothing is left, it looks.
    pub fn next(&self) -> Option<&Action> {
        self.rest.front()
    }

    /// What it would do now; `status`: were this the job's status.
    pub fn plan(&self, now: Timestamp, status: Option<&JobStatus>) -> Option<Plan> {
        let job = self.job()?;
        match status {
            None => Some(self.ask(job, self.debounce.clone().as_mut(), now)),
            Some(status) => {
                let job = Job {
                    status: status.clone(),
                    ..job.clone()
                };
                Some(self.ask(&job, None, now))
            }
        }
    }

    fn ask(&self, job: &Job, debounce: Option<&mut Debounce>, now: Timestamp) -> Plan {
        self.observe(job, |seen| match debounce {
            Some(debounce) => debounce.plan(seen, now),
            None => plan(seen, now),
        })
    }

    fn observe<R>(&self, job: &Job, look: impl FnOnce(&Observed<'_>) -> R) -> R {
        let known: Vec<_> = self.pods.with(&self.older_pods).collect();
        let is_new = |pod: &&Arc<Pod>| {
            let mut known = known.iter();
            known.all(|(one, _)| one.meta().name != pod.meta().name)
        };
        let found = self.found.iter().filter(is_new).map(|pod| (pod, false));
        let found: Vec<_> = found.collect();
        let pods = known.into_iter().chain(found).map(|(pod, doomed)| {
            let mut view = PodView::of(pod, self.table);
            view.deleting |= doomed;
            view
        });
        let mut pods: Vec<_> = pods.collect();
        // The planner's result may not depend on an order.
        pods.reverse();
        let services = self.services.with(&self.older_services);
        let services = services.map(|(service, doomed)| {
            let mut view = ServiceView::of(service, self.table);
            view.deleting |= doomed;
            view
        });
        let config_maps = self.config_maps.all().map(|(config_map, doomed)| {
            let mut view = ConfigMapView::of(config_map);
            view.deleting |= doomed;
            view
        });
        look(&Observed {
            job,
            pods: &pods,
            services: &services.collect::<Vec<_>>(),
            config_maps: &config_maps.collect::<Vec<_>>(),
        })
    }

    /// Sends the next request of its last plan; when none is left, looks.
    pub fn step(&mut self, cluster: &mut Cluster, now: Timestamp, fault: Fault) -> Done {
        match self.rest.pop_front() {
            Some(action) => {
                let result = self.carry_out(cluster, &action, now, fault);
                Done::Acted { action, result }
            }
            None => self.look(cluster, now, fault),
        }
    }

    fn look(&mut self, cluster: &mut Cluster, now: Timestamp, fault: Fault) -> Done {
        let Some(stored) = self.jobs.get(&self.name).cloned() else {
            return Done::Nothing;
        };
        self.look_for_pods(cluster);
        let mut debounce = self.debounce.take();
        let plan = self.ask(stored.job(), debounce.as_mut(), now);
        self.debounce = debounce;
        if let Some(wanted) = &plan.status {
            let only = Preconditions {
                uid: None,
                version: stored.metadata.resource_version.clone(),
            };
            let written = send(fault, || {
                cluster
                    .server
                    .update::<StoredJob>(&self.name, &only, Part::Status, |job| {
                        wanted.clone_into(job.status_mut());
                    })
            });
            match written {
                Ok(written) => self.jobs.write(&written),
                Err(error) => {
                    return Done::Looked {
                        plan: Box::new(plan),
                        status: Err(error),
                    };
                }
            }
        }
        let (first, others): (Vec<_>, Vec<_>) =
            plan.actions.iter().cloned().partition(Action::comes_first);
        self.rest = first.into_iter().chain(others).collect();
        self.planned_for = Some(stored);
        Done::Looked {
            plan: Box::new(plan),
            status: Ok(()),
        }
    }

    fn carry_out(
        &mut self,
        cluster: &mut Cluster,
        action: &Action,
        now: Timestamp,
        fault: Fault,
    ) -> Result<(), ApiError> {
        let Some(stored) = self.planned_for.clone() else {
            return Ok(());
        };
        let job = stored.job();
        let spec = job.spec.as_ref().ok();
        let wiring = spec.map(|spec| Wiring::new(job, spec, cluster.addresses.clone()));
        let result = send(fault, || cluster.act(job, wiring.as_ref(), action, now));
        let result = match result {
            Ok(made) => {
                self.note(action, made);
                Ok(true)
            }
            Err(ApiError::NotFound { .. } | ApiError::Conflict { .. }) => {
                self.note(action, Made::Nothing);
                Ok(true)
            }
            Err(ApiError::AlreadyExists { name, .. }) => {
                Ok(self.look_who_is_there(cluster, job, action, &name))
            }
            Err(error) => Err(error),
        };
        if action.comes_first() && !result.as_ref().is_ok_and(|done| *done) {
            self.rest
                .retain(|action| !matches!(action, Action::CreatePod(..)));
        }
        result.map(drop)
    }

    fn note(&mut self, action: &Action, made: Made) {
        match made {
            Made::Pod(pod) => self.pods.write(&pod),
            Made::Service(service) => self.services.write(&service),
            Made::ConfigMap(config_map) => self.config_maps.write(&config_map),
            Made::Nothing => match action {
                Action::DeletePod(target) => {
                    self.pods.doom(&target.name, &target.uid);
                    self.older_pods.doom(&target.name, &target.uid);
                }
                Action::DeleteService(target) => {
                    self.services.doom(&target.name, &target.uid);
                    self.older_services.doom(&target.name, &target.uid);
                }
                Action::DeleteConfigMap(target) => self.config_maps.doom(&target.name, &target.uid),
                _ => {}
            },
        }
    }

    /// The name is taken: by one of the job's own (true), or by somebody else.
    fn look_who_is_there(
        &mut self,
        cluster: &Cluster,
        job: &Job,
        action: &Action,
        name: &str,
    ) -> bool {
        let (table, name_of_job, server) = (self.table, self.name.as_str(), &cluster.server);
        let seen = |meta: &ObjectMeta| {
            let owner = labels::controller(meta).is_some_and(|one| one.uid == job.meta.uid);
            (is_ours(meta, table, name_of_job), owner)
        };
        match action {
            Action::CreatePod(..) => server.get::<Pod>(name).is_ok_and(|found| {
                let (watched, owned) = seen(&found.metadata);
                self.pods.meet(found, watched);
                watched || owned
            }),
            Action::CreateConfigMap => server.get::<ConfigMap>(name).is_ok_and(|found| {
                let (watched, owned) = seen(&found.metadata);
                self.config_maps.meet(found, watched);
                watched || owned
            }),
            _ => server.get::<Service>(name).is_ok_and(|found| {
                let (watched, owned) = seen(&found.metadata);
                self.services.meet(found, watched);
                watched || owned
            }),
        }
    }
}
