//! What a look at a job costs, and how that grows with the job: `cargo bench -p mxjob-core`.
//!
//! `start` plans every pod and service of a fresh job; `steady` looks at a job that runs and finds
//! nothing to do. After the times a table of ratios: cost per replica against the smallest job; a
//! step that is quadratic would show as a ratio that grows with the size.

use std::hint::black_box;
use std::time::Instant;

use jiff::Timestamp;
use mxjob_core::job::Replica;
use mxjob_core::model::{Cluster, Report, Work};
use mxjob_core::plan::{Observed, PodView, ServiceView, plan};
use mxjob_core::wiring::Addresses;
use mxjob_core::{Job, MxRole, ReplicaRole};
use serde_json::{Value, json};

const SIZES: [u32; 5] = [5, 50, 500, 2_000, 10_000];

fn manifest(replicas: u32) -> Value {
    let role = |count: u32| {
        json!({"replicas": count, "template": {"spec": {"containers": [
            {"name": "mxnet", "image": "some/image", "command": ["python3", "train.py"]}]}}})
    };
    let servers = (replicas - 1) / 2;
    json!({
        "apiVersion": "kubeflow.org/v1", "kind": "MXJob", "metadata": {"name": "bench", "namespace": "lab"},
        "spec": {"mxReplicaSpecs": {
            "Scheduler": role(1), "Server": role(servers), "Worker": role(replicas - 1 - servers)}},
    })
}

/// A job as it is when all its pods run.
struct Running {
    job: Job,
    pods: Vec<PodView>,
    services: Vec<ServiceView>,
    now: Timestamp,
}

impl Running {
    fn of(replicas: u32) -> Self {
        let now = Timestamp::from_second(1_800_000_000).unwrap_or_default();
        let mut cluster = Cluster::new(MxRole::TABLE, Addresses::Cluster);
        if cluster.create_job(manifest(replicas), now).is_ok() {
            cluster.settle(now);
        }
        while let Some(work) = cluster.poll_work() {
            if let Work::Start { uid, .. } = work {
                cluster.report(now, Report::Started { uid });
            }
        }
        cluster.settle(now);
        let job = cluster
            .job()
            .cloned()
            .unwrap_or_else(|| Job::read(MxRole::TABLE, &Value::Null));
        let pods = cluster
            .pods()
            .map(|pod| PodView::of(pod, MxRole::TABLE))
            .collect();
        let services = cluster
            .services()
            .map(|one| ServiceView::of(one, MxRole::TABLE))
            .collect();
        Self {
            job,
            pods,
            services,
            now,
        }
    }

    fn look(&self) -> usize {
        let observed = Observed {
            job: &self.job,
            pods: &self.pods,
            services: &self.services,
            config_maps: &[],
        };
        plan(&observed, self.now).actions.len()
    }
}

/// A job of which nothing is there yet.
struct Fresh(Job);

impl Fresh {
    fn of(replicas: u32) -> Self {
        Self(Job::read(MxRole::TABLE, &manifest(replicas)))
    }

    fn look(&self) -> usize {
        let observed = Observed {
            job: &self.0,
            pods: &[],
            services: &[],
            config_maps: &[],
        };
        plan(&observed, Timestamp::UNIX_EPOCH).actions.len()
    }
}

#[divan::bench(args = SIZES)]
fn start(bencher: divan::Bencher<'_, '_>, replicas: u32) {
    let fresh = Fresh::of(replicas);
    bencher.bench_local(|| black_box(&fresh).look());
}

#[divan::bench(args = SIZES)]
fn steady(bencher: divan::Bencher<'_, '_>, replicas: u32) {
    let running = Running::of(replicas);
    bencher.bench_local(|| black_box(&running).look());
}

/// Making the bodies of all pods, as the shells do when they carry the plan out.
#[divan::bench(args = [5, 50, 500])]
fn bodies(bencher: divan::Bencher<'_, '_>, replicas: u32) {
    let fresh = Fresh::of(replicas).0;
    bencher.bench_local(|| {
        let spec = black_box(&fresh).spec.as_ref().ok()?;
        let wiring = mxjob_core::wiring::Wiring::new(&fresh, spec, Addresses::Cluster);
        let pod = |replica: Replica| wiring.pod(replica, mxjob_core::job::Attempt::default());
        Some(spec.replicas().filter_map(pod).count())
    });
}

/// Seconds that one call takes: the least of several rounds.
fn seconds(mut call: impl FnMut() -> usize) -> f64 {
    let round = |call: &mut dyn FnMut() -> usize| {
        let (start, mut calls) = (Instant::now(), 0_u32);
        while start.elapsed().as_millis() < 40 {
            black_box(call());
            calls += 1;
        }
        start.elapsed().as_secs_f64() / f64::from(calls)
    };
    (0..5)
        .map(|_| round(&mut call))
        .fold(f64::INFINITY, f64::min)
}

fn growth() {
    println!(
        "\nreplicas   start µs   per replica   steady µs   per replica   (ratio to the smallest job)"
    );
    let mut first = None;
    for replicas in SIZES {
        let (fresh, running) = (Fresh::of(replicas), Running::of(replicas));
        let (start, steady) = (seconds(|| fresh.look()), seconds(|| running.look()));
        let each = (start / f64::from(replicas), steady / f64::from(replicas));
        let base = *first.get_or_insert(each);
        println!(
            "{replicas:>8} {:>10.1} {:>12.2}x {:>11.1} {:>12.2}x",
            start * 1e6,
            each.0 / base.0,
            steady * 1e6,
            each.1 / base.1
        );
    }
}

fn main() {
    divan::main();
    growth();
}
