//! Objects of somebody else under the names of a job's.

use crate::bench::{Bench, Operator, PATIENCE, SENTINEL, training, with};
use anyhow::Result;
use e2e::deadline::until;
use e2e::kubelet::Behaviour;
use e2e::{ControlPlane, ScriptedKubelet};
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use kube::ResourceExt as _;
use kube::api::{Api, DeleteParams, ListParams, PostParams};
use mxjob_core::api::v1::ConditionType;
use serde_json::{Value, json};

/// Waits until the job says that one of its names is taken.
async fn stalled(bench: &Bench) -> Result<()> {
    until("the job to be stalled", PATIENCE, || async {
        let status = bench.jobs.get("digits").await?.status.unwrap_or_default();
        let stalled = status
            .condition(ConditionType::Stalled)
            .filter(|one| one.is_true());
        Ok(stalled.is_some_and(|one| one.reason.as_deref() == Some("NameTaken")))
    })
    .await
}

/// Runs the sentinel's pods only: a kubelet would touch a pod of somebody else.
fn sentinels_kubelet(bench: &Bench) -> ScriptedKubelet {
    ScriptedKubelet::spawn(bench.client.clone(), &bench.namespace, |name, _| {
        if name.starts_with(SENTINEL) {
            Behaviour::Run
        } else {
            Behaviour::Pending
        }
    })
}

/// Somebody's pod that has the name of the worker's.
async fn take_worker(bench: &Bench) -> Result<Pod> {
    let theirs = serde_json::from_value(json!({
        "metadata": {"name": "digits-worker-0"},
        "spec": {"containers": [{"name": "theirs", "image": "example.com/theirs"}]},
    }))?;
    Ok(bench.pods.create(&PostParams::default(), &theirs).await?)
}

fn config_maps(bench: &Bench) -> Api<ConfigMap> {
    Api::namespaced(bench.client.clone(), &bench.namespace)
}

/// Somebody's ConfigMap that has the name of the one with the job's layout.
async fn take_layout(bench: &Bench) -> Result<ConfigMap> {
    let theirs = json!({"metadata": {"name": "digits-cluster"}, "data": {"whose": "theirs"}});
    let (api, theirs) = (config_maps(bench), serde_json::from_value(theirs)?);
    Ok(api.create(&PostParams::default(), &theirs).await?)
}

/// A job whose layout is too long for a variable.
fn large() -> Value {
    let per_job = json!({"network": {"services": "PerJob"}});
    with(training("digits", 0, 800), per_job)
}

// contract: 5.3.4, 9.5
#[tokio::test]
async fn a_name_that_is_taken_stalls_the_job_until_it_is_free() -> Result<()> {
    let (bench, plane) = Bench::shared("taken").await?;
    let theirs = take_worker(&bench).await?;
    let operator = Operator::start(plane, &bench.namespace)?;
    bench.create(&training("digits", 1, 1)).await?;

    operator
        .says("create pod: digits-worker-0 already exists")
        .await?;
    let message = bench.event("FailedCreatePod").await?;
    assert!(message.contains("digits-worker-0"), "{message}");
    stalled(&bench).await?;
    bench.pods(3).await?;
    let kubelet = sentinels_kubelet(&bench);
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

/// The next operator finds the job stalled and says nothing new.
async fn is_not_written_again(bench: &Bench, job: &Value, event: &str) -> Result<()> {
    let plane = ControlPlane::shared().await?;
    let operator = Operator::start(plane, &bench.namespace)?;
    bench.create(job).await?;
    stalled(bench).await?;
    bench.event(event).await?;
    let kubelet = sentinels_kubelet(bench);
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

#[tokio::test]
async fn a_job_whose_name_is_taken_is_not_written_again_by_the_next_operator() -> Result<()> {
    let (bench, _) = Bench::shared("taken-restart").await?;
    take_worker(&bench).await?;
    is_not_written_again(&bench, &training("digits", 1, 1), "FailedCreatePod").await
}

#[tokio::test]
async fn a_job_whose_layout_is_taken_is_not_written_again_by_the_next_operator() -> Result<()> {
    let (bench, _) = Bench::shared("layout-restart").await?;
    take_layout(&bench).await?;
    is_not_written_again(&bench, &large(), "FailedCreateConfigMap").await
}

// contract: 5.3.4
#[tokio::test]
async fn no_pod_is_made_while_the_name_of_the_layout_is_taken() -> Result<()> {
    let (bench, plane) = Bench::shared("layout").await?;
    let theirs = take_layout(&bench).await?;
    let _operator = Operator::start(plane, &bench.namespace)?;
    let uid = bench.create(&large()).await?.uid();
    let message = bench.event("FailedCreateConfigMap").await?;
    assert!(message.contains("digits-cluster"), "{message}");
    stalled(&bench).await?;
    bench.another_life(&sentinels_kubelet(&bench)).await?;
    bench.pods(0).await?;
    let api = config_maps(&bench);
    assert_eq!(api.get("digits-cluster").await?, theirs, "never touched");

    api.delete("digits-cluster", &DeleteParams::default())
        .await?;
    until("the layout of the job", PATIENCE, || async {
        let ours = api.get_opt("digits-cluster").await?;
        let owner =
            ours.and_then(|ours| ours.owner_references().first().map(|one| one.uid.clone()));
        Ok(owner == uid)
    })
    .await?;
    until("pods", PATIENCE, || async {
        Ok(!bench
            .pods
            .list(&ListParams::default())
            .await?
            .items
            .is_empty())
    })
    .await?;
    let background = DeleteParams::background();
    bench.jobs.delete("digits", &background).await?;
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
