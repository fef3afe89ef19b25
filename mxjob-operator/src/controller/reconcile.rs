//! One look at one job: take what is known, ask the planner, do what it says.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{ConfigMap, Service};
use kube::api::ResourceExt as _;
use mxjob_core::accelerators::Accelerators;
use mxjob_core::api::v1::ConditionType;
use mxjob_core::plan::{Action, ConfigMapView, Missing, Plan, PodView, ServiceView, Start};
use tokio::time::Instant;

use super::cluster::{Cluster, Refusal};
use super::execute::{self, Tally};
use super::key::JobKey;
use super::metrics::Metrics;
use super::recorder::Recorder;
use super::shared::Shared;
use super::shelf::Version;
use super::stop::Stop;
use super::stranger::{Id, Stranger};
use super::unsaid::Unsaid;
use super::watch;
use super::world::{Snapshot, World};

/// The clock may be set meanwhile, so a long wait is made of shorter ones.
const LONGEST_SLEEP: Duration = Duration::from_mins(1);

/// Why a job is stalled while somebody else has a name of its.
const NAME_TAKEN: &str = "NameTaken";

/// Everything that a worker needs.
#[derive(Clone)]
pub(super) struct Operator {
    pub(super) cluster: Cluster,
    pub(super) shared: Arc<Shared>,
    pub(super) recorder: Recorder,
    pub(super) metrics: Metrics,
    pub(super) accelerators: Arc<Accelerators>,
    pub(super) stop: Stop,
}

/// When a job is to be looked at again, although nothing happens to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// Never.
    Rest,
    /// Then.
    At(Instant),
    /// At once, behind the others.
    More,
    /// After a wait that grows with every failure in a row, but then at the latest.
    Retry(Option<Instant>),
}

impl Operator {
    /// Looks at a job once.
    pub(super) async fn reconcile(&self, key: &JobKey) -> Next {
        let start = Instant::now();
        let next = self.look(key).await;
        self.metrics.reconciled(start.elapsed());
        next
    }

    async fn look(&self, key: &JobKey) -> Next {
        // Its API may have come after the others.
        if !self.shared.world().is_known(key) {
            return Next::Retry(None);
        }
        let mut unsaid = self.shared.unsaid().take(key);
        self.look_at_strangers(key, &mut unsaid).await;
        self.look_at_late_job(key, &mut unsaid).await;
        self.meet_again(key, &mut unsaid).await;
        let snapshot = self.shared.world().snapshot(key);
        let Some(snapshot) = snapshot else {
            self.metrics.look(key, None, Instant::now());
            self.shared.world().strangers.forget(key);
            return Next::Rest;
        };
        let stored = &snapshot.stored;
        self.metrics.look(key, Some(&stored.job), stored.seen);
        let next = self.carry_on(key, snapshot, &mut unsaid).await;
        self.shared.unsaid().keep(key, unsaid);
        next
    }

    /// Reads the job if its watch has been silent since we wrote it: it may be gone, or the watch.
    async fn look_at_late_job(&self, key: &JobKey, unsaid: &mut Unsaid) {
        let now = Instant::now();
        let late = |world: &mut World| {
            let scope = world.scope(key);
            scope.is_some_and(|scope| scope.jobs.is_late(key, &key.name, now))
        };
        if !late(&mut self.shared.world()) {
            return;
        }
        match self.cluster.read_job(key).await {
            Ok(found) => {
                let found = found.map(|job| {
                    let stored = watch::stored(key.table(), &job);
                    let version = Version::of(Some(&stored.version));
                    (stored, version)
                });
                if let Some(scope) = self.shared.world().scope(key) {
                    scope.jobs.found(key, &key.name, found);
                }
            }
            Err(error) => {
                if unsaid.is_news(&error) {
                    tracing::warn!(namespace = %key.namespace, job = %key.name, %error, "cannot look whether the job is still there");
                }
            }
        }
    }

    async fn carry_on(&self, key: &JobKey, snapshot: Snapshot, unsaid: &mut Unsaid) -> Next {
        let stored = snapshot.stored.clone();
        let job = &stored.job;
        for event in unsaid.settle(&stored.version, &job.status) {
            self.recorder.tell(job, event);
        }
        if let Some(next) = self.store_defaults(key, &stored, unsaid).await {
            return next;
        }
        let missing = unsaid.debounce.missing(&snapshot.observed());
        let Some(snapshot) = self.look_for(key, snapshot, missing, unsaid).await else {
            return Next::Retry(None);
        };
        let trusted = snapshot.keeps_statuses && !unsaid.is_refused();
        unsaid.debounce.trust(trusted);
        let plan = unsaid.debounce.plan(&snapshot.observed(), Timestamp::now());
        if let Some(next) = self.write_status(key, &stored, &plan, unsaid).await {
            return next;
        }
        let tally = execute::execute(self, key, job, &plan.actions, unsaid).await;
        self.note_start(key, tally);
        if tally.is_wave_over() {
            for event in unsaid.wave.end() {
                self.recorder.tell(job, event);
            }
        }
        if tally.failed == 0 && (tally.done > 0 || plan.status.is_some()) {
            unsaid.is_well();
        }
        plan.events
            .iter()
            .for_each(|event| self.recorder.tell(job, event.clone()));
        self.next(key, &plan, tally)
    }

    /// The snapshot with those pods of the job in it that are there and not watched; `None`: it could
    /// not be seen.
    async fn look_for(
        &self,
        key: &JobKey,
        mut snapshot: Snapshot,
        missing: Missing,
        unsaid: &mut Unsaid,
    ) -> Option<Snapshot> {
        match self.find(key, missing, &mut snapshot.pods).await {
            Ok(()) => Some(snapshot),
            Err(refusal) => {
                if unsaid.is_news(&refusal) {
                    tracing::warn!(namespace = %key.namespace, job = %key.name, error = %refusal, "cannot look for its pods");
                }
                None
            }
        }
    }

    /// Adds those that are there to `known`.
    async fn find(
        &self,
        key: &JobKey,
        missing: Missing,
        known: &mut Vec<PodView>,
    ) -> Result<(), Refusal> {
        for name in missing.names {
            let Some(child) = self.read_child(key, &name).await? else {
                continue;
            };
            if !child.is_watched {
                let stranger = Stranger::Pod(Box::new(child.view.clone()));
                let mut world = self.shared.world();
                world.strangers.meet(key, stranger, Instant::now());
            }
            known.push(child.view);
        }
        if !missing.labels.is_empty() {
            for pod in self.older_pods(key, &missing.labels).await? {
                if known.iter().all(|one| one.name != pod.name) {
                    known.push(pod);
                }
            }
        }
        Ok(())
    }

    /// Notes whether every pod of a new job is there.
    fn note_start(&self, key: &JobKey, tally: Tally) {
        if tally.left > 0 || !self.metrics.is_starting(key) {
            return;
        }
        let snapshot = self.shared.world().snapshot(key);
        if let Some(snapshot) = snapshot {
            self.metrics.start(key, Start::of(&snapshot.observed()));
        }
    }

    fn next(&self, key: &JobKey, plan: &Plan, tally: Tally) -> Next {
        if tally.failed > 0 {
            return Next::Retry(self.timer(key, plan));
        }
        if plan.status.is_some() || tally.done > 0 || tally.left > 0 {
            return Next::More;
        }
        self.timer(key, plan).map_or(Next::Rest, Next::At)
    }

    /// When to look again although nothing happens: what the planner says, and strangers.
    fn timer(&self, key: &JobKey, plan: &Plan) -> Option<Instant> {
        let timer = plan.wake_at.map(|at| {
            let wait = Duration::try_from(at.duration_since(Timestamp::now())).unwrap_or_default();
            Instant::now() + wait.clamp(Duration::from_millis(1), LONGEST_SLEEP)
        });
        let stranger = self.shared.world().strangers.next_due(key);
        timer.into_iter().chain(stranger).min()
    }

    /// Meets those again that the status tells of and an earlier operator has met: what is not known
    /// to be taken would be tried, and the status written, twice.
    async fn meet_again(&self, key: &JobKey, unsaid: &mut Unsaid) {
        let ids: Vec<Id> = {
            let mut world = self.shared.world();
            if world.strangers.next_due(key).is_some() {
                return;
            }
            let Some(snapshot) = world.snapshot(key) else {
                return;
            };
            let job = &snapshot.stored.job;
            let stalled = job.status.condition(ConditionType::Stalled);
            if stalled.is_none_or(|one| one.reason.as_deref() != Some(NAME_TAKEN)) {
                return;
            }
            let plan = mxjob_core::plan::plan(&snapshot.observed(), Timestamp::now());
            // Pods are not tried while a name of what they need is taken.
            let first = plan.actions.iter().any(Action::comes_first);
            let tried = plan.actions.iter();
            let tried = tried.filter(|action| action.comes_first() == first);
            tried.filter_map(|action| Id::of(action, job)).collect()
        };
        for id in ids {
            match self.look_at_stranger(key, &id).await {
                Ok(Some(stranger)) => {
                    let mut world = self.shared.world();
                    world.strangers.meet(key, stranger, Instant::now());
                }
                Ok(None) => {}
                Err(error) => {
                    if unsaid.is_news(&error) {
                        tracing::warn!(namespace = %key.namespace, job = %key.name, %error, "cannot look at {id}");
                    }
                    return;
                }
            }
        }
    }

    /// Looks whether names that were taken are free now.
    async fn look_at_strangers(&self, key: &JobKey, unsaid: &mut Unsaid) {
        let due = self.shared.world().strangers.due(key, Instant::now());
        for id in due {
            let found = self.look_at_stranger(key, &id).await;
            let mut world = self.shared.world();
            match found {
                Ok(Some(stranger)) => world.strangers.meet(key, stranger, Instant::now()),
                Ok(None) => world.strangers.part(key, &id),
                Err(error) => {
                    if unsaid.is_news(&error) {
                        tracing::warn!(namespace = %key.namespace, job = %key.name, %error, "cannot look at {id}");
                    }
                    world.strangers.postpone(key, &id, Instant::now());
                }
            }
        }
    }

    /// Who has the name now, if the watch does not show it; `None`: nobody.
    async fn look_at_stranger(&self, key: &JobKey, id: &Id) -> Result<Option<Stranger>, Refusal> {
        let cluster = &self.cluster;
        Ok(match id {
            Id::Pod(name) => {
                let found = self.read_child(key, name).await?;
                let found = found.filter(|child| !child.is_watched);
                found.map(|child| Stranger::Pod(Box::new(child.view)))
            }
            Id::Service(name) => {
                let found = cluster.read::<Service>(key, name).await?;
                let found = found.filter(|service| !watch::shows(key, service));
                found.map(|service| Stranger::Service(ServiceView::of(&service, key.table())))
            }
            Id::ConfigMap(name) => {
                let found = cluster.read::<ConfigMap>(key, name).await?;
                let found = found.filter(|found| !watch::is_watched(key, found));
                found.map(|found| Stranger::ConfigMap(ConfigMapView::of(&found)))
            }
        })
    }

    /// Keeps what a create was answered with.
    pub(super) fn created_config_map(&self, key: &JobKey, config_map: &ConfigMap) {
        let version = Version::of(config_map.resource_version().as_deref());
        if let Some(scope) = self.shared.world().scope(key) {
            let view = ConfigMapView::of(config_map);
            scope
                .config_maps
                .write(key, &config_map.name_any(), view, version);
        }
    }

    /// Keeps what a create was answered with.
    pub(super) fn created_service(&self, key: &JobKey, service: &Service) {
        let version = Version::of(service.resource_version().as_deref());
        if let Some(scope) = self.shared.world().scope(key) {
            scope.services.write(
                key,
                &service.name_any(),
                ServiceView::of(service, key.table()),
                version,
            );
        }
    }
}
