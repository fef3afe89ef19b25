//! The apiserver is away for half a minute: gone, or silent; the way to it is; one watch is silent.

use std::collections::BTreeSet;
use std::process::Command;
use std::time::Duration;

use crate::bench::{Bench, Operator, PATIENCE, training, with};
use crate::facts::{all_run, each_pod_once, lines, said_once, succeed};
use anyhow::{Context as _, Result, ensure};
use e2e::deadline::until;
use e2e::kubelet::Behaviour;
use e2e::proxy::{Cut, Proxy};
use e2e::{ControlPlane, ScriptedKubelet, http};
use kube::ResourceExt;
use kube::api::{DeleteParams, ListParams};
use mxjob_core::api::v1::ConditionType;
use serde_json::json;

const AWAY: Duration = Duration::from_secs(30);
const WORKERS: u32 = 700;
/// With its scheduler.
const REPLICAS: usize = 701;

/// Three jobs: one runs, one has a deadline that passes while the server is away, one is in the middle
/// of its start.
async fn three_jobs(bench: &Bench) -> Result<()> {
    bench.create(&training("runs", 1, 1)).await?;
    all_run(bench, "runs", 3).await?;
    bench.phase("runs", "Running").await?;
    let deadline = json!({"runPolicy": {"activeDeadlineSeconds": 25}});
    bench
        .create(&with(training("late", 0, 1), deadline))
        .await?;
    all_run(bench, "late", 2).await?;
    bench.phase("late", "Running").await?;
    bench.create(&training("starts", 0, WORKERS)).await?;
    until("the first pods", PATIENCE, || async {
        // No more of them: meanwhile others are made.
        let some = bench.pods.list(&ListParams::default().limit(15)).await?;
        Ok(some.items.len() >= 15)
    })
    .await
}

/// Runs all but the large job's pods: it does not try again what fails.
fn kubelet(bench: &Bench) -> ScriptedKubelet {
    ScriptedKubelet::spawn(bench.client.clone(), &bench.namespace, |name, _| {
        if name.starts_with("starts-") {
            Behaviour::Pending
        } else {
            Behaviour::Run
        }
    })
}

/// They end as if the server had been there, but that the deadline could not be written before.
async fn three_ends(bench: &Bench, plane: &ControlPlane, kubelet: &ScriptedKubelet) -> Result<()> {
    let late = bench.phase("late", "Failed").await?.status;
    let late = late.context("no status")?;
    let failed = late
        .condition(ConditionType::Failed)
        .context("not failed")?;
    let message = "Job late has failed because it was active longer than specified deadline";
    assert_eq!(failed.message.as_deref(), Some(message));
    let starts = |pod: &String| pod.starts_with("starts-");
    until("all pods of the third job", PATIENCE, || async {
        let pods = bench.pods.list(&ListParams::default()).await?.items;
        let names = pods.iter().map(ResourceExt::name_any);
        Ok(names.filter(starts).count() == REPLICAS)
    })
    .await?;
    succeed(kubelet, "runs", 1).await?;
    let runs = bench.phase("runs", "Succeeded").await?.status;
    let roles = runs.context("no status")?.replica_statuses;
    ensure!(roles.values().all(|role| role.restarts == 0), "{roles:?}");
    for job in ["runs", "late", "starts"] {
        each_pod_once(bench, plane, job)?;
    }
    Ok(())
}

/// An outage is said once for each watch, once for each job and error, once for events.
fn said_no_more_than_once(operator: &Operator) -> Result<()> {
    for resource in ["mxjobs", "pods", "services", "configmaps"] {
        let lost = format!("cannot watch, trying again resource=\"{resource}\"");
        said_once(operator, &lost)?;
        let back = format!("watching again resource=\"{resource}\"");
        ensure!(lines(operator, &back)?.len() <= 1, "{}", operator.log()?);
    }
    ensure!(
        lines(operator, " ERROR ")?.is_empty(),
        "{}",
        operator.log()?
    );
    for job in ["runs", "late", "starts"] {
        let about = format!(" job={job} ");
        let mut said = lines(operator, " WARN ")?;
        said.retain(|line| line.contains(&about));
        // A server that comes back may answer 503 for a moment: another error, so one more line.
        let errors = said.iter().filter_map(|line| line.split_once("error="));
        let errors: BTreeSet<_> = errors.map(|(_, error)| error).collect();
        ensure!(said.len() == errors.len(), "{said:#?}");
    }
    said_once(operator, " refused namespace=")?;
    ensure!(!lines(operator, " status not written namespace=")?.is_empty());
    ensure!(
        lines(operator, "event not sent")?.len() <= 1,
        "{}",
        operator.log()?
    );
    Ok(())
}

/// One that needs no lease, and so outlives a server that is away for longer than a lease.
fn alone(plane: &ControlPlane, bench: &Bench) -> Result<Operator> {
    let arguments = ["--namespace", &bench.namespace, "--leader-elect=false"];
    Operator::start_with(plane, &arguments)
}

#[tokio::test]
async fn killed_for_half_a_minute() -> Result<()> {
    let (bench, plane) = Bench::own("away").await?;
    let operator = alone(&plane, &bench)?;
    operator.says("caches are complete").await?;
    let kubelet = kubelet(&bench);
    three_jobs(&bench).await?;
    plane.stop_apiserver().await?;
    ensure!(
        crate::facts::made(&bench, &plane)?.len() < REPLICAS + 5,
        "stopped too late"
    );
    tokio::time::sleep(AWAY).await;
    plane.start_apiserver().await?;
    three_ends(&bench, &plane, &kubelet).await?;
    said_no_more_than_once(&operator)
}

#[tokio::test]
async fn silent_for_half_a_minute() -> Result<()> {
    let (bench, plane) = Bench::own("away").await?;
    let operator = alone(&plane, &bench)?;
    operator.says("caches are complete").await?;
    let kubelet = kubelet(&bench);
    three_jobs(&bench).await?;
    signal(&plane, "-STOP").await?;
    tokio::time::sleep(AWAY).await;
    signal(&plane, "-CONT").await?;
    three_ends(&bench, &plane, &kubelet).await?;
    // Every request was answered in the end, but that the server may have given some up.
    for text in [
        "cannot watch",
        " refused namespace=",
        " status not written namespace=",
    ] {
        ensure!(lines(&operator, text)?.len() <= 1, "{}", operator.log()?);
    }
    Ok(())
}

/// Sends a signal to the apiserver.
async fn signal(plane: &ControlPlane, signal: &str) -> Result<()> {
    let pids = plane.pids().await;
    let apiserver = pids.get(2).context("no apiserver")?.to_string();
    let status = Command::new("kill").args([signal, &apiserver]).status()?;
    ensure!(status.success(), "cannot send {signal}");
    Ok(())
}

#[tokio::test]
async fn out_of_reach_for_the_operator_alone_nothing_that_happens_is_missed() -> Result<()> {
    let (bench, plane) = Bench::shared("unreachable").await?;
    let mut proxy = Proxy::start(plane).await?;
    let operator = Operator::start_through(&proxy, &bench.namespace)?;
    operator.says("caches are complete").await?;
    let kubelet = ScriptedKubelet::run_all(bench.client.clone(), &bench.namespace);
    bench.create(&training("digits", 1, 2)).await?;
    all_run(&bench, "digits", 4).await?;
    bench.phase("digits", "Running").await?;
    proxy.leave();
    // All that happens happens behind its back.
    succeed(&kubelet, "digits", 2).await?;
    bench.create(&training("other", 0, 1)).await?;
    let cannot = ["mxjobs", "pods", "services", "configmaps"]
        .map(|resource| format!("cannot watch, trying again resource=\"{resource}\""));
    for text in &cannot {
        operator.says(text).await?;
    }
    proxy.come_back().await?;
    bench.phase("digits", "Succeeded").await?;
    all_run(&bench, "other", 2).await?;
    for job in ["digits", "other"] {
        each_pod_once(&bench, plane, job)?;
    }
    for text in &cannot {
        said_once(&operator, text)?;
    }
    Ok(())
}

#[tokio::test]
async fn a_job_whose_watch_has_fallen_silent_still_ends_in_time() -> Result<()> {
    let (bench, plane) = Bench::shared("silent").await?;
    let proxy = Proxy::start(plane).await?;
    let operator = Operator::start_through(&proxy, &bench.namespace)?;
    // Later than answers are believed that no watch confirms.
    let policy = json!({"runPolicy": {"activeDeadlineSeconds": 45}});
    bench
        .create(&with(training("digits", 1, 1), policy))
        .await?;
    bench.pods(3).await?;
    proxy.cut("mxjobs", Cut::Silent);
    let _kubelet = ScriptedKubelet::run_all(bench.client.clone(), &bench.namespace);
    bench.phase("digits", "Running").await?;
    // Nothing but its deadline ends it.
    bench.phase("digits", "Failed").await?;
    let (_, _, metrics) = http::get(operator.address("metrics").await?, "/metrics").await?;
    let deleted = "training_operator_jobs_deleted_total{";
    let deleted: Vec<_> = metrics
        .lines()
        .filter(|line| line.starts_with(deleted) && !line.ends_with(" 0"))
        .collect();
    ensure!(deleted.is_empty(), "{deleted:?}");

    // One that is really gone is found to be, although no watch says so.
    bench
        .jobs
        .delete("digits", &DeleteParams::default())
        .await?;
    let counted = r#"framework="mxnet"} 1"#;
    until("the job to be counted as deleted", PATIENCE, || async {
        let (_, _, metrics) = http::get(operator.address("metrics").await?, "/metrics").await?;
        let mut lines = metrics.lines();
        Ok(lines.any(|line| {
            line.starts_with("training_operator_jobs_deleted_total{") && line.ends_with(counted)
        }))
    })
    .await
}
