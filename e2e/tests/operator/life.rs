//! A job's life under the operator: it starts, it succeeds, it fails, it starts over.

use crate::bench::{Bench, Operator, training, with};
use anyhow::Result;
use e2e::ScriptedKubelet;
use kube::ResourceExt;
use kube::api::ListParams;
use mxjob_core::api::v1::ConditionType;
use serde_json::json;

// contract: 4.1, 6.2, 8.2
// defect: D20
#[tokio::test]
async fn a_job_succeeds_when_scheduler_and_workers_have_ended_well() -> Result<()> {
    let (bench, plane) = Bench::shared("succeeds").await?;
    let _operator = Operator::start(plane, &bench.namespace)?;
    let kubelet = ScriptedKubelet::run_all(bench.client.clone(), &bench.namespace);

    bench.create(&training("digits", 1, 2)).await?;
    let running = bench.phase("digits", "Running").await?.status.unwrap();
    assert_eq!(running.mode.as_deref(), Some("MXTrain"));
    for pod in ["digits-worker-0", "digits-worker-1", "digits-scheduler-0"] {
        kubelet.succeed(pod).await?;
    }
    let ended = bench.phase("digits", "Succeeded").await?;
    assert_eq!(ended.metadata.generation, Some(1), "the spec was written");
    let status = ended.status.unwrap();
    assert!(status.completion_time.is_some());
    assert_eq!(
        status.condition(ConditionType::Running).unwrap().status,
        "False"
    );

    // The server still ran; what has ended by itself is kept.
    let left: Vec<_> = bench
        .pods(3)
        .await?
        .iter()
        .map(ResourceExt::name_any)
        .collect();
    assert_eq!(
        left,
        ["digits-scheduler-0", "digits-worker-0", "digits-worker-1"]
    );
    assert!(
        bench
            .services
            .list(&ListParams::default())
            .await?
            .items
            .is_empty()
    );
    assert_eq!(
        bench.event("MXJobSucceeded").await?,
        "MXJob digits is successfully completed."
    );
    Ok(())
}

// contract: 7.1.1, 8.2, 10.2, 10.3
#[tokio::test]
async fn a_worker_that_fails_fails_the_job_once() -> Result<()> {
    let (bench, plane) = Bench::shared("fails").await?;
    let _operator = Operator::start(plane, &bench.namespace)?;
    let kubelet = ScriptedKubelet::run_all(bench.client.clone(), &bench.namespace);

    bench.create(&training("digits", 1, 2)).await?;
    bench.phase("digits", "Running").await?;
    kubelet.fail("digits-worker-1", 1).await?;
    let status = bench.phase("digits", "Failed").await?.status.unwrap();
    let failed = status.condition(ConditionType::Failed).unwrap();
    let message = "mxjob digits is failed because 1 Worker replica(s) failed.";
    assert_eq!(failed.message.as_deref(), Some(message));
    assert!(status.completion_time.is_some());

    let left: Vec<_> = bench
        .pods(1)
        .await?
        .iter()
        .map(ResourceExt::name_any)
        .collect();
    assert_eq!(left, ["digits-worker-1"]);
    bench.event("MXJobFailed").await?;
    let events = bench.events().await?;
    let said = |reason: &str| {
        events
            .iter()
            .filter(|((one, _), _)| one == reason)
            .map(|(_, count)| count)
            .sum::<i32>()
    };
    assert_eq!(
        (said("MXJobFailed"), said("ExitedWithCode")),
        (1, 1),
        "{events:?}"
    );
    Ok(())
}

// contract: 7.4.2, 7.4.3, 10.3
#[tokio::test]
async fn a_failure_policy_starts_the_whole_job_over_as_often_as_it_says() -> Result<()> {
    let (bench, plane) = Bench::shared("over").await?;
    let _operator = Operator::start(plane, &bench.namespace)?;
    let kubelet = ScriptedKubelet::run_all(bench.client.clone(), &bench.namespace);

    let policy = json!({"failurePolicy": {"maxRestarts": 1}});
    bench
        .create(&with(training("digits", 1, 2), policy))
        .await?;
    bench.phase("digits", "Running").await?;
    let before: Vec<_> = bench.pods(4).await?.iter().map(ResourceExt::uid).collect();
    kubelet.fail("digits-worker-0", 1).await?;
    bench.restarted("digits", 1).await?;
    bench.phase("digits", "Running").await?;
    let after: Vec<_> = bench.pods(4).await?.iter().map(ResourceExt::uid).collect();
    assert!(
        before.iter().all(|uid| !after.contains(uid)),
        "every pod is a new one"
    );

    kubelet.fail("digits-server-0", 1).await?;
    let status = bench.phase("digits", "Failed").await?.status.unwrap();
    let failed = status.condition(ConditionType::Failed).unwrap();
    let message = "Job digits has failed because it has reached maxRestarts (1)";
    assert_eq!(failed.message.as_deref(), Some(message));
    assert_eq!(status.restarts, Some(1));
    Ok(())
}
