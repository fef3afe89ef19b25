//! What was wrong with the older operators, or promised by them, and takes a server to see.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use e2e::ScriptedKubelet;
use e2e::proxy::{Proxy, Rule};
use kube::api::{DeleteParams, ListParams, Patch, PatchParams};
use serde_json::json;

use crate::bench::{Bench, Operator, training, with};
use crate::releases::ready;

// promise: P34
#[tokio::test]
async fn a_name_in_two_namespaces_is_two_jobs() -> Result<()> {
    // A control plane of its own: an operator that looks after all namespaces.
    let (one, plane) = Bench::own("one").await?;
    let other = Bench::new(&plane, "other").await?;
    let _operator = Operator::start_with(&plane, &[])?;
    let kubelet = |bench: &Bench| ScriptedKubelet::run_all(bench.client.clone(), &bench.namespace);
    let kubelets = [kubelet(&one), kubelet(&other)];
    for bench in [&one, &other] {
        bench.create(&training("digits", 0, 1)).await?;
        bench.phase("digits", "Running").await?;
        bench.pods(2).await?;
    }
    let [first, second] = kubelets;
    first.fail("digits-worker-0", 1).await?;
    one.phase("digits", "Failed").await?;
    other.phase("digits", "Running").await?;
    for pod in ["digits-worker-0", "digits-scheduler-0"] {
        second.succeed(pod).await?;
    }
    other.phase("digits", "Succeeded").await?;
    one.phase("digits", "Failed").await?;
    Ok(())
}

// promise: P77
// defect: D11
#[tokio::test]
async fn jobs_that_go_while_the_operator_is_away_leave_nothing() -> Result<()> {
    let (bench, plane) = Bench::shared("leftovers").await?;
    let operator = Operator::start(plane, &bench.namespace)?;
    let kubelet = ScriptedKubelet::run_all(bench.client.clone(), &bench.namespace);
    let keep = json!({"runPolicy": {"cleanPodPolicy": "None"}});
    bench.create(&training("runs", 1, 1)).await?;
    bench.create(&with(training("fails", 1, 1), keep)).await?;
    for name in ["runs", "fails"] {
        bench.phase(name, "Running").await?;
    }
    kubelet.fail("fails-worker-0", 1).await?;
    bench.phase("fails", "Failed").await?;
    // All three of the one, and of the other at least what has failed.
    let left = bench.pods.list(&ListParams::default()).await?;
    assert!(left.items.len() >= 4, "{}", left.items.len());
    operator.kill()?;
    for name in ["runs", "fails"] {
        bench.jobs.delete(name, &DeleteParams::background()).await?;
    }
    bench.nothing().await
}

// defect: D10
#[tokio::test]
async fn jobs_stay_as_they_are_when_the_operator_starts_again() -> Result<()> {
    let (bench, plane) = Bench::shared("stay").await?;
    let operator = Operator::start(plane, &bench.namespace)?;
    let kubelet = ScriptedKubelet::run_all(bench.client.clone(), &bench.namespace);
    for name in ["good", "bad"] {
        bench.create(&training(name, 0, 1)).await?;
        bench.phase(name, "Running").await?;
    }
    kubelet.fail("bad-worker-0", 1).await?;
    for pod in ["good-worker-0", "good-scheduler-0"] {
        kubelet.succeed(pod).await?;
    }
    let ended = [("good", "Succeeded"), ("bad", "Failed")];
    for (name, phase) in ended {
        bench.phase(name, phase).await?;
    }
    drop(kubelet);
    // Its pods are there, and nothing runs them yet.
    bench.create(&training("begun", 0, 1)).await?;
    bench.phase("begun", "Created").await?;
    let status = async |name: &str| -> Result<_> { Ok(bench.jobs.get(name).await?.status) };
    let before = [status("good").await?, status("bad").await?];
    operator.kill()?;
    let _next = Operator::start(plane, &bench.namespace)?;
    let kubelet = ScriptedKubelet::run_all(bench.client.clone(), &bench.namespace);
    bench.phase("begun", "Running").await?;
    bench.another_life(&kubelet).await?;
    ensure!(
        [status("good").await?, status("bad").await?] == before,
        "{before:?}"
    );
    Ok(())
}

// defect: D14
#[tokio::test]
async fn after_failures_and_many_changes_news_of_a_pod_are_seen_at_once() -> Result<()> {
    let (bench, plane) = Bench::shared("prompt").await?;
    let proxy = Proxy::start(plane).await?;
    let not_written = || Rule::on("patch", "mxjobs/status").named("digits");
    // The wait after the fourth is about four seconds, that after a fifth would be eight.
    proxy.add(not_written().times(4));
    let _operator = Operator::start_through(&proxy, &bench.namespace)?;
    let kubelet = ScriptedKubelet::run_all(bench.client.clone(), &bench.namespace);
    bench.create(&training("digits", 0, 1)).await?;
    // What is left to be written meets the changes below, and its conflicts are tried again, too.
    ready(&bench, "digits", "2/2").await?;
    let plain = PatchParams::default();
    for round in 0..50 {
        let note = json!({"metadata": {"annotations": {"round": round.to_string()}}});
        let note = Patch::Merge(note);
        bench.jobs.patch("digits", &plain, &note).await?;
        bench.pods.patch("digits-worker-0", &plain, &note).await?;
    }
    proxy.add(not_written().times(1));
    for pod in ["digits-worker-0", "digits-scheduler-0"] {
        kubelet.succeed(pod).await?;
    }
    let ended = Instant::now();
    bench.phase("digits", "Succeeded").await?;
    let seen = ended.elapsed();
    ensure!(seen < Duration::from_secs(6), "after {seen:?}");
    Ok(())
}
