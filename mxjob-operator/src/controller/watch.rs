//! Follows jobs, pods, `batch/v1` Jobs where replicas are such, services and ConfigMaps, and says which jobs to look at.

use std::collections::HashSet;
use std::fmt::Debug;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::batch::v1::Job as BatchJob;
use k8s_openapi::api::core::v1::{ConfigMap, Pod, Service};
use kube::api::ResourceExt as _;
use kube::runtime::watcher::{self, Config, Event};
use kube::{Api, Client, Resource};
use mxjob_core::RoleTable;
use mxjob_core::conversion::Stored;
use mxjob_core::plan::{BatchView, ConfigMapView, PodView, ServiceView};
use mxjob_core::role::{Children, Legacy};
use mxjob_core::wiring::labels;
use serde::de::DeserializeOwned;
use tokio::time::Instant;

use super::key::JobKey;
use super::raw::{self, RawJob};
use super::shared::Shared;
use super::shelf::{Item, Shelf, Version};
use super::words::watch_failure;
use super::world::{Scope, StoredJob};
use super::{backoff, crd};

/// Between attempts to watch again. The CustomResourceDefinition may come any moment.
const LONGEST_WAIT: Duration = Duration::from_secs(10);

/// Objects a page of a list: what is read at once is what memory has to hold at once.
const PAGE: u32 = 100;

/// One kind of object, in one namespace or all.
struct Follower<V> {
    shared: Arc<Shared>,
    table: &'static RoleTable,
    namespace: Option<String>,
    plural: &'static str,
    shelf: fn(&mut Scope) -> &mut Shelf<V>,
}

/// How an object of kind `K` is cached.
struct View<K, V> {
    /// The job that it belongs to; `None`: to none.
    job: fn(&'static RoleTable, &K) -> Option<JobKey>,
    item: fn(&'static RoleTable, &K) -> V,
}

const POD: View<Pod, PodView> = View {
    job: jobs_own::<Pod>,
    item: pod,
};
const SERVICE: View<Service, ServiceView> = View {
    job: jobs_own::<Service>,
    item: |table, service| ServiceView::of(service, table),
};

/// Starts to follow everything, in tasks of their own.
pub(super) fn start(client: &Client, shared: &Arc<Shared>) {
    let all = Config::default().page_size(PAGE);
    let watched = shared.world().watched();
    for (table, namespace) in watched {
        let within = namespace.as_deref();
        let operator = (labels::OPERATOR, table.operator());
        let ours = all
            .clone()
            .labels(&format!("{}={}", operator.0, operator.1));
        if let Some(mark) = table.mark() {
            let older = format!("{mark}=,{}!={}", operator.0, operator.1);
            follow_older(client, shared, table, within, &all.clone().labels(&older));
        }
        let children =
            batch_mark(table).map_or_else(|| ours.clone(), |mark| all.clone().labels(mark));
        let jobs = Follower::new(shared, table, within, table.crd.plural, |scope| {
            &mut scope.jobs
        });
        let pods = Follower::new(shared, table, within, "pods", |scope| &mut scope.pods);
        let services = Follower::new(shared, table, within, "services", |scope| {
            &mut scope.services
        });
        let config_maps = Follower::new(shared, table, within, "configmaps", |scope| {
            &mut scope.config_maps
        });
        let job_view = View {
            job: itself,
            item: stored,
        };
        let config_map_view = View {
            job: jobs_own::<ConfigMap>,
            item: |_, config_map| ConfigMapView::of(config_map),
        };
        tokio::spawn(jobs.follow(raw::jobs(client, table, within), all.clone(), job_view));
        if table.children() == Children::Jobs {
            let batch = Follower::new(shared, table, within, "jobs", |scope| &mut scope.batch);
            let view = View {
                job: jobs_own::<BatchJob>,
                item: |table, job| BatchView::of(job, table),
            };
            tokio::spawn(batch.follow(objects(client, within), children.clone(), view));
        }
        tokio::spawn(pods.follow(objects(client, within), children.clone(), POD));
        tokio::spawn(services.follow(objects(client, within), children, SERVICE));
        tokio::spawn(config_maps.follow(objects(client, within), ours.clone(), config_map_view));
    }
}

/// The label by which replicas' objects are watched that may be an older operator's, whose pods are
/// those of its Jobs; `None`: they are this operator's own.
fn batch_mark(table: &RoleTable) -> Option<&'static str> {
    let legacy = table.crd.legacy;
    let legacy = legacy.filter(|_| table.children() == Children::Jobs);
    legacy.and_then(Legacy::mark)
}

/// Follows what an older operator has made, until it has this one's labels.
fn follow_older(
    client: &Client,
    shared: &Arc<Shared>,
    table: &'static RoleTable,
    within: Option<&str>,
    older: &Config,
) {
    let pods = Follower::new(shared, table, within, "older pods", |scope| {
        &mut scope.older_pods
    });
    let services = Follower::new(shared, table, within, "older services", |scope| {
        &mut scope.older_services
    });
    tokio::spawn(pods.follow(objects(client, within), older.clone(), POD));
    tokio::spawn(services.follow(objects(client, within), older.clone(), SERVICE));
}

fn objects<K>(client: &Client, namespace: Option<&str>) -> Api<K>
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope>,
{
    match namespace {
        Some(namespace) => Api::namespaced(client.clone(), namespace),
        None => Api::all(client.clone()),
    }
}

fn itself(table: &'static RoleTable, job: &RawJob) -> Option<JobKey> {
    Some(JobKey::new(table, &job.namespace()?, &job.name_any()))
}

fn jobs_own<K: Resource>(table: &'static RoleTable, object: &K) -> Option<JobKey> {
    let job = labels::job(object.meta(), table)?;
    Some(JobKey::new(table, &object.namespace()?, job))
}

/// Whether the object is the job's by its owner, or by its labels if nobody owns it.
pub(super) fn is_of<K: Resource>(job: &JobKey, object: &K) -> bool {
    jobs_own(job.table(), object).as_ref() == Some(job)
}

/// Whether the watch shows the object as one of the job's, whoever owns it.
pub(super) fn is_watched<K: Resource>(job: &JobKey, object: &K) -> bool {
    let operator = object.labels().get(labels::OPERATOR);
    operator.is_some_and(|found| *found == job.table().operator()) && is_of(job, object)
}

/// Whether the watch of what stands for replicas shows the object as one of the job's.
pub(super) fn shows<K: Resource>(job: &JobKey, object: &K) -> bool {
    let table = job.table();
    match batch_mark(table) {
        Some(mark) => object.labels().contains_key(mark) && is_of(job, object),
        None => is_watched(job, object),
    }
}

/// How a job is cached.
pub(super) fn stored(table: &'static RoleTable, job: &RawJob) -> StoredJob {
    let (read, form) = Stored::read(table, &job.object);
    StoredJob {
        job: Arc::new(read),
        form,
        version: job.resource_version().unwrap_or_default(),
        seen: Instant::now(),
    }
}

/// How a pod is cached: with the container that its role's work runs in.
pub(super) fn pod(table: &'static RoleTable, pod: &Pod) -> PodView {
    PodView::of(pod, table)
}

impl<V: Item + Send + 'static> Follower<V> {
    fn new(
        shared: &Arc<Shared>,
        table: &'static RoleTable,
        namespace: Option<&str>,
        plural: &'static str,
        shelf: fn(&mut Scope) -> &mut Shelf<V>,
    ) -> Self {
        Self {
            shared: shared.clone(),
            table,
            namespace: namespace.map(str::to_owned),
            plural,
            shelf,
        }
    }

    async fn follow<K>(self, api: Api<K>, config: Config, view: View<K, V>)
    where
        K: Resource + Clone + DeserializeOwned + Debug + Send + Sync + 'static,
    {
        let mut events = pin!(watcher::watcher(api, config));
        let mut failures = 0;
        while let Some(event) = events.next().await {
            match event {
                Ok(event) => {
                    if failures > 0 && !matches!(event, Event::Init | Event::InitApply(_)) {
                        tracing::info!(resource = self.plural, "watching again");
                        failures = 0;
                    }
                    self.learn(event, &view);
                }
                Err(error) => {
                    failures += 1;
                    self.complain(&error, failures);
                    tokio::time::sleep(backoff::wait(failures).min(LONGEST_WAIT)).await;
                }
            }
        }
    }

    fn learn<K: Resource>(&self, event: Event<K>, view: &View<K, V>) {
        let mut world = self.shared.world();
        let Some(scope) = world.scope_of(self.table, self.namespace.as_deref()) else {
            return;
        };
        let known = (self.shelf)(scope);
        let changed: HashSet<JobKey> = match event {
            Event::Init => {
                known.begin();
                HashSet::new()
            }
            Event::InitApply(object) => {
                if let Some(job) = (view.job)(self.table, &object) {
                    known.offer(
                        job,
                        object.name_any(),
                        (view.item)(self.table, &object),
                        version(&object),
                    );
                }
                HashSet::new()
            }
            Event::InitDone => known.finish(),
            Event::Apply(object) => (view.job)(self.table, &object)
                .filter(|job| {
                    let (name, version) = (object.name_any(), version(&object));
                    // Reading a job is dear, and our own writes come back here.
                    !known.confirm(job, &name, version)
                        && known.apply(job.clone(), name, (view.item)(self.table, &object), version)
                })
                .into_iter()
                .collect(),
            Event::Delete(object) => (view.job)(self.table, &object)
                .filter(|job| {
                    let uid = object.uid().unwrap_or_default();
                    known.remove(job, &object.name_any(), &uid, version(&object))
                })
                .into_iter()
                .collect(),
        };
        drop(world);
        self.shared.push(&changed);
    }

    /// Says once what is wrong until it is right again.
    fn complain(&self, error: &watcher::Error, failures: u32) {
        let missing = matches!(
            error,
            watcher::Error::InitialListFailed(kube::Error::Api(status))
            | watcher::Error::WatchStartFailed(kube::Error::Api(status)) if status.code == 404
        );
        let expired = matches!(error, watcher::Error::WatchError(status) if status.code == 410);
        if missing {
            let is_news = self.shared.world().lacks(self.table);
            if is_news || failures == 1 {
                tracing::error!("{}", crd::missing(self.table));
            }
            if is_news {
                // Those of the other APIs may have waited for this one.
                self.shared.push([]);
            }
        } else if expired && failures == 1 {
            tracing::info!(
                resource = self.plural,
                "the watch was too old, listing anew"
            );
        } else if failures > 1 {
            tracing::debug!(resource = self.plural, %error, failures, "cannot watch");
        } else {
            let error = watch_failure(error);
            tracing::warn!(resource = self.plural, %error, "cannot watch, trying again");
        }
    }
}

fn version<K: Resource>(object: &K) -> Version {
    Version::of(object.meta().resource_version.as_deref())
}

#[cfg(test)]
mod tests {
    use kube::core::Status;
    use mxjob_core::role::apis;
    use mxjob_core::{MxRole, ReplicaRole as _};

    use super::*;
    use crate::controller::world::World;

    // contract: 12.24
    #[test]
    fn an_api_that_is_not_there_is_not_waited_for_whatever_failed_before() {
        let tables: Vec<_> = apis::<MxRole>().take(2).collect();
        let shared = Arc::new(Shared::new(World::new(&tables, &[])));
        let older = tables.last().copied().unwrap();
        let follower = Follower::new(&shared, older, None, "mxjobs", |scope| &mut scope.jobs);
        let failed = |code| {
            let status = Status::failure("no", "Unknown").with_code(code);
            watcher::Error::InitialListFailed(kube::Error::Api(status.boxed()))
        };
        {
            let mut world = shared.world();
            let scope = world.scope_of(MxRole::TABLE, None).unwrap();
            scope.jobs.begin();
            scope.jobs.finish();
            scope.pods.begin();
            scope.pods.finish();
            scope.services.begin();
            scope.services.finish();
            scope.config_maps.begin();
            scope.config_maps.finish();
            scope.older_pods.begin();
            scope.older_pods.finish();
            scope.older_services.begin();
            scope.older_services.finish();
        }
        follower.complain(&failed(503), 1);
        assert!(!shared.world().is_synced());
        follower.complain(&failed(404), 2);
        assert!(shared.world().is_synced());
    }
}
