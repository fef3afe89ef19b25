//! Pods whose labels somebody changes, and pods with labels that are not theirs: v1.md 5.1, 5.3, 7.2.

use std::time::Duration;

use crate::bench::{Bench, Operator, PATIENCE, training};
use crate::facts::{all_run, each_pod_once, said_once, succeed};
use anyhow::{Context as _, Result, ensure};
use e2e::ScriptedKubelet;
use e2e::deadline::{Seen, until};
use e2e::proxy::{Fault, Proxy, Rule};
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use kube::api::{Patch, PatchParams, PostParams};
use serde_json::{Value, json};

const BACK: &str = "somebody took labels off the pod";
const OURS: [&str; 4] = ["operator-name", "job-name", "replica-type", "replica-index"];

/// Somebody changes labels of a pod.
async fn relabel(bench: &Bench, pod: &str, labels: Value) -> Result<Pod> {
    let patch = Patch::Merge(json!({"metadata": {"labels": labels}}));
    Ok(bench
        .pods
        .patch(pod, &PatchParams::default(), &patch)
        .await?)
}

/// Waits until the pod has its labels again.
async fn is_labelled(bench: &Bench, before: &Pod) -> Result<()> {
    let name = before.name_any();
    until(&format!("the labels of {name}"), PATIENCE, || async {
        let now = bench.pods.get(&name).await?;
        Ok(if now.labels() == before.labels() {
            Seen::Done(())
        } else {
            Seen::NotYet(format!("{:?}", now.labels()))
        })
    })
    .await
}

/// A running job loses these labels of its worker 1; it gets them back and ends as if nothing had
/// happened.
async fn survives(prefix: &str, labels: Value, while_away: bool) -> Result<()> {
    let (bench, plane) = Bench::shared(prefix).await?;
    let mut operator = Operator::start(plane, &bench.namespace)?;
    let kubelet = ScriptedKubelet::run_all(bench.client.clone(), &bench.namespace);
    bench.create(&training("digits", 1, 2)).await?;
    let before = all_run(&bench, "digits", 4).await?;
    until("all to be counted", PATIENCE, || async {
        let status = bench.jobs.get("digits").await?.status.unwrap_or_default();
        Ok(status.ready.as_deref() == Some("4/4"))
    })
    .await?;
    let worker = before.get("digits-worker-1").context("no worker")?;
    if while_away {
        operator.kill()?;
        relabel(&bench, "digits-worker-1", labels).await?;
        operator = Operator::start(plane, &bench.namespace)?;
    } else {
        relabel(&bench, "digits-worker-1", labels).await?;
    }
    is_labelled(&bench, worker).await?;
    operator.says(BACK).await?;
    let after = all_run(&bench, "digits", 4).await?;
    let uid = after.get("digits-worker-1").and_then(ResourceExt::uid);
    assert_eq!(uid, worker.uid(), "the same pod");
    succeed(&kubelet, "digits", 2).await?;
    let status = bench.phase("digits", "Succeeded").await?.status;
    let roles = status.context("no status")?.replica_statuses;
    ensure!(roles.values().all(|role| role.restarts == 0), "{roles:?}");
    said_once(&operator, BACK)?;
    each_pod_once(&bench, plane, "digits")
}

fn labels(value: &Value) -> Value {
    let all = OURS.map(|label| (format!("training.kubeflow.org/{label}"), value.clone()));
    all.into_iter().collect::<serde_json::Map<_, _>>().into()
}

#[tokio::test]
async fn a_pod_without_labels_is_still_the_jobs() -> Result<()> {
    survives("unlabelled", labels(&Value::Null), false).await
}

#[tokio::test]
async fn a_pod_that_lost_its_labels_while_the_operator_was_away_is_still_the_jobs() -> Result<()> {
    survives("unlabelled-away", labels(&Value::Null), true).await
}

#[tokio::test]
async fn a_pod_with_the_labels_of_another_job_is_still_its_owners() -> Result<()> {
    let label = json!({"training.kubeflow.org/job-name": "other"});
    survives("relabelled", label, false).await
}

// defect: D15
#[tokio::test]
async fn a_second_pod_for_one_index_goes() -> Result<()> {
    let (bench, plane) = Bench::shared("copy").await?;
    let _operator = Operator::start(plane, &bench.namespace)?;
    let kubelet = ScriptedKubelet::run_all(bench.client.clone(), &bench.namespace);
    bench.create(&training("digits", 1, 2)).await?;
    let before = all_run(&bench, "digits", 4).await?;
    let worker = before.get("digits-worker-1").context("no worker")?;
    let mut copy = worker.clone();
    copy.metadata.name = Some("copy-of-worker-1".to_owned());
    (copy.metadata.uid, copy.metadata.resource_version) = (None, None);
    copy.status = None;
    if let Some(spec) = &mut copy.spec {
        spec.node_name = None;
    }
    bench.pods.create(&PostParams::default(), &copy).await?;
    until("the copy to go", PATIENCE, || async {
        Ok(bench.pods.get_opt("copy-of-worker-1").await?.is_none())
    })
    .await?;
    let after = all_run(&bench, "digits", 4).await?;
    let uids = |pods: &std::collections::BTreeMap<String, Pod>| -> Vec<_> {
        pods.values().map(ResourceExt::uid).collect()
    };
    assert_eq!(uids(&after), uids(&before));
    succeed(&kubelet, "digits", 2).await?;
    let status = bench.phase("digits", "Succeeded").await?.status;
    let roles = status.context("no status")?.replica_statuses;
    ensure!(roles.values().all(|role| role.restarts == 0), "{roles:?}");
    each_pod_once(&bench, plane, "digits")
}

#[tokio::test]
async fn a_strangers_pod_with_our_name_and_labels_is_left_alone() -> Result<()> {
    let (bench, plane) = Bench::shared("disguised").await?;
    let mut labels = labels(&json!("worker"));
    labels["training.kubeflow.org/operator-name"] = json!("mxjob-controller");
    labels["training.kubeflow.org/job-name"] = json!("digits");
    labels["training.kubeflow.org/replica-index"] = json!("0");
    let theirs: Pod = serde_json::from_value(json!({
        "metadata": {"name": "digits-worker-0", "labels": labels},
        "spec": {"containers": [{"name": "mxnet", "image": "example.com/theirs"}]},
    }))?;
    let theirs = bench.pods.create(&PostParams::default(), &theirs).await?;
    let operator = Operator::start(plane, &bench.namespace)?;
    operator.says("caches are complete").await?;
    bench.create(&training("digits", 1, 1)).await?;
    until("the job to be stalled", PATIENCE, || async {
        let status = bench.jobs.get("digits").await?.status.unwrap_or_default();
        Ok(status.reason.as_deref() == Some("NameTaken"))
    })
    .await?;
    let message = bench.event("FailedCreatePod").await?;
    ensure!(message.contains("digits-worker-0"), "{message}");
    // Scheduler and server are there, the worker is not.
    bench.pods(3).await?;
    let now = bench.pods.get("digits-worker-0").await?;
    assert_eq!(now.resource_version(), theirs.resource_version());

    let now = kube::api::DeleteParams::default().grace_period(0);
    bench.pods.delete("digits-worker-0", &now).await?;
    let kubelet = ScriptedKubelet::run_all(bench.client.clone(), &bench.namespace);
    succeed(&kubelet, "digits", 1).await?;
    bench.phase("digits", "Succeeded").await?;
    each_pod_once(&bench, plane, "digits")
}

#[tokio::test]
async fn a_pod_that_comes_after_the_one_to_be_labelled_stays_as_it_is() -> Result<()> {
    let (bench, plane) = Bench::shared("too-late").await?;
    let proxy = Proxy::start(plane).await?;
    let late = Fault::Delay(Duration::from_secs(3));
    proxy.add(Rule::on("patch", "pods").times(1).fault(late));
    let operator = Operator::start_through(&proxy, &bench.namespace)?;
    let _kubelet = ScriptedKubelet::run_all(bench.client.clone(), &bench.namespace);
    bench.create(&training("digits", 1, 1)).await?;
    all_run(&bench, "digits", 3).await?;
    bench.phase("digits", "Running").await?;
    relabel(&bench, "digits-worker-0", labels(&Value::Null)).await?;
    until("the patch", PATIENCE, || async {
        let asked = proxy.asked();
        Ok(asked
            .iter()
            .any(|one| one.verb == "patch" && one.resource == "pods"))
    })
    .await?;
    let now = kube::api::DeleteParams::default().grace_period(0);
    bench.pods.delete("digits-worker-0", &now).await?;
    let theirs: Pod = serde_json::from_value(json!({
        "metadata": {"name": "digits-worker-0"},
        "spec": {"containers": [{"name": "mxnet", "image": "example.com/theirs"}]},
    }))?;
    let theirs = bench.pods.create(&PostParams::default(), &theirs).await?;
    // The worker is gone, and nothing is to restart it.
    bench.phase("digits", "Failed").await?;
    let there = bench.pods.get("digits-worker-0").await?;
    assert_eq!(there.uid(), theirs.uid());
    assert_eq!(there.metadata.labels, None);
    let refused = crate::facts::lines(&operator, " refused ")?;
    ensure!(refused.is_empty(), "{refused:#?}");
    Ok(())
}
