//! One look at one job: take what is known, ask the planner, do what it says.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{ConfigMap, Pod, Service};
use kube::api::ResourceExt as _;
use mxjob_core::plan::{ConfigMapView, Event, Observed, Plan, ServiceView};
use mxjob_core::{Job, RoleTable};
use tokio::time::Instant;

use super::cluster::{Cluster, Refusal};
use super::execute::{self, Tally};
use super::key::JobKey;
use super::recorder::Recorder;
use super::shared::Shared;
use super::shelf::Version;
use super::stop::Stop;
use super::stranger::{Id, Stranger};
use super::unsaid::Unsaid;
use super::watch;
use super::world::{Snapshot, StoredJob};

/// The clock may be set meanwhile, so a long wait is made of shorter ones.
const LONGEST_SLEEP: Duration = Duration::from_mins(1);

/// Everything that a worker needs.
#[derive(Clone)]
pub(super) struct Operator {
    pub(super) table: &'static RoleTable,
    pub(super) cluster: Cluster,
    pub(super) shared: Arc<Shared>,
    pub(super) recorder: Recorder,
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
        self.look_at_strangers(key).await;
        let snapshot = self.shared.world().snapshot(key);
        let mut unsaid = self.shared.unsaid().take(key);
        let Some(snapshot) = snapshot else {
            self.shared.world().strangers.forget(key);
            return Next::Rest;
        };
        let next = self.carry_on(key, &snapshot, &mut unsaid).await;
        self.shared.unsaid().keep(key, unsaid);
        next
    }

    async fn carry_on(&self, key: &JobKey, snapshot: &Snapshot, unsaid: &mut Unsaid) -> Next {
        let job = snapshot.stored.job.clone();
        let observed = Observed {
            job: &job,
            pods: &snapshot.pods,
            services: &snapshot.services,
            config_maps: &snapshot.config_maps,
        };
        let plan = unsaid.debounce.plan(&observed, Timestamp::now());
        if let Some(next) = self.write_status(key, &snapshot.stored, &plan).await {
            return next;
        }
        let tally = execute::execute(self, key, &job, &plan.actions, &mut unsaid.wave).await;
        if tally.is_wave_over() {
            for event in unsaid.wave.end() {
                self.recorder.tell(&job, event);
            }
        }
        plan.events
            .iter()
            .for_each(|event| self.recorder.tell(&job, event.clone()));
        self.next(key, &plan, tally)
    }

    /// Writes the planned status; `Some`: it could not be written, and nothing else is to be done.
    async fn write_status(&self, key: &JobKey, stored: &StoredJob, plan: &Plan) -> Option<Next> {
        let status = plan.status.as_ref()?;
        let phase = status.phase.as_deref().unwrap_or_default();
        match self
            .cluster
            .write_status(key, &stored.version, status)
            .await
        {
            Ok(answer) => {
                tracing::info!(namespace = %key.namespace, job = %key.name, phase, "status written");
                let written = watch::stored(self.table, &answer);
                if written.version == stored.version {
                    // The server keeps less than we write; the same again would change nothing.
                    tracing::warn!(namespace = %key.namespace, job = %key.name, "the server has not taken the status as it is: update the CRDs");
                    return Some(self.timer(key, plan).map_or(Next::Rest, Next::At));
                }
                let version = Version::of(Some(&written.version));
                if let Some(scope) = self.shared.world().scope(Some(&key.namespace)) {
                    scope.jobs.write(key, &key.name, written, version);
                }
                None
            }
            // The news that made it so is on its way, and brings the job back here.
            Err(refusal) if refusal.is_not_found() || refusal.is_conflict() => {
                tracing::debug!(namespace = %key.namespace, job = %key.name, "the job has changed meanwhile");
                Some(Next::Retry(None))
            }
            Err(refusal) => {
                self.refused(key, &stored.job, &refusal);
                Some(Next::Retry(None))
            }
        }
    }

    fn refused(&self, key: &JobKey, job: &Job, refusal: &Refusal) {
        tracing::warn!(namespace = %key.namespace, job = %key.name, error = %refusal, "status not written");
        if refusal.is_final() {
            let message = format!("Error updating status: {refusal}");
            self.recorder
                .tell(job, Event::warning("FailedUpdateStatus", message));
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

    /// Looks whether names that were taken are free now.
    async fn look_at_strangers(&self, key: &JobKey) {
        let due = self.shared.world().strangers.due(key, Instant::now());
        for id in due {
            let found = self.look_at_stranger(key, &id).await;
            let mut world = self.shared.world();
            match found {
                Ok(Some(stranger)) => world.strangers.meet(key, stranger, Instant::now()),
                Ok(None) => world.strangers.part(key, &id),
                Err(error) => {
                    tracing::warn!(namespace = %key.namespace, job = %key.name, %error, "cannot look at {id:?}");
                    world.strangers.postpone(key, &id, Instant::now());
                }
            }
        }
    }

    /// Who has the name now; `None`: nobody.
    async fn look_at_stranger(&self, key: &JobKey, id: &Id) -> Result<Option<Stranger>, Refusal> {
        let cluster = &self.cluster;
        Ok(match id {
            Id::Pod(name) => {
                let found = cluster.read::<Pod>(key, name).await?;
                found.map(|pod| Stranger::Pod(watch::pod(self.table, &pod)))
            }
            Id::Service(name) => {
                let found = cluster.read::<Service>(key, name).await?;
                found.map(|service| Stranger::Service(ServiceView::of(&service)))
            }
            Id::ConfigMap(name) => {
                let found = cluster.read::<ConfigMap>(key, name).await?;
                found.map(|found| Stranger::ConfigMap(ConfigMapView::of(&found)))
            }
        })
    }

    /// Keeps what a create was answered with.
    pub(super) fn created_config_map(&self, key: &JobKey, config_map: &ConfigMap) {
        let version = Version::of(config_map.resource_version().as_deref());
        if let Some(scope) = self.shared.world().scope(Some(&key.namespace)) {
            let view = ConfigMapView::of(config_map);
            scope
                .config_maps
                .write(key, &config_map.name_any(), view, version);
        }
    }

    /// Keeps what a create was answered with.
    pub(super) fn created_pod(&self, key: &JobKey, pod: &Pod) {
        let version = Version::of(pod.resource_version().as_deref());
        if let Some(scope) = self.shared.world().scope(Some(&key.namespace)) {
            scope
                .pods
                .write(key, &pod.name_any(), watch::pod(self.table, pod), version);
        }
    }

    /// Keeps what a create was answered with.
    pub(super) fn created_service(&self, key: &JobKey, service: &Service) {
        let version = Version::of(service.resource_version().as_deref());
        if let Some(scope) = self.shared.world().scope(Some(&key.namespace)) {
            scope
                .services
                .write(key, &service.name_any(), ServiceView::of(service), version);
        }
    }
}
