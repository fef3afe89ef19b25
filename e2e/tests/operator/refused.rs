//! The server refuses what the operator wants to make.

use std::time::Duration;

use crate::bench::{Bench, Operator, PATIENCE, training, with};
use anyhow::{Context as _, Result, ensure};
use e2e::deadline::until;
use k8s_openapi::api::core::v1::ResourceQuota;
use kube::api::{Api, PostParams};
use mxjob_core::api::v1::ConditionType;
use serde_json::json;

/// Allows no pods in the namespace, and waits until the server knows.
async fn no_pods(bench: &Bench) -> Result<()> {
    let quotas: Api<ResourceQuota> = Api::namespaced(bench.client.clone(), &bench.namespace);
    let quota = json!({"metadata": {"name": "none"}, "spec": {"hard": {"pods": "0"}}});
    quotas
        .create(&PostParams::default(), &serde_json::from_value(quota)?)
        .await?;
    until("the quota to be in force", PATIENCE, || async {
        let status = quotas.get("none").await?.status.unwrap_or_default();
        Ok(status.used.is_some())
    })
    .await
}

// contract: 7.6
#[tokio::test]
async fn a_deadline_fires_in_time_while_pods_are_refused() -> Result<()> {
    let (bench, plane) = Bench::shared("refused").await?;
    no_pods(&bench).await?;
    let _operator = Operator::start(plane, &bench.namespace)?;
    // The waits between attempts are 0.5, 1, 2, 4, 8 s: without a timer the look after that at
    // about 6 s would come at about 14 s.
    let limit = Duration::from_secs(9);
    let deadline = json!({"runPolicy": {"activeDeadlineSeconds": limit.as_secs()}});
    bench
        .create(&with(training("digits", 0, 1), deadline))
        .await?;
    let said = bench.event("FailedCreatePod").await?;
    ensure!(said.contains("exceeded quota"), "{said}");
    let status = bench
        .phase("digits", "Failed")
        .await?
        .status
        .context("no status")?;
    let message = &status
        .condition(ConditionType::Failed)
        .context("no condition")?
        .message;
    let expected = "Job digits has failed because it was active longer than specified deadline";
    assert_eq!(message.as_deref(), Some(expected));
    let start = status.start_time.context("no start")?.0;
    let end = status.completion_time.context("no end")?.0;
    let took = Duration::try_from(end.duration_since(start))?;
    ensure!(
        (limit..=limit + Duration::from_secs(2)).contains(&took),
        "after {took:?}"
    );
    Ok(())
}
