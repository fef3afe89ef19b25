//! What Prometheus reads: facts about jobs, and what the operator does for them. No label holds the
//! name of a job or a pod.

mod jobs;
mod requests;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use mxjob_core::plan::{Facts, Start};
use mxjob_core::{Job, RoleTable};
use prometheus_client::encoding::text;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;
use tokio::time::Instant;

use super::key::JobKey;
use jobs::Ledger;
pub(super) use jobs::phases;
pub(super) use requests::RequestLayer;

/// What a scrape is answered with.
pub(super) const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

type JobCounter = Family<[(&'static str, String); 2], Counter>;

/// Everything that is measured. Cheap to clone.
#[derive(Clone, Debug)]
pub(super) struct Metrics(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    apis: Arc<[&'static RoleTable]>,
    registry: Registry,
    ledger: Mutex<Ledger>,
    created: JobCounter,
    deleted: JobCounter,
    successful: JobCounter,
    failed: JobCounter,
    restarted: JobCounter,
    jobs: Family<[(&'static str, &'static str); 1], Gauge>,
    pods_created: Counter,
    reconciles: Histogram,
    starts: Histogram,
    requests: Family<[(&'static str, String); 3], Counter>,
    leader: Gauge,
    reviews: Counter,
}

impl Metrics {
    /// Nothing measured yet.
    pub(super) fn new(apis: &[&'static RoleTable]) -> Self {
        // From a look that finds nothing to do to one that waits for a slow server.
        let reconciles = Histogram::new(exponential_buckets(0.001, 4.0, 8));
        // From a job of three to one of thousands; from a minute on it is late.
        let starts = Histogram::new(exponential_buckets(0.1, 2.0, 9).chain([60.0, 120.0, 300.0]));
        let mut inner = Inner {
            apis: apis.into(),
            registry: Registry::default(),
            ledger: Mutex::default(),
            created: Family::default(),
            deleted: Family::default(),
            successful: Family::default(),
            failed: Family::default(),
            restarted: Family::default(),
            jobs: Family::default(),
            pods_created: Counter::default(),
            reconciles,
            starts,
            requests: Family::default(),
            leader: Gauge::default(),
            reviews: Counter::default(),
        };
        inner.register();
        Self(Arc::new(inner))
    }

    /// All of it as text, with so many jobs in each phase now, and whether this operator is the one
    /// that looks after them.
    pub(super) fn scrape(
        &self,
        phases: &BTreeMap<&'static str, i64>,
        leads: bool,
    ) -> Result<String, fmt::Error> {
        self.0.leader.set(i64::from(leads));
        for (phase, count) in phases {
            self.0.jobs.get_or_create(&[("phase", *phase)]).set(*count);
        }
        let mut out = String::new();
        text::encode(&mut out, &self.0.registry)?;
        Ok(out)
    }

    /// A look at a job begins (`None`: it is gone); `seen` is when it was read.
    pub(super) fn look(&self, key: &JobKey, job: Option<&Job>, seen: Instant) {
        let facts = self.ledger().book(key, job, seen);
        self.count(key, facts);
    }

    /// Whether the pods of the job are still to be created for the first time.
    pub(super) fn is_starting(&self, key: &JobKey) -> bool {
        self.ledger().is_starting(key)
    }

    /// How far the job has got with that.
    pub(super) fn start(&self, key: &JobKey, start: Start) {
        if let Some(latency) = self.ledger().start(key, start, Instant::now()) {
            self.0.starts.observe(latency.as_secs_f64());
        }
    }

    /// A look at a job has taken so long.
    pub(super) fn reconciled(&self, time: Duration) {
        self.0.reconciles.observe(time.as_secs_f64());
    }

    /// A pod was created.
    pub(super) fn pod_created(&self) {
        self.0.pods_created.inc();
    }

    /// For the webhook: counts its answers.
    pub(super) fn reviews(&self) -> Counter {
        self.0.reviews.clone()
    }

    /// For the client: counts its requests.
    pub(super) fn requests(&self) -> RequestLayer {
        RequestLayer::new(self.0.apis.clone(), self.0.requests.clone())
    }

    fn count(&self, key: &JobKey, facts: Facts) {
        let inner = &*self.0;
        for (counter, count) in [
            (&inner.created, facts.created),
            (&inner.deleted, facts.deleted),
            (&inner.successful, facts.successful),
            (&inner.failed, facts.failed),
            (&inner.restarted, facts.restarted),
        ] {
            // The others are there from the first job on: a rate needs to see the zero.
            let labels = [
                ("job_namespace", key.namespace.to_string()),
                ("framework", key.table().container.to_owned()),
            ];
            counter.get_or_create(&labels).inc_by(count);
        }
    }

    fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.0.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    fn register(&mut self) {
        let Self { registry, .. } = self;
        for (fact, help, counter) in [
            ("created", "Jobs taken up for the first time", &self.created),
            (
                "deleted",
                "Jobs gone from the cluster, whoever deleted them",
                &self.deleted,
            ),
            ("successful", "Jobs that have succeeded", &self.successful),
            ("failed", "Jobs that have failed", &self.failed),
            (
                "restarted",
                "Replaced replicas and restarts of whole jobs",
                &self.restarted,
            ),
        ] {
            registry.register(
                format!("training_operator_jobs_{fact}"),
                help,
                counter.clone(),
            );
        }
        registry.register("mxjob_jobs", "Jobs by phase", self.jobs.clone());
        registry.register(
            "mxjob_pods_created",
            "Pods created",
            self.pods_created.clone(),
        );
        registry.register(
            "mxjob_reconcile_duration_seconds",
            "Time that one look at a job takes, with the requests that follow from it",
            self.reconciles.clone(),
        );
        registry.register(
            "mxjob_job_start_latency_seconds",
            "Time from when a job is seen until all of its pods are created",
            self.starts.clone(),
        );
        registry.register(
            "mxjob_api_requests",
            "Requests to the API server and what they were answered with; code none: no answer",
            self.requests.clone(),
        );
        registry.register(
            "mxjob_leader",
            "1: this operator looks after the jobs",
            self.leader.clone(),
        );
        registry.register(
            "mxjob_conversion_reviews",
            "Conversions between versions that the API server asked for; one may be of many jobs",
            self.reviews.clone(),
        );
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::convert::Infallible;

    use http::{Request, Response};
    use mxjob_core::{MxRole, ReplicaRole as _};
    use serde_json::json;
    use tower::{Layer as _, ServiceExt as _, service_fn};

    use super::*;

    fn job(status: &serde_json::Value) -> Job {
        let meta = json!({"namespace": "lab", "name": "digits", "uid": "1"});
        Job::read(MxRole::TABLE, &json!({"metadata": meta, "status": status}))
    }

    /// The rows of the manual's table that a scrape asks for.
    fn rows(scrape: &str) -> Vec<String> {
        let mut helps = BTreeMap::new();
        let mut rows = Vec::new();
        for line in scrape.lines() {
            if let Some((name, help)) = line
                .strip_prefix("# HELP ")
                .and_then(|one| one.split_once(' '))
            {
                helps.insert(name, help.trim_end_matches('.'));
            } else if let Some((name, kind)) = line
                .strip_prefix("# TYPE ")
                .and_then(|one| one.split_once(' '))
            {
                let suffix = if kind == "counter" { "_total" } else { "" };
                let series = scrape.lines().find(|line| line.starts_with(name)).unwrap();
                let labels = series
                    .split(['{', '}'])
                    .nth(1)
                    .unwrap_or_default()
                    .split(',');
                let labels: Vec<_> = labels
                    .filter_map(|label| label.split_once('='))
                    .filter(|(label, _)| *label != "le")
                    .map(|(label, _)| format!("`{label}`"))
                    .collect();
                let labels = format!(" {} ", labels.join(", ")).replace("  ", " ");
                rows.push(format!(
                    "| `{name}{suffix}` | {kind} |{labels}| {} |",
                    helps[name]
                ));
            }
        }
        rows
    }

    // contract: 11.11
    #[tokio::test]
    async fn the_manual_has_every_metric_and_no_other() {
        let metrics = Metrics::new(&[MxRole::TABLE]);
        metrics.look(
            &JobKey::new(MxRole::TABLE, "lab", "digits"),
            Some(&job(&json!({}))),
            Instant::now(),
        );
        let client = metrics.requests().layer(service_fn(|_: Request<()>| async {
            Ok::<_, Infallible>(Response::new(()))
        }));
        client
            .oneshot(Request::get("/api/v1/pods").body(()).unwrap())
            .await
            .unwrap();
        let scrape = metrics.scrape(&phases([].into_iter()), true).unwrap();
        let manual = include_str!("../../../../docs/operate.md");
        let (_, table) = manual.split_once("## Metrics").unwrap();
        let table = table.split("\n## ").next().unwrap();
        let table = table.lines().filter(|line| line.starts_with("| `"));
        assert_eq!(rows(&scrape), table.collect::<Vec<_>>());
    }

    // contract: 11.8
    #[test]
    fn a_phase_that_nobody_knows_is_no_series_of_its_own() {
        let jobs = [
            job(&json!({"phase": "Running"})),
            job(&json!({"phase": "digits-42"})),
            job(&json!({})),
        ];
        let counts = phases(jobs.iter());
        assert_eq!(
            (counts["Running"], counts["Unknown"], counts.len()),
            (1, 2, 7)
        );
    }

    /// How many starts were measured, and the sum of their latencies.
    fn starts(metrics: &Metrics) -> [String; 2] {
        let scrape = metrics.scrape(&BTreeMap::new(), false).unwrap();
        ["count", "sum"].map(|part| {
            let name = format!("mxjob_job_start_latency_seconds_{part} ");
            let value = scrape.lines().find_map(|line| line.strip_prefix(&name));
            value.unwrap().to_owned()
        })
    }

    #[tokio::test(start_paused = true)]
    async fn the_start_of_a_job_is_measured_once() {
        let metrics = Metrics::new(&[MxRole::TABLE]);
        let key = JobKey::new(MxRole::TABLE, "lab", "digits");
        let seen = Instant::now();
        metrics.look(&key, Some(&job(&json!({}))), seen);
        tokio::time::advance(Duration::from_secs(3)).await;
        metrics.start(&key, Start::Underway);
        assert!(metrics.is_starting(&key));
        metrics.start(&key, Start::Complete);
        metrics.look(&key, Some(&job(&json!({}))), Instant::now());
        metrics.start(&key, Start::Complete);
        assert!(!metrics.is_starting(&key));
        assert_eq!(starts(&metrics), ["1", "3.0"]);

        // Taken up by an earlier operator; suspended before it had pods.
        for (name, status, start) in [
            (
                "old",
                json!({"startTime": "2026-01-01T00:00:00Z"}),
                Start::Complete,
            ),
            ("suspended", json!({}), Start::Void),
        ] {
            let key = JobKey::new(MxRole::TABLE, "lab", name);
            metrics.look(&key, Some(&job(&status)), Instant::now());
            metrics.start(&key, start);
            metrics.start(&key, Start::Complete);
        }
        assert_eq!(starts(&metrics), ["1", "3.0"]);
    }

    #[test]
    fn what_is_known_of_a_job_goes_with_it() {
        let metrics = Metrics::new(&[MxRole::TABLE]);
        let key = JobKey::new(MxRole::TABLE, "lab", "digits");
        let created = json!({"conditions": [{"type": "Created", "status": "True"}]});
        metrics.look(&key, Some(&job(&created)), Instant::now());
        metrics.look(&key, None, Instant::now());
        metrics.look(&key, None, Instant::now());
        assert!(metrics.ledger().is_empty());
        let scrape = metrics.scrape(&BTreeMap::new(), false).unwrap();
        let deleted = r#"jobs_deleted_total{job_namespace="lab",framework="mxnet"} 1"#;
        assert!(scrape.contains(deleted), "{scrape}");
    }
}
