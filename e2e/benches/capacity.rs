//! What memory and processor time one operator takes for 1,000 jobs and for 10,000 pods, and that objects of
//! others cost it nothing: `cargo bench -p e2e --bench capacity`. About ten minutes and the build. Linux only.
//!
//! The operator looks after all namespaces and converts what is written, as on a cluster. 1,000 jobs of one pod
//! and 1,000 of ten, each on a control plane of its own, tell what a job costs and what a pod. The pods are made to
//! run when all are there, by requests as a kubelet sends them. Then somebody makes 100,000 pods and 5,000 Secrets.
//! `MXJOB_JOBS`, `MXJOB_FOREIGN_PODS`, `MXJOB_FOREIGN_SECRETS` and `MXJOB_QUIET_SECONDS` are other sizes.

#![allow(clippy::print_stdout, reason = "a program that prints figures")]

#[path = "../tests/operator/bench/mod.rs"]
mod bench;
#[path = "progress/mod.rs"]
mod progress;

use std::fmt::Debug;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use bench::{Bench, Operator, count, training};
use e2e::usage::Usage;
use e2e::{ControlPlane, ScriptedKubelet, http};
use futures::{StreamExt as _, stream};
use k8s_openapi::api::core::v1::{Pod, Secret};
use kube::ResourceExt as _;
use kube::api::{Api, ListParams, PostParams};
use mxjob_core::{MxRole, ReplicaRole as _};
use progress::{PATIENCE, all, grown, say, settled};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::time::sleep;

/// Pods of a job that has more than one: a scheduler, a server and workers.
const REPLICAS: u32 = 10;
/// Requests at a time of who makes jobs, pods run, and objects of others.
const CONCURRENCY: usize = 64;
/// How often a request is tried; a server with so much to do may lose one.
const ATTEMPTS: u32 = 5;
/// One start differs from the next by some MiB: of so many the median counts.
const STARTS: usize = 5;

#[tokio::main]
async fn main() -> Result<()> {
    let sizes = Sizes::wanted()?;
    say("a control plane for jobs of one pod");
    let single = Cluster::start().await?;
    let empty = Taken::from(single.operator.pid(), None, &sizes).await?;
    let one = single.fill(&sizes, 1).await?;
    drop(single);

    say(&format!("another for jobs of {REPLICAS} pods"));
    let cluster = Cluster::start().await?;
    let ten = cluster.fill(&sizes, REPLICAS).await?;
    say("other operators, which read what is there");
    let (cluster, read) = cluster.with_others().await?;
    let before = Usage::of(cluster.operator.pid())?;
    let time = cluster.strangers(&sizes).await?;
    let beside = settled(cluster.operator.pid()).await?;
    say("other operators, which could read all of it");
    let (_cluster, later) = cluster.with_others().await?;

    let jobs = sizes.jobs;
    println!("\none operator of all namespaces, which converts what is written");
    println!("                                memory, MiB         processor, s");
    println!("                               now   at most      start   a quiet minute");
    empty.print("no jobs");
    one.print(&format!("{jobs} jobs of 1 pod"));
    ten.print(&format!("{jobs} jobs of {REPLICAS} pods"));
    Taken::at_start(read).print("the same, read at its start");
    let pods = ten.less(one).times(1e4 / f64::from(jobs * (REPLICAS - 1)));
    let job = one.less(empty).times(1e3 / f64::from(jobs));
    job.less(pods.times(0.1)).print("so 1,000 jobs are");
    pods.print("and 10,000 pods");
    let Sizes { pods, secrets, .. } = sizes;
    println!("beside {pods} pods and {secrets} Secrets of others, made in {time:.0} s");
    for (what, before, after) in [
        ("an operator that runs", before, beside),
        ("those that start then", read, later),
    ] {
        let (before, after) = (before.memory, after.memory);
        let change = 100.0 * (after / before - 1.0);
        println!(
            "  {what:<25} {after:>8.1} instead of {before:.1} MiB: {change:+.1} % (wanted: under 5)"
        );
    }
    Ok(())
}

/// How much of everything.
#[derive(Clone, Copy, Debug)]
struct Sizes {
    jobs: u32,
    /// Of others.
    pods: u32,
    secrets: u32,
    quiet: u32,
}

impl Sizes {
    fn wanted() -> Result<Self> {
        let number = |name: &str, default: u32| -> Result<u32> {
            let text = std::env::var(name).ok();
            text.map_or(Ok(default), |text| {
                text.parse().with_context(|| name.to_owned())
            })
        };
        let sizes = Self {
            jobs: number("MXJOB_JOBS", 1_000)?,
            pods: number("MXJOB_FOREIGN_PODS", 100_000)?,
            secrets: number("MXJOB_FOREIGN_SECRETS", 5_000)?,
            quiet: number("MXJOB_QUIET_SECONDS", 60)?,
        };
        ensure!(sizes.jobs > 0 && sizes.quiet > 0, "{sizes:?}");
        Ok(sizes)
    }
}

/// What an operator has taken.
#[derive(Clone, Copy, Debug)]
struct Taken {
    memory: f64,
    peak: f64,
    start: f64,
    /// Unknown of one that did not have a minute.
    quiet: f64,
}

impl Taken {
    /// Waits until it is done with what came after `before`, and for a quiet while.
    async fn from(pid: u32, before: Option<Usage>, sizes: &Sizes) -> Result<Self> {
        let done = settled(pid).await?;
        say("a quiet while");
        sleep(Duration::from_secs(sizes.quiet.into())).await;
        let rest = Usage::of(pid)?.processor - done.processor;
        Ok(Self {
            start: done.processor - before.map_or(0.0, |before| before.processor),
            quiet: rest * 60.0 / f64::from(sizes.quiet),
            ..Self::at_start(done)
        })
    }

    fn at_start(usage: Usage) -> Self {
        Self {
            memory: usage.memory,
            peak: usage.peak,
            start: usage.processor,
            quiet: f64::NAN,
        }
    }

    fn both(self, other: Self, of: impl Fn(f64, f64) -> f64) -> Self {
        Self {
            memory: of(self.memory, other.memory),
            peak: of(self.peak, other.peak),
            start: of(self.start, other.start),
            quiet: of(self.quiet, other.quiet),
        }
    }

    fn less(self, other: Self) -> Self {
        self.both(other, |ours, theirs| ours - theirs)
    }

    fn times(self, factor: f64) -> Self {
        self.both(self, |ours, _| ours * factor)
    }

    fn print(self, what: &str) {
        let Self {
            memory,
            peak,
            start,
            quiet,
        } = self;
        let quiet = if quiet.is_nan() {
            String::new()
        } else {
            format!("{quiet:>10.2}")
        };
        println!("  {what:<27} {memory:>6.1} {peak:>8.1} {start:>10.2} {quiet}");
    }
}

/// A control plane of its own, and an operator that looks after all of it.
struct Cluster {
    plane: ControlPlane,
    bench: Bench,
    operator: Operator,
}

impl Cluster {
    async fn start() -> Result<Self> {
        let plane = ControlPlane::start().await?;
        plane
            .install_crds(&[mxjob_core::schema::crd(MxRole::TABLE)])
            .await?;
        let bench = Bench::new(&plane, "capacity").await?;
        let operator = Operator::start_converting_all(&plane, &bench.namespace).await?;
        Ok(Self {
            plane,
            bench,
            operator,
        })
    }

    /// The operator ends and another one comes, again and again; what the median of them takes.
    async fn with_others(self) -> Result<(Self, Usage)> {
        let Self {
            plane,
            bench,
            mut operator,
        } = self;
        let mut taken = Vec::new();
        for _ in 0..STARTS {
            let ended = operator.terminate(PATIENCE).await?;
            ensure!(ended.success(), "the operator ended with {ended}");
            operator = Operator::start_converting_all(&plane, &bench.namespace).await?;
            operator.says("caches are complete").await?;
            taken.push(settled(operator.pid()).await?);
        }
        taken.sort_by(|one, other| one.memory.total_cmp(&other.memory));
        let median = *taken.get(STARTS / 2).context("none")?;
        let cluster = Self {
            plane,
            bench,
            operator,
        };
        Ok((cluster, median))
    }

    /// Makes the jobs, of so many pods each, until all of them run.
    async fn fill(&self, sizes: &Sizes, replicas: u32) -> Result<Taken> {
        let (bench, pid) = (&self.bench, self.operator.pid());
        let before = settled(pid).await?;
        let (jobs, pods) = (sizes.jobs, sizes.jobs * replicas);
        let made = stream::iter(0..jobs).map(async |index| {
            let job = manifest(&format!("job-{index}"), replicas);
            bench.create(&job).await.map(drop)
        });
        all("jobs made", made.buffer_unordered(CONCURRENCY)).await?;
        grown("pods", pods, || count(&bench.pods)).await?;

        let names = bench
            .pods
            .list_metadata(&ListParams::default())
            .await?
            .items;
        let kubelet = ScriptedKubelet::run_none(bench.client.clone(), &bench.namespace);
        let kubelet = &kubelet;
        let run = stream::iter(names).map(async |pod| kubelet.run(&pod.name_any()).await);
        all("pods run", run.buffer_unordered(CONCURRENCY)).await?;
        let metrics = self.operator.address("metrics").await?;
        grown("jobs run", jobs, async || {
            let (_, _, text) = http::get(metrics, "/metrics").await?;
            let running = r#"mxjob_jobs{phase="Running"} "#;
            let number = text.lines().find_map(|line| line.strip_prefix(running));
            Ok(number.map_or(Ok(0), str::parse)?)
        })
        .await?;
        let taken = Taken::from(pid, Some(before), sizes).await;
        let there = count(&bench.pods).await?;
        ensure!(there == pods, "{there} pods");
        taken
    }

    /// Pods and Secrets that are nobody's, in another namespace; how many seconds it took.
    async fn strangers(&self, sizes: &Sizes) -> Result<f64> {
        let namespace = &self.plane.namespace("strangers").await?;
        let client = &self.bench.client;
        let start = Instant::now();
        // No node takes it, and no kubelet of ours.
        let pods: Api<Pod> = Api::namespaced(client.clone(), namespace);
        let made = stream::iter(0..sizes.pods).map(async |index| {
            let spec = json!({
                "automountServiceAccountToken": false, "containers": [{"name": "a", "image": "a"}],
            });
            post(
                &pods,
                json!({"metadata": {"name": format!("a-{index}")}, "spec": spec}),
            )
            .await
        });
        all("pods of others made", made.buffer_unordered(CONCURRENCY)).await?;
        let secrets: Api<Secret> = Api::namespaced(client.clone(), namespace);
        let made = stream::iter(0..sizes.secrets).map(async |index| {
            let data = json!({"a": "0".repeat(1024)});
            post(
                &secrets,
                json!({"metadata": {"name": format!("a-{index}")}, "stringData": data}),
            )
            .await
        });
        all("Secrets of others made", made.buffer_unordered(CONCURRENCY)).await?;
        let time = start.elapsed().as_secs_f64();
        ensure!(count(&pods).await? == sizes.pods, "pods are missing");
        let store = std::fs::metadata(self.plane.folder().join("etcd/member/snap/db"))?;
        say(&format!(
            "the store of the cluster is {} MiB",
            store.len() >> 20
        ));
        Ok(time)
    }
}

fn manifest(name: &str, replicas: u32) -> Value {
    if replicas > 2 {
        return training(name, 1, replicas - 2);
    }
    let mut job = training(name, 0, replicas);
    if let Some(roles) = job
        .pointer_mut("/spec/mxReplicaSpecs")
        .and_then(Value::as_object_mut)
    {
        roles.retain(|role, _| role == "Worker");
    }
    job
}

/// Makes an object; one that is there was made by a request whose answer was lost.
async fn post<K>(api: &Api<K>, object: Value) -> Result<()>
where
    K: Clone + Debug + Serialize + DeserializeOwned,
{
    let object = serde_json::from_value(object)?;
    let mut attempt = 1;
    loop {
        match api.create(&PostParams::default(), &object).await {
            Ok(_) => return Ok(()),
            Err(kube::Error::Api(status)) if attempt > 1 && status.code == 409 => return Ok(()),
            Err(error) if attempt == ATTEMPTS => return Err(error.into()),
            Err(_) => sleep(Duration::from_secs(1)).await,
        }
        attempt += 1;
    }
}
