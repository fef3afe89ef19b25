//! What is known of the cluster: the caches, and objects of others under our names.

use std::collections::HashSet;
use std::sync::Arc;

use mxjob_core::conversion::Stored;
use mxjob_core::plan::{BatchView, ConfigMapView, Observed, PodView, ServiceView, Target};
use mxjob_core::role::Children;
use mxjob_core::{Job, RoleTable};
use tokio::time::Instant;

use super::key::JobKey;
use super::shelf::{Item, Shelf};
use super::stranger::{Id, Strangers};

/// A job as it was read, and the version it was read at.
#[derive(Clone, Debug)]
pub(super) struct StoredJob {
    pub(super) job: Arc<Job>,
    /// How it is written.
    pub(super) form: Stored,
    /// `metadata.resourceVersion`.
    pub(super) version: String,
    /// When it was read.
    pub(super) seen: Instant,
}

/// Every version of a job is news.
impl PartialEq for StoredJob {
    fn eq(&self, other: &Self) -> bool {
        self.version == other.version
    }
}

impl Item for StoredJob {
    const STAYS: bool = true;

    fn uid(&self) -> &str {
        &self.job.meta.uid
    }

    fn doomed(mut self) -> Self {
        Arc::make_mut(&mut self.job).meta.deleting = true;
        self
    }

    fn after(self, before: &Self) -> Self {
        let job = Arc::unwrap_or_clone(self.job).after(&before.job);
        Self {
            job: Arc::new(job),
            ..self
        }
    }
}

impl Item for PodView {
    fn uid(&self) -> &str {
        &self.uid
    }

    fn doomed(mut self) -> Self {
        self.deleting = true;
        self
    }
}

impl Item for BatchView {
    fn uid(&self) -> &str {
        self.uid()
    }

    fn doomed(self) -> Self {
        self.doomed()
    }
}

impl Item for ServiceView {
    fn uid(&self) -> &str {
        &self.uid
    }

    fn doomed(mut self) -> Self {
        self.deleting = true;
        self
    }
}

impl Item for ConfigMapView {
    fn uid(&self) -> &str {
        &self.uid
    }

    fn doomed(mut self) -> Self {
        self.deleting = true;
        self
    }
}

/// Everything about one job, for one look at it.
#[derive(Debug)]
pub(super) struct Snapshot {
    pub(super) stored: StoredJob,
    pub(super) pods: Vec<PodView>,
    pub(super) services: Vec<ServiceView>,
    pub(super) config_maps: Vec<ConfigMapView>,
    /// As that of the [`Scope`].
    pub(super) keeps_statuses: bool,
}

impl Snapshot {
    /// For the planner.
    pub(super) fn observed(&self) -> Observed<'_> {
        Observed {
            job: &self.stored.job,
            pods: &self.pods,
            services: &self.services,
            config_maps: &self.config_maps,
        }
    }
}

/// What is watched of an API in one namespace, or in all.
#[derive(Debug)]
pub(super) struct Scope {
    table: &'static RoleTable,
    namespace: Option<String>,
    /// The server has said that there is no such resource.
    absent: bool,
    /// The last status that was written was kept as it was.
    pub(super) keeps_statuses: bool,
    pub(super) jobs: Shelf<StoredJob>,
    pub(super) pods: Shelf<PodView>,
    /// The Jobs that are replicas, where they are such.
    pub(super) batch: Shelf<BatchView>,
    pub(super) services: Shelf<ServiceView>,
    pub(super) config_maps: Shelf<ConfigMapView>,
    /// Those that an older operator made and that have not got this one's labels.
    pub(super) older_pods: Shelf<PodView>,
    /// The same of services.
    pub(super) older_services: Shelf<ServiceView>,
}

impl Scope {
    /// What stands for the job's replicas.
    fn children(&self, job: &JobKey) -> Vec<PodView> {
        let pods: Vec<_> = self.pods.of(job).collect();
        match self.table.children() {
            Children::Jobs => BatchView::join(self.batch.of(job), &pods),
            _ => pods,
        }
    }

    /// Every list has been complete at least once.
    fn is_synced(&self) -> bool {
        let had_older = self.table.mark().is_some();
        self.jobs.is_synced()
            && self.pods.is_synced()
            && (self.table.children() != Children::Jobs || self.batch.is_synced())
            && self.services.is_synced()
            && self.config_maps.is_synced()
            && (!had_older || (self.older_pods.is_synced() && self.older_services.is_synced()))
    }

    /// Its API is not there, nor was before.
    fn is_absent(&self) -> bool {
        self.absent && !self.jobs.is_synced()
    }
}

/// What is known of the cluster.
#[derive(Debug)]
pub(super) struct World {
    scopes: Vec<Scope>,
    pub(super) strangers: Strangers,
}

impl World {
    /// Nothing known yet of these APIs in these namespaces; none: in all.
    pub(super) fn new(apis: &[&'static RoleTable], namespaces: &[String]) -> Self {
        let scope = |table: &'static RoleTable, namespace: Option<&String>| Scope {
            table,
            namespace: namespace.cloned(),
            absent: false,
            keeps_statuses: false,
            jobs: Shelf::default(),
            pods: Shelf::default(),
            batch: Shelf::default(),
            services: Shelf::default(),
            config_maps: Shelf::default(),
            older_pods: Shelf::default(),
            older_services: Shelf::default(),
        };
        // An environment variable that is set to nothing means none.
        let distinct: HashSet<&String> =
            namespaces.iter().filter(|name| !name.is_empty()).collect();
        let everywhere = distinct.is_empty().then_some(None);
        let within: Vec<_> = distinct.into_iter().map(Some).chain(everywhere).collect();
        let of = |table: &&'static RoleTable| {
            let table = *table;
            within.iter().map(move |name| scope(table, *name))
        };
        Self {
            scopes: apis.iter().flat_map(of).collect(),
            strangers: Strangers::default(),
        }
    }

    /// The APIs that are watched, and in which namespaces; `None`: in all.
    pub(super) fn watched(&self) -> Vec<(&'static RoleTable, Option<String>)> {
        self.scopes
            .iter()
            .map(|scope| (scope.table, scope.namespace.clone()))
            .collect()
    }

    /// Where the job is.
    pub(super) fn scope(&mut self, key: &JobKey) -> Option<&mut Scope> {
        self.scope_of(key.table(), Some(&key.namespace))
    }

    /// What is known of that API in that namespace.
    pub(super) fn scope_of(
        &mut self,
        table: &RoleTable,
        namespace: Option<&str>,
    ) -> Option<&mut Scope> {
        self.scopes.iter_mut().find(|scope| {
            let own = scope.namespace.as_deref();
            scope.table.crd.group == table.crd.group && own.is_none_or(|own| Some(own) == namespace)
        })
    }

    /// The server does not know that API: nothing of it is waited for until it does. Whether that is
    /// news.
    pub(super) fn lacks(&mut self, table: &RoleTable) -> bool {
        let scopes = self.scopes.iter_mut();
        let mut is_news = false;
        for scope in scopes.filter(|scope| scope.table.crd.group == table.crd.group) {
            is_news |= !std::mem::replace(&mut scope.absent, true);
        }
        is_news
    }

    /// There is an API, and every list of those that are there has been complete at least once.
    pub(super) fn is_synced(&self) -> bool {
        let mut here = self.scopes.iter().filter(|scope| !scope.is_absent());
        here.clone().next().is_some() && here.all(Scope::is_synced)
    }

    /// Everything about the job is known.
    pub(super) fn is_known(&mut self, key: &JobKey) -> bool {
        self.scope(key).is_some_and(|scope| scope.is_synced())
    }

    /// Every job.
    pub(super) fn jobs(&self) -> impl Iterator<Item = &Job> {
        let stored = self.scopes.iter().flat_map(|scope| scope.jobs.all());
        stored.map(|stored| &*stored.job)
    }

    /// The job as it is known now; `None`: there is no such job.
    pub(super) fn job(&mut self, key: &JobKey) -> Option<Arc<Job>> {
        let stored = self.scope(key)?.jobs.of(key).next()?;
        Some(stored.job)
    }

    /// Everything about a job; `None`: there is no such job.
    pub(super) fn snapshot(&mut self, key: &JobKey) -> Option<Snapshot> {
        let scope = self.scope(key)?;
        let stored = scope.jobs.of(key).next()?;
        let keeps_statuses = scope.keeps_statuses;
        let mut pods = scope.children(key);
        join(&mut pods, scope.older_pods.of(key));
        let mut services: Vec<_> = scope.services.of(key).collect();
        join(&mut services, scope.older_services.of(key));
        let mut config_maps: Vec<_> = scope.config_maps.of(key).collect();
        self.strangers
            .add_to(key, &mut pods, &mut services, &mut config_maps);
        Some(Snapshot {
            stored,
            pods,
            services,
            config_maps,
            keeps_statuses,
        })
    }

    /// The deletion of a pod was answered.
    pub(super) fn doom_pod(&mut self, job: &JobKey, pod: &Target) {
        self.strangers.look_soon(job, &Id::Pod(pod.name.clone()));
        if let Some(scope) = self.scope(job) {
            scope.pods.doom(job, &pod.name, &pod.uid);
            scope.older_pods.doom(job, &pod.name, &pod.uid);
            scope.batch.doom(job, &pod.name, &pod.uid);
        }
    }

    /// The deletion of a service was answered.
    pub(super) fn doom_service(&mut self, job: &JobKey, service: &Target) {
        self.strangers
            .look_soon(job, &Id::Service(service.name.clone()));
        if let Some(scope) = self.scope(job) {
            scope.services.doom(job, &service.name, &service.uid);
            scope.older_services.doom(job, &service.name, &service.uid);
        }
    }

    /// Forgets what was written and never confirmed; returns the jobs to look at again.
    pub(super) fn expire(&mut self, now: Instant) -> HashSet<JobKey> {
        let mut jobs = HashSet::new();
        for scope in &mut self.scopes {
            jobs.extend(scope.jobs.expire(now));
            jobs.extend(scope.pods.expire(now));
            jobs.extend(scope.batch.expire(now));
            jobs.extend(scope.services.expire(now));
            jobs.extend(scope.config_maps.expire(now));
            jobs.extend(scope.older_pods.expire(now));
            jobs.extend(scope.older_services.expire(now));
        }
        jobs
    }
}

/// Adds what only the watch of an older operator's objects shows. What has got its labels is there
/// twice until both watches have said so.
fn join<V: Item>(known: &mut Vec<V>, older: impl Iterator<Item = V>) {
    let older: Vec<V> = older.collect();
    if older.is_empty() {
        return;
    }
    let uids: HashSet<String> = known.iter().map(|one| one.uid().to_owned()).collect();
    known.extend(older.into_iter().filter(|one| !uids.contains(one.uid())));
}
