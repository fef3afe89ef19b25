//! Somebody wipes the status of a job: v1.md 6 and 9.

use crate::bench::{Bench, Operator, PATIENCE, training, with};
use crate::facts::{all_run, made, overwrite_status, said_once, succeed};
use anyhow::{Context as _, Result, ensure};
use e2e::deadline::{Seen, until};
use e2e::{ControlPlane, ScriptedKubelet};
use mxjob_core::api::v1::{ConditionType, JobStatus};
use serde_json::json;

const WIPED: &str = "somebody had wiped the status";

async fn status(bench: &Bench) -> Result<JobStatus> {
    let job = bench.jobs.get("digits").await?;
    job.status.context("no status")
}

/// Waits until the status is this one again.
async fn comes_back(bench: &Bench, known: &JobStatus) -> Result<()> {
    until("the status to be back", PATIENCE, || async {
        let now = bench.jobs.get("digits").await?.status.unwrap_or_default();
        Ok(if now == *known {
            Seen::Done(())
        } else {
            Seen::NotYet(serde_json::to_string(&now)?)
        })
    })
    .await
}

/// A job in its second life, all of it written.
async fn second_life(bench: &Bench, kubelet: &ScriptedKubelet) -> Result<JobStatus> {
    let policy = json!({"failurePolicy": {"maxRestarts": 3}});
    bench
        .create(&with(training("digits", 1, 2), policy))
        .await?;
    bench.phase("digits", "Running").await?;
    kubelet.fail("digits-worker-1", 1).await?;
    bench.restarted("digits", 1).await?;
    until("all to run and to be counted", PATIENCE, || async {
        let status = status(bench).await?;
        Ok(if status.ready.as_deref() == Some("4/4") {
            Seen::Done(status)
        } else {
            Seen::NotYet(serde_json::to_string(&status)?)
        })
    })
    .await
}

/// The job ends well, in its second life, and no pod of that was made twice.
async fn ends_well(bench: &Bench, plane: &ControlPlane, kubelet: &ScriptedKubelet) -> Result<()> {
    succeed(kubelet, "digits", 2).await?;
    let status = bench.phase("digits", "Succeeded").await?.status;
    ensure!(status.context("no status")?.restarts == Some(1));
    let made = made(bench, plane)?;
    ensure!(
        made.len() == 4 && made.values().all(|times| *times == 2),
        "one in each life: {made:?}"
    );
    Ok(())
}

#[tokio::test]
async fn wiped_in_mid_run_it_comes_back_whole() -> Result<()> {
    let (bench, plane) = Bench::shared("wiped-run").await?;
    let operator = Operator::start(plane, &bench.namespace)?;
    let kubelet = ScriptedKubelet::run_all(bench.client.clone(), &bench.namespace);
    let known = second_life(&bench, &kubelet).await?;
    assert_eq!((known.restarts, known.counted_restarts), (Some(1), Some(1)));
    overwrite_status(&bench, "digits", json!({})).await?;
    comes_back(&bench, &known).await?;
    operator.says(WIPED).await?;
    said_once(&operator, WIPED)?;
    ends_well(&bench, plane, &kubelet).await
}

#[tokio::test]
async fn wiped_while_the_operator_is_away_the_pods_tell_the_restarts() -> Result<()> {
    let (bench, plane) = Bench::shared("wiped-away").await?;
    let operator = Operator::start(plane, &bench.namespace)?;
    let kubelet = ScriptedKubelet::run_all(bench.client.clone(), &bench.namespace);
    second_life(&bench, &kubelet).await?;
    let before = all_run(&bench, "digits", 4).await?;
    operator.kill()?;
    overwrite_status(&bench, "digits", json!({})).await?;
    let _second = Operator::start(plane, &bench.namespace)?;
    bench.restarted("digits", 1).await?;
    bench.phase("digits", "Running").await?;
    let after = all_run(&bench, "digits", 4).await?;
    for (name, pod) in &before {
        assert_eq!(
            pod.metadata.uid,
            after.get(name).and_then(|pod| pod.metadata.uid.clone())
        );
    }
    ends_well(&bench, plane, &kubelet).await
}

/// Ends a job, wipes its status, and waits for its end to be back; no pod is made again.
async fn wiped_at_the_end(prefix: &str, clean: &str, while_away: bool) -> Result<()> {
    let (bench, plane) = Bench::shared(prefix).await?;
    let operator = Operator::start(plane, &bench.namespace)?;
    let kubelet = ScriptedKubelet::run_all(bench.client.clone(), &bench.namespace);
    let policy = json!({"runPolicy": {"cleanPodPolicy": clean}});
    bench
        .create(&with(training("digits", 1, 1), policy))
        .await?;
    succeed(&kubelet, "digits", 1).await?;
    bench.phase("digits", "Succeeded").await?;
    bench.pods(if clean == "All" { 0 } else { 2 }).await?;
    let known = status(&bench).await?;
    let operator = if while_away {
        operator.kill()?;
        overwrite_status(&bench, "digits", json!({})).await?;
        Operator::start(plane, &bench.namespace)?
    } else {
        overwrite_status(&bench, "digits", json!({})).await?;
        operator
    };
    if while_away {
        bench.phase("digits", "Succeeded").await?;
    } else {
        comes_back(&bench, &known).await?;
        operator.says(WIPED).await?;
        said_once(&operator, WIPED)?;
    }
    let now = status(&bench).await?;
    assert!(now.is(ConditionType::Succeeded) && now.completion_time.is_some());
    bench.another_life(&kubelet).await?;
    crate::facts::each_pod_once(&bench, plane, "digits")
}

#[tokio::test]
async fn wiped_after_the_end_there_is_no_second_life_even_without_pods() -> Result<()> {
    wiped_at_the_end("wiped-end", "All", false).await
}

#[tokio::test]
async fn wiped_after_the_end_while_the_operator_is_away_the_pods_tell_the_end() -> Result<()> {
    wiped_at_the_end("wiped-end-away", "Running", true).await
}
