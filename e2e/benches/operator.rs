//! How fast the operator creates the objects of jobs beside a plain client that posts the same
//! bytes, how long a small job waits behind a large one, how long lists take that the operator
//! converts, and what 10,000 pods cost in memory: `cargo bench -p e2e --bench operator`, or a part of it:
//! `-- memory` (`rates`, `beside`, `versions`). About seven minutes and the build. Linux only.
//!
//! Both sides have the same control plane, turn about; the ratio counts, not the times. The plain
//! client has no watch, no status and no events to write, and uses the concurrency that was the
//! best of those tried.

#![allow(
    clippy::print_stdout,
    clippy::indexing_slicing,
    reason = "a program that prints figures"
)]

#[path = "../tests/operator/bench/mod.rs"]
mod bench;

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use bench::{Bench, Operator, at, count, training, with};
use e2e::ControlPlane;
use e2e::deadline::{Seen, until};
use e2e::usage::Usage;
use futures::{StreamExt as _, TryStreamExt as _, stream};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::ResourceExt as _;
use kube::api::{Api, ListParams, PostParams, WatchEvent, WatchParams};
use mxjob_core::wiring::{Addresses, Wiring, labels};
use mxjob_core::{Job, MXJob, MxRole, ReplicaRole as _};
use serde_json::{Value, json};

const PATIENCE: Duration = Duration::from_mins(5);
/// A round differs from the next by a third: what the control plane does meanwhile is its own affair.
const ROUNDS: usize = 9;
/// A shape with a job of 1,000 replicas, and one with many small jobs.
const SHAPES: [(u32, u32); 2] = [(1, 1000), (100, 10)];
const CONCURRENCIES: [usize; 4] = [16, 32, 64, 128];
/// Small jobs that are created while a large one starts.
const SMALL: u32 = 300;
const PODS_KNOWN: u32 = 10_000;
/// Jobs in a list, and how often it is asked for.
const LISTED: u32 = 1_000;
const LISTS: usize = 9;

#[tokio::main]
async fn main() -> Result<()> {
    let plane = ControlPlane::start().await?;
    let crd = mxjob_core::schema::crd(MxRole::TABLE);
    plane.install_crds(&[crd]).await?;
    // As on a cluster, where an operator that is ready converts whatever is written, for both sides.
    let webhook = Bench::new(&plane, "webhook").await?;
    let _webhook = Operator::start_converting(&plane, &webhook.namespace).await?;
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    // Cargo adds flags of its own.
    let all = wanted.iter().all(|word| word.starts_with("--"));
    let is_wanted = |part: &str| all || wanted.iter().any(|word| word == part);
    if is_wanted("rates") {
        rates(&plane).await?;
    }
    if is_wanted("beside") {
        small_beside_large(&plane).await?;
    }
    if is_wanted("versions") {
        versions(&plane).await?;
    }
    if is_wanted("memory") {
        memory(&plane).await?;
    }
    Ok(())
}

/// How long a list of jobs takes at an older version, which the operator converts to, and at the one
/// that is stored.
async fn versions(plane: &ControlPlane) -> Result<()> {
    let bench = Bench::new(plane, "versions").await?;
    let managed_elsewhere = json!({"runPolicy": {"managedBy": "example.org/bench"}});
    let jobs = manifests((LISTED, 10)).into_iter();
    stream::iter(jobs.map(|manifest| with(manifest, managed_elsewhere.clone())))
        .map(|manifest| {
            let bench = &bench;
            async move { bench.create(&manifest).await.map(drop) }
        })
        .buffer_unordered(16)
        .try_collect::<()>()
        .await?;
    let list = async |version: &str| -> Result<f64> {
        let start = Instant::now();
        let jobs = at(&bench.client, &bench.namespace, version);
        let listed = jobs.list(&ListParams::default()).await?.items.len();
        ensure!(listed == usize::try_from(LISTED)?, "{listed} jobs");
        Ok(start.elapsed().as_secs_f64())
    };
    list("v1").await?;
    println!("a list of {LISTED} jobs, {LISTS} rounds turn about, medians");
    for version in ["v1alpha1", "v1beta1"] {
        let (mut stored, mut converted) = (Vec::new(), Vec::new());
        for _ in 0..LISTS {
            stored.push(list("v1").await?);
            converted.push(list(version).await?);
        }
        let each = converted.iter().zip(&stored);
        let ratios: Vec<f64> = each.map(|(theirs, ours)| theirs / ours).collect();
        println!("  v1                         {:>7.3} s", median(&stored));
        println!("  {version:<26} {:>7.3} s", median(&converted));
        println!(
            "  ratio of each round        {:>7.2}    (wanted: under 3)",
            median(&ratios)
        );
    }
    Ok(())
}

async fn rates(plane: &ControlPlane) -> Result<()> {
    println!("pods and services created, {ROUNDS} rounds turn about, medians");
    let mut best = (0.0, 0);
    for concurrency in CONCURRENCIES {
        let rate = client_round(plane, SHAPES[0], concurrency).await?;
        println!("  plain client, {concurrency:>3} requests at a time {rate:>7.0} /s");
        best = if rate > best.0 {
            (rate, concurrency)
        } else {
            best
        };
    }
    for shape @ (jobs, replicas) in SHAPES {
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            theirs.push(client_round(plane, shape, best.1).await?);
            ours.push(operator_round(plane, shape).await?);
        }
        let each = ours.iter().zip(&theirs);
        let ratios: Vec<f64> = each.map(|(ours, theirs)| ours / theirs).collect();
        println!("  {jobs} x {replicas} replicas");
        println!("    plain client             {:>7.0} /s", median(&theirs));
        println!("    operator                 {:>7.0} /s", median(&ours));
        let [least, most] = [f64::min, f64::max].map(|of| ratios.iter().copied().reduce(of));
        println!(
            "    ratio of each round      {:>7.2}    ({:.2} to {:.2}; wanted: 0.80 or more)",
            median(&ratios),
            least.unwrap_or_default(),
            most.unwrap_or_default()
        );
    }
    Ok(())
}

/// The manifests of a shape; a scheduler and the rest workers.
fn manifests((jobs, replicas): (u32, u32)) -> Vec<Value> {
    let job = |index| training(&format!("job-{index}"), 0, replicas - 1);
    (0..jobs).map(job).collect()
}

/// Objects a second of a client that just posts.
async fn client_round(plane: &ControlPlane, shape: (u32, u32), concurrency: usize) -> Result<f64> {
    let bench = Bench::new(plane, "client").await?;
    let start = Instant::now();
    let manifests = manifests(shape);
    let managed_elsewhere = json!({"runPolicy": {"managedBy": "example.org/bench"}});
    let jobs: Vec<MXJob<MxRole>> = stream::iter(manifests)
        .map(|manifest| {
            let manifest = with(manifest, managed_elsewhere.clone());
            let bench = &bench;
            async move { bench.create(&manifest).await }
        })
        .buffer_unordered(concurrency)
        .try_collect()
        .await?;
    let jobs: Vec<Job> = jobs
        .iter()
        .map(|job| Ok(Job::read(MxRole::TABLE, &serde_json::to_value(job)?)))
        .collect::<Result<_>>()?;
    let wirings = || {
        jobs.iter().filter_map(|job| {
            let spec = job.spec.as_ref().ok()?;
            Some(Wiring::new(job, spec, Addresses::Cluster))
        })
    };
    let services: Vec<_> = wirings().flat_map(|wiring| wiring.services()).collect();
    let pods: Vec<_> = wirings()
        .flat_map(|wiring| wiring.pods().collect::<Vec<_>>())
        .collect();
    let objects = services.len() + pods.len();
    ensure!(!pods.is_empty(), "nothing to post");
    post(&bench.services, services, concurrency).await?;
    post(&bench.pods, pods, concurrency).await?;
    let rate = rate(objects, start);
    settled(&bench).await?;
    Ok(rate)
}

/// Waits until the cluster's own controllers have done their part, which the next round is not to
/// pay for: they write a slice of endpoints for each service.
async fn settled(bench: &Bench) -> Result<()> {
    let slices: Api<EndpointSlice> = Api::namespaced(bench.client.clone(), &bench.namespace);
    until("the endpoints of all services", PATIENCE, || async {
        let (services, slices) = (count(&bench.services).await?, count(&slices).await?);
        Ok(if slices >= services {
            Seen::Done(())
        } else {
            Seen::NotYet(format!("{slices} of {services}"))
        })
    })
    .await
}

async fn post<K>(api: &Api<K>, objects: Vec<K>, concurrency: usize) -> Result<()>
where
    K: Clone + std::fmt::Debug + serde::Serialize + serde::de::DeserializeOwned,
{
    stream::iter(objects)
        .map(|object| async move {
            let posted = api.create(&PostParams::default(), &object).await;
            posted.map(drop).context("an object is refused")
        })
        .buffer_unordered(concurrency)
        .try_collect()
        .await
}

/// Objects a second of the operator, from the first job's creation to the last pod's.
async fn operator_round(plane: &ControlPlane, shape: (u32, u32)) -> Result<f64> {
    let bench = Bench::new(plane, "operator").await?;
    let operator = Operator::start(plane, &bench.namespace)?;
    operator.says("caches are complete").await?;
    let start = Instant::now();
    let created = stream::iter(manifests(shape)).map(|manifest| {
        let bench = &bench;
        async move { bench.create(&manifest).await.map(drop) }
    });
    let created: Vec<()> = created.buffer_unordered(16).try_collect().await?;
    let replicas = shape.0 * shape.1;
    pods_there(&bench, replicas).await?;
    let rate = rate(usize::try_from(2 * replicas)?, start);
    ensure!(
        created.len() == usize::try_from(shape.0)?,
        "jobs are missing"
    );
    drop(operator);
    settled(&bench).await?;
    Ok(rate)
}

fn rate(objects: usize, start: Instant) -> f64 {
    f64::from(u32::try_from(objects).unwrap_or(u32::MAX)) / start.elapsed().as_secs_f64()
}

/// Waits until there are so many pods.
async fn pods_there(bench: &Bench, wanted: u32) -> Result<()> {
    until(&format!("{wanted} pods"), PATIENCE, || async {
        let there = count(&bench.pods).await?;
        Ok(if there >= wanted {
            Seen::Done(())
        } else {
            Seen::NotYet(there.to_string())
        })
    })
    .await
}

async fn small_beside_large(plane: &ControlPlane) -> Result<()> {
    let bench = Bench::new(plane, "beside").await?;
    let _operator = Operator::start(plane, &bench.namespace)?;
    let mut waits = Vec::new();
    let mut round = 0;
    while waits.len() < usize::try_from(SMALL)? {
        bench
            .create(&training(&format!("large-{round}"), 0, 999))
            .await?;
        let last = format!("large-{round}-worker-998");
        pods_there(&bench, 1).await?;
        while bench.pods.get_metadata_opt(&last).await?.is_none() {
            let name = format!("small-{}", waits.len());
            let label = format!("{}={name}", labels::JOB);
            let of_job = WatchParams::default().labels(&label);
            let mut pods = bench.pods.watch(&of_job, "0").await?.boxed();
            let asked = Instant::now();
            bench.create(&training(&name, 1, 1)).await?;
            let created = Instant::now();
            let mut there = BTreeSet::new();
            while there.len() < 3 {
                let event = tokio::time::timeout(PATIENCE, pods.try_next()).await;
                match event.context("a small job without pods")?? {
                    Some(WatchEvent::Added(pod)) => drop(there.insert(pod.name_any())),
                    Some(_) => {}
                    // A server with much to do ends watches that are slow to read.
                    None => pods = bench.pods.watch(&of_job, "0").await?.boxed(),
                }
            }
            let since = |start: Instant| start.elapsed().as_secs_f64();
            waits.push((since(asked), since(created)));
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        round += 1;
    }
    println!(
        "a job of 3 replicas created while one of 1,000 starts, {} times",
        waits.len()
    );
    let (asked, created): (Vec<f64>, Vec<f64>) = waits.into_iter().unzip();
    for (since, waits, wanted) in [
        ("its creation", created, " (wanted: under 1.00)"),
        ("the request to create it", asked, ""),
    ] {
        let mut waits = waits;
        waits.sort_by(f64::total_cmp);
        let (last, most) = (waits.len() - 1, (waits.len() * 99).div_ceil(100) - 1);
        println!("  all its pods there, since {since}");
        println!("    median                   {:>7.2} s", median(&waits));
        println!(
            "    99 of 100                {:>7.2} s{wanted}",
            waits[most]
        );
        println!("    the slowest              {:>7.2} s", waits[last]);
    }
    Ok(())
}

async fn memory(plane: &ControlPlane) -> Result<()> {
    let bench = Bench::new(plane, "memory").await?;
    let operator = Operator::start(plane, &bench.namespace)?;
    let shared = json!({"network": {"services": "PerJob"}});
    for job in 0..10 {
        let manifest = training(&format!("job-{job}"), 0, PODS_KNOWN / 10 - 1);
        bench.create(&with(manifest, shared.clone())).await?;
    }
    pods_there(&bench, PODS_KNOWN).await?;
    let made = Usage::of(operator.pid())?;
    operator.kill()?;
    let operator = Operator::start(plane, &bench.namespace)?;
    // A job that comes after all the others were looked at.
    bench.create(&with(training("last", 0, 1), shared)).await?;
    pods_there(&bench, PODS_KNOWN + 2).await?;
    let read = Usage::of(operator.pid())?;
    println!("the operator's memory with 10,000 own pods, now and peak");
    for (what, usage) in [("made by it", made), ("read at its start", read)] {
        let Usage { memory, peak, .. } = usage;
        println!("  {what:<18} {memory:>6.1} {peak:>6.1} MiB (wanted: under 64)");
    }
    Ok(())
}

fn median(figures: &[f64]) -> f64 {
    let mut sorted = figures.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[sorted.len() / 2]
}
