//! An operator with caches of its own that lag behind, of a job whose replicas are Jobs.

use std::collections::BTreeSet;

use k8s_openapi::api::batch::v1::Job as BatchJob;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use mxjob_core::Job;
use mxjob_core::k8s_openapi;
use mxjob_core::plan::{
    Action, BatchView, Debounce, Observed, Plan, PodView, ServiceView, Target, plan,
};
use mxjob_core::wiring::{self, Addresses, Wiring, labels};

use super::server::{All, Server, is_deleting, is_over, name, uid};

/// What of the cluster is watched.
#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
    Job,
    Batch,
    Pods,
    Services,
}

pub(super) struct Operator {
    job: Job,
    version: u64,
    batch: All<BatchJob>,
    pods: All<Pod>,
    services: All<k8s_openapi::api::core::v1::Service>,
    /// Names of Jobs that were met and that no watch shows.
    strangers: BTreeSet<String>,
    rest: Vec<Action>,
}

const MARK: &str = "mxnet.mlkube.io";

/// Its watches show it.
fn is_watched(meta: &ObjectMeta) -> bool {
    meta.labels
        .as_ref()
        .is_some_and(|labels| labels.contains_key(MARK))
}

fn watched<T: Clone>(all: &All<T>, meta: impl Fn(&T) -> &ObjectMeta) -> All<T> {
    let shown = all.iter().filter(|(_, one)| is_watched(meta(one)));
    shown
        .map(|(name, one)| (name.clone(), one.clone()))
        .collect()
}

impl Operator {
    /// One that lists everything.
    pub(super) fn new(server: &Server) -> Self {
        let mut operator = Self {
            job: server.job.clone(),
            version: server.version,
            batch: All::new(),
            pods: All::new(),
            services: All::new(),
            strangers: BTreeSet::new(),
            rest: Vec::new(),
        };
        operator.hear_all(server);
        operator
    }

    pub(super) fn hear_all(&mut self, server: &Server) {
        for kind in [Kind::Job, Kind::Batch, Kind::Pods, Kind::Services] {
            self.hear(server, kind);
        }
    }

    pub(super) fn hear(&mut self, server: &Server, kind: Kind) {
        match kind {
            Kind::Job => (self.job, self.version) = (server.job.clone(), server.version),
            Kind::Batch => self.batch = watched(&server.batch, |one| &one.metadata),
            Kind::Pods => self.pods = watched(&server.pods, |one| &one.metadata),
            Kind::Services => self.services = watched(&server.services, |one| &one.metadata),
        }
    }

    fn observe<R>(&self, found: &[PodView], look: impl FnOnce(&Observed<'_>) -> R) -> R {
        let table = self.job.table;
        let pods: Vec<_> = self
            .pods
            .values()
            .map(|pod| PodView::of(pod, table))
            .collect();
        let batch = self.batch.values().map(|one| BatchView::of(one, table));
        let mut pods = BatchView::join(batch, &pods);
        for one in found {
            if !pods
                .iter()
                .any(|pod| pod.name == one.name && !pod.left_over)
            {
                pods.push(one.clone());
            }
        }
        let services = self.services.values();
        let services: Vec<_> = services.map(|one| ServiceView::of(one, table)).collect();
        look(&Observed {
            job: &self.job,
            pods: &pods,
            services: &services,
            config_maps: &[],
        })
    }

    /// What it would do now.
    pub(super) fn plan(&mut self, server: &Server) -> Plan {
        let table = self.job.table;
        let read = |name: &String| {
            let job = server.batch.get(name)?;
            Some((BatchView::of(job, table).alone(), is_watched(&job.metadata)))
        };
        self.strangers
            .retain(|name| read(name).is_some_and(|(_, watched)| !watched));
        let mut found: Vec<_> = self
            .strangers
            .iter()
            .filter_map(|name| Some(read(name)?.0))
            .collect();
        let missing = self.observe(&found, |seen| Debounce::default().missing(seen));
        for name in missing.names {
            if let Some((view, watched)) = read(&name) {
                found.push(view);
                if !watched {
                    self.strangers.insert(name);
                }
            }
        }
        self.observe(&found, |seen| plan(seen, server.now))
    }

    pub(super) fn is_busy(&self) -> bool {
        !self.rest.is_empty()
    }

    /// Sends the next request of its last plan; when none is left, looks. The action that was carried out.
    pub(super) fn step(&mut self, server: &mut Server) -> Option<Action> {
        if self.rest.is_empty() {
            let plan = self.plan(server);
            if let Some(status) = plan.status {
                if self.version != server.version {
                    return None;
                }
                server.job.status = status;
                server.version += 1;
                self.hear(server, Kind::Job);
            }
            let (first, others): (Vec<_>, Vec<_>) =
                plan.actions.into_iter().partition(Action::comes_first);
            self.rest = others
                .into_iter()
                .rev()
                .chain(first.into_iter().rev())
                .collect();
            return None;
        }
        let action = self.rest.pop()?;
        // Whoever pauses the job or asks for its end is heard.
        let job = self.job.clone();
        self.act(server, &job, &action);
        Some(action)
    }

    /// The same, without an answer.
    pub(super) fn step_unheard(&mut self, server: &mut Server) -> Option<Action> {
        let known = (self.batch.clone(), self.pods.clone(), self.services.clone());
        let job = (self.job.clone(), self.version);
        let action = self.step(server);
        (self.batch, self.pods, self.services) = known;
        (self.job, self.version) = job;
        if action.is_none() {
            // It knows of no plan that it may carry out.
            self.rest.clear();
        }
        action
    }

    fn act(&mut self, server: &mut Server, job: &Job, action: &Action) {
        let wiring = Wiring::new(job, job.spec.as_ref().unwrap(), Addresses::Cluster);
        match action {
            Action::CreatePod(replica, attempt) => {
                let mut child = wiring.batch_job(*replica, *attempt).unwrap();
                let name = name(&child.metadata);
                if let Some(there) = server.batch.get(&name) {
                    if is_watched(&there.metadata) {
                        self.batch.insert(name, there.clone());
                    } else {
                        self.strangers.insert(name);
                    }
                    return;
                }
                server.stamp(&mut child.metadata);
                server.batch.insert(name.clone(), child.clone());
                self.batch.insert(name, child);
            }
            Action::CreateService(replica) => {
                let mut service = wiring.service(*replica).unwrap();
                let name = name(&service.metadata);
                if !server.services.contains_key(&name) {
                    server.stamp(&mut service.metadata);
                    server.services.insert(name.clone(), service);
                }
                self.services
                    .insert(name.clone(), server.services[&name].clone());
            }
            Action::LabelPod(replica, target) | Action::AdoptPod(replica, target) => {
                let like = wiring
                    .batch_job(*replica, mxjob_core::job::Attempt::default())
                    .unwrap();
                let adopts = matches!(action, Action::AdoptPod(..));
                let Some(child) = own(&mut server.batch, target, |one| &one.metadata) else {
                    return;
                };
                mark(&mut child.metadata, &like.metadata, adopts.then_some(job));
                self.batch.insert(target.name.clone(), child.clone());
            }
            Action::AdoptService(replica, target) => {
                let like = wiring.service(*replica).unwrap();
                let Some(service) = own(&mut server.services, target, |one| &one.metadata) else {
                    return;
                };
                mark(&mut service.metadata, &like.metadata, Some(job));
                self.services.insert(target.name.clone(), service.clone());
            }
            Action::LabelPodOfJob(replica, target) => {
                let like = wiring
                    .batch_job(*replica, mxjob_core::job::Attempt::default())
                    .unwrap();
                for (name, pod) in &mut server.pods {
                    let owner = labels::controller(&pod.metadata).map(|owner| owner.uid.clone());
                    if owner.as_ref() == Some(&target.uid)
                        && !is_deleting(&pod.metadata)
                        && !is_over(pod)
                    {
                        mark(&mut pod.metadata, &like.metadata, None);
                        self.pods.insert(name.clone(), pod.clone());
                    }
                }
            }
            Action::StopPod(target) => {
                let Some(child) = own(&mut server.batch, target, |one| &one.metadata) else {
                    return;
                };
                child.spec.as_mut().unwrap().suspend = Some(true);
                self.batch.insert(target.name.clone(), child.clone());
            }
            Action::DeletePod(target) => {
                if own(&mut server.batch, target, |one| &one.metadata).is_some() {
                    server.delete_job(&target.name);
                    let there = server.batch[&target.name].clone();
                    if is_watched(&there.metadata) {
                        self.batch.insert(target.name.clone(), there);
                    }
                }
            }
            Action::DeleteService(target) => {
                if own(&mut server.services, target, |one| &one.metadata).is_some() {
                    server.services.remove(&target.name);
                }
                self.services.remove(&target.name);
            }
            other => panic!("{other:?}"),
        }
    }
}

fn own<'a, T>(
    all: &'a mut All<T>,
    target: &Target,
    meta: impl Fn(&T) -> &ObjectMeta,
) -> Option<&'a mut T> {
    let found = all.get_mut(&target.name)?;
    (uid(meta(found)) == target.uid).then_some(found)
}

fn mark(meta: &mut ObjectMeta, like: &ObjectMeta, owner: Option<&Job>) {
    let labels = like.labels.clone().unwrap_or_default();
    meta.labels.get_or_insert_default().extend(labels);
    if let Some(job) = owner.filter(|_| labels::controller(meta).is_none()) {
        meta.owner_references = Some(vec![wiring::owner(job)]);
    }
}
