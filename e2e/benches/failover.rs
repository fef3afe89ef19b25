//! How long it takes from the end of a leader to the first write of the operator that stood by:
//! `cargo bench -p e2e --bench failover`, or a part of it: `-- told` (SIGTERM), `-- killed` (SIGKILL).
//! About ten minutes and the build.
//!
//! Each leader ends in the middle of the start of a job of 600 pods; the times of the writes are those
//! at which the server received them, by its audit log.

#![allow(
    clippy::print_stdout,
    clippy::indexing_slicing,
    reason = "a program that prints figures"
)]

#[path = "../tests/operator/bench/mod.rs"]
mod bench;

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use bench::{Bench, Operator, PATIENCE, training, with};
use e2e::ControlPlane;
use e2e::deadline::{Seen, until};
use jiff::Timestamp;
use kube::api::{DeleteParams, ListParams};
use mxjob_core::{MxRole, ReplicaRole as _};
use serde_json::{Value, json};

const WORKERS: u32 = 599;
/// Rounds of each part, and what is wanted of 99 of 100, in seconds.
const TOLD: (usize, f64) = (100, 1.0);
const KILLED: (usize, f64) = (25, 7.0);

#[tokio::main]
async fn main() -> Result<()> {
    let plane = ControlPlane::start().await?;
    let crd = mxjob_core::schema::crd(MxRole::TABLE);
    plane.install_crds(&[crd]).await?;
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    // Cargo adds flags of its own.
    let all = wanted.iter().all(|word| word.starts_with("--"));
    let is_wanted = |part: &str| all || wanted.iter().any(|word| word == part);
    if is_wanted("told") {
        part(&plane, "SIGTERM", "-TERM", TOLD).await?;
    }
    if is_wanted("killed") {
        part(&plane, "SIGKILL", "-KILL", KILLED).await?;
    }
    Ok(())
}

async fn part(
    plane: &ControlPlane,
    what: &str,
    signal: &str,
    (rounds, wanted): (usize, f64),
) -> Result<()> {
    let bench = Bench::new(plane, "failover").await?;
    let mut leader = start(plane, &bench)?;
    leader.says("this operator leads").await?;
    let mut waits = Vec::new();
    for round in 0..rounds {
        let standby = start(plane, &bench)?;
        standby.says("caches are complete, standing by").await?;
        waits.push(first_write(plane, &bench, &leader, signal, &standby).await?);
        leader.end(PATIENCE).await?;
        let name = "job";
        bench.pods(usize::try_from(WORKERS)? + 1).await?;
        bench
            .jobs
            .delete(name, &DeleteParams::background())
            .await
            .with_context(|| format!("round {round}"))?;
        // The garbage collector takes minutes for so many.
        let (at_once, all) = (
            DeleteParams::default().grace_period(0),
            ListParams::default(),
        );
        bench.pods.delete_collection(&at_once, &all).await?;
        bench.pods(0).await?;
        leader = standby;
    }
    waits.sort_by(f64::total_cmp);
    println!("{what} of the leader to the first write of the one that stood by, {rounds} times");
    println!("  median    {:>6.2} s", waits[waits.len() / 2]);
    let most = waits[(waits.len() * 99).div_ceil(100) - 1];
    println!("  99 of 100 {most:>6.2} s (wanted: {wanted:.2})");
    println!("  longest   {:>6.2} s", waits[waits.len() - 1]);
    Ok(())
}

fn start(plane: &ControlPlane, bench: &Bench) -> Result<Operator> {
    Operator::start_rival(&plane.kubeconfig(), &bench.namespace, &[])
}

/// Seconds from the signal to what the other writes first.
async fn first_write(
    plane: &ControlPlane,
    bench: &Bench,
    leader: &Operator,
    signal: &str,
    standby: &Operator,
) -> Result<f64> {
    let job = training("job", 0, WORKERS);
    let shared = json!({"network": {"services": "PerJob"}});
    bench.create(&with(job, shared)).await?;
    until("the first pods", PATIENCE, || async {
        Ok(bench
            .pods
            .list_metadata(&ListParams::default())
            .await?
            .items
            .len()
            >= 5)
    })
    .await?;
    let mut log = File::open(plane.folder().join("audit.log"))?;
    log.seek(SeekFrom::End(0))?;
    let identity = standby.identity().await?;
    let sent = Timestamp::now();
    leader.signal(signal)?;
    let mut text = String::new();
    let patience = Duration::from_secs(30);
    let found = until("a write of the one that stood by", patience, || {
        let read = log.read_to_string(&mut text);
        let first = read
            .map_err(Into::into)
            .and_then(|_| first_of(&text, &identity));
        async move { Ok(first?.map_or(Seen::NotYet("none".to_owned()), Seen::Done)) }
    })
    .await?;
    let wait = found.duration_since(sent).as_secs_f64();
    ensure!(wait > 0.0, "it wrote before the other had ended");
    Ok(wait)
}

/// When the server received the first write of that operator, other than of the lease.
fn first_of(log: &str, identity: &str) -> Result<Option<Timestamp>> {
    // What follows the last line break is being written at this moment.
    let complete = log.rfind('\n').and_then(|end| log.get(..end));
    let mut times = Vec::new();
    for line in complete.unwrap_or_default().lines() {
        if !line.contains(identity) {
            continue;
        }
        let event: Value = serde_json::from_str(line)?;
        let verb = event["verb"].as_str().unwrap_or_default();
        let is_write = !["get", "list", "watch"].contains(&verb);
        if is_write && event["objectRef"]["resource"] != "leases" {
            let time = event["requestReceivedTimestamp"].as_str();
            times.push(time.context("no time")?.parse()?);
        }
    }
    Ok(times.into_iter().min())
}
