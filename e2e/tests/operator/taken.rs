//! Objects of somebody else under the names of a job's.

use crate::bench::{Bench, Operator, PATIENCE, SENTINEL, training};
use anyhow::Result;
use e2e::ScriptedKubelet;
use e2e::deadline::until;
use e2e::kubelet::Behaviour;
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt as _;
use kube::api::{DeleteParams, ListParams, PostParams};
use mxjob_core::api::v1::ConditionType;
use serde_json::json;

// contract: 5.3.4, 9.5
#[tokio::test]
async fn a_name_that_is_taken_stalls_the_job_until_it_is_free() -> Result<()> {
    let (bench, plane) = Bench::shared("taken").await?;
    let theirs: Pod = serde_json::from_value(json!({
        "metadata": {"name": "digits-worker-0"},
        "spec": {"containers": [{"name": "theirs", "image": "example.com/theirs"}]},
    }))?;
    let theirs = bench.pods.create(&PostParams::default(), &theirs).await?;
    let operator = Operator::start(plane, &bench.namespace)?;
    bench.create(&training("digits", 1, 1)).await?;

    operator
        .says(r#"action="create pod digits-worker-0""#)
        .await?;
    let message = bench.event("FailedCreatePod").await?;
    assert!(message.contains("digits-worker-0"), "{message}");
    until("the job to be stalled", PATIENCE, || async {
        let status = bench.jobs.get("digits").await?.status.unwrap_or_default();
        let stalled = status
            .condition(ConditionType::Stalled)
            .filter(|one| one.is_true());
        Ok(stalled.is_some_and(|one| one.reason.as_deref() == Some("NameTaken")))
    })
    .await?;
    bench.pods(3).await?;
    // A kubelet would touch their pod.
    let kubelet = ScriptedKubelet::spawn(bench.client.clone(), &bench.namespace, |name, _| {
        if name.starts_with(SENTINEL) {
            Behaviour::Run
        } else {
            Behaviour::Pending
        }
    });
    bench.another_life(&kubelet).await?;
    drop(kubelet);
    assert_eq!(
        bench.pods.get("digits-worker-0").await?.resource_version(),
        theirs.resource_version(),
        "never touched"
    );

    bench
        .pods
        .delete("digits-worker-0", &DeleteParams::default().grace_period(0))
        .await?;
    let _kubelet = ScriptedKubelet::run_all(bench.client.clone(), &bench.namespace);
    bench.phase("digits", "Running").await?;
    until("the job to be well again", PATIENCE, || async {
        let status = bench.jobs.get("digits").await?.status.unwrap_or_default();
        Ok(!status.is(ConditionType::Stalled))
    })
    .await
}

#[tokio::test]
async fn a_job_whose_name_is_taken_is_not_written_again_by_the_next_operator() -> Result<()> {
    let (bench, plane) = Bench::shared("taken-restart").await?;
    let theirs: Pod = serde_json::from_value(json!({
        "metadata": {"name": "digits-worker-0"},
        "spec": {"containers": [{"name": "theirs", "image": "example.com/theirs"}]},
    }))?;
    bench.pods.create(&PostParams::default(), &theirs).await?;
    let operator = Operator::start(plane, &bench.namespace)?;
    bench.create(&training("digits", 1, 1)).await?;
    until("the job to be stalled", PATIENCE, || async {
        let status = bench.jobs.get("digits").await?.status.unwrap_or_default();
        Ok(status.is(ConditionType::Stalled))
    })
    .await?;
    bench.event("FailedCreatePod").await?;
    let kubelet = ScriptedKubelet::spawn(bench.client.clone(), &bench.namespace, |name, _| {
        if name.starts_with(SENTINEL) {
            Behaviour::Run
        } else {
            Behaviour::Pending
        }
    });
    bench.another_life(&kubelet).await?;
    let seen = async || -> Result<_> {
        let mut events = bench.events().await?;
        events.retain(|(reason, _), _| reason.starts_with("Failed"));
        Ok((bench.jobs.get("digits").await?.resource_version(), events))
    };
    let before = seen().await?;
    operator.kill()?;
    let _operator = Operator::start(plane, &bench.namespace)?;
    bench.another_life(&kubelet).await?;
    assert_eq!(seen().await?, before);
    Ok(())
}

// contract: 8.8
#[tokio::test]
async fn a_job_created_again_at_once_waits_for_the_pods_of_the_old_one() -> Result<()> {
    let (bench, plane) = Bench::shared("again").await?;
    let _operator = Operator::start(plane, &bench.namespace)?;
    let _kubelet = ScriptedKubelet::run_all(bench.client.clone(), &bench.namespace);
    bench.create(&training("digits", 1, 1)).await?;
    bench.phase("digits", "Running").await?;
    bench
        .jobs
        .delete("digits", &DeleteParams::background())
        .await?;
    let uid = bench.create(&training("digits", 1, 1)).await?.uid();
    bench.phase("digits", "Running").await?;
    until("pods of the new job only", PATIENCE, || async {
        let pods = bench.pods.list(&ListParams::default()).await?;
        let ours = pods.iter().filter(|pod| {
            pod.owner_references()
                .first()
                .map(|owner| owner.uid.clone())
                == uid
        });
        Ok(ours.count() == 3 && pods.items.len() == 3)
    })
    .await?;
    let status = bench.jobs.get("digits").await?.status.unwrap_or_default();
    assert!(
        status
            .replica_statuses
            .values()
            .all(|role| role.restarts == 0),
        "{status:?}"
    );
    Ok(())
}
