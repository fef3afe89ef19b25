//! What is written to the job itself: its defaults once, where they are stored, and its status.

use std::time::Duration;

use kube::ResourceExt as _;
use mxjob_core::Job;
use mxjob_core::plan::{Event, Plan};
use tokio::time::Instant;

use super::cluster::Refusal;
use super::key::JobKey;
use super::reconcile::{Next, Operator};
use super::shelf::Version;
use super::unsaid::Unsaid;
use super::watch;
use super::world::StoredJob;

/// How long the news of another version of a job is waited for before it is tried anew without.
const NEWS: Duration = Duration::from_secs(5);

/// What of a job is written.
#[derive(Clone, Copy, Debug)]
enum Part {
    Spec,
    Status,
}

impl Part {
    /// What it is called, and the reason of the event about one that could not be written.
    const fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::Spec => ("spec", "FailedUpdateSpec"),
            Self::Status => ("status", "FailedUpdateStatus"),
        }
    }
}

impl Operator {
    /// Stores the defaults of a new job, where its API does; `Some`: that was to be done, and the job
    /// is to be looked at anew.
    pub(super) async fn store_defaults(
        &self,
        key: &JobKey,
        stored: &StoredJob,
        unsaid: &mut Unsaid,
    ) -> Option<Next> {
        let spec = stored.form.spec(&stored.job)?;
        let (namespace, job) = (&key.namespace, &key.name);
        let refusal = match self.cluster.write_spec(key, &stored.version, spec).await {
            Ok(answer) => {
                let written = watch::stored(key.table(), &answer);
                if written.form.spec(&written.job).is_none() {
                    tracing::info!(%namespace, %job, "defaults stored");
                    self.keep(key, written);
                    return Some(Next::More);
                }
                // They would be written anew for ever.
                Refusal::Pruned(key.table())
            }
            Err(refusal) => refusal,
        };
        Some(self.not_written(key, &stored.job, &refusal, unsaid, Part::Spec))
    }

    /// Writes the planned status; `Some`: it could not be written, and nothing else is to be done.
    pub(super) async fn write_status(
        &self,
        key: &JobKey,
        stored: &StoredJob,
        plan: &Plan,
        unsaid: &mut Unsaid,
    ) -> Option<Next> {
        let status = plan.status.as_ref()?;
        let words = stored.form.status(status);
        let refusal = match self
            .cluster
            .write_status(key, &stored.version, &words)
            .await
        {
            Ok(answer) => {
                let written = watch::stored(key.table(), &answer);
                if written.job.status == *status {
                    if let Some(scope) = self.shared.world().scope(key) {
                        scope.keeps_statuses = true;
                    }
                    self.written(key, stored, written);
                    return None;
                }
                // What is counted there would be counted anew for ever.
                Refusal::Pruned(key.table())
            }
            Err(refusal) if refusal.is_not_found() && self.is_there(key, stored).await => {
                // A definition without the subresource, as those of the first operators.
                Refusal::Pruned(key.table())
            }
            Err(refusal) => refusal,
        };
        if let Refusal::Pruned(_) = refusal
            && let Some(scope) = self.shared.world().scope(key)
        {
            scope.keeps_statuses = false;
        }
        if refusal.is_doubtful() {
            unsaid.doubt(&stored.version, plan);
        }
        Some(self.not_written(key, &stored.job, &refusal, unsaid, Part::Status))
    }

    async fn is_there(&self, key: &JobKey, stored: &StoredJob) -> bool {
        let found = self.cluster.read_job(key).await;
        let found = found.ok().flatten();
        found.is_some_and(|job| job.uid().as_ref() == Some(&stored.job.meta.uid))
    }

    fn not_written(
        &self,
        key: &JobKey,
        job: &Job,
        refusal: &Refusal,
        unsaid: &mut Unsaid,
        part: Part,
    ) -> Next {
        let news = unsaid.is_news(refusal);
        // The news that made it so is on its way, and brings the job back here.
        if refusal.is_not_found() || refusal.is_conflict() {
            if news {
                tracing::info!(namespace = %key.namespace, job = %key.name, "the job has changed meanwhile");
            }
            // Who edits a job all the time makes no wait longer.
            let wait = Next::At(Instant::now() + NEWS);
            return if refusal.is_conflict() {
                wait
            } else {
                Next::Retry(None)
            };
        }
        if news {
            tracing::warn!(namespace = %key.namespace, job = %key.name, error = %refusal, "{} not written", part.words().0);
        }
        if refusal.is_final() {
            let (what, reason) = part.words();
            let message = format!("Error updating {what}: {refusal}");
            self.recorder.tell(job, Event::warning(reason, message));
        }
        Next::Retry(None)
    }

    /// Keeps what the status write was answered with.
    fn written(&self, key: &JobKey, before: &StoredJob, written: StoredJob) {
        let phase = written.job.status.phase.as_deref().unwrap_or_default();
        tracing::info!(namespace = %key.namespace, job = %key.name, phase, "status written");
        if before.job.wiped {
            tracing::warn!(namespace = %key.namespace, job = %key.name, "somebody had wiped the status: it is back");
        }
        // It may be deleted before the next look.
        self.metrics.look(key, Some(&written.job), written.seen);
        self.keep(key, written);
    }

    fn keep(&self, key: &JobKey, written: StoredJob) {
        let version = Version::of(Some(&written.version));
        if let Some(scope) = self.shared.world().scope(key) {
            scope.jobs.write(key, &key.name, written, version);
        }
    }
}
