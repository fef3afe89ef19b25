//! Jobs of `v1` that another operator left running, whose pods have the names of this one's.

use anyhow::{Result, ensure};
use e2e::ScriptedKubelet;
use e2e::deadline::until;
use kube::ResourceExt as _;
use kube::api::{ListParams, PostParams};
use serde_json::{Value, json};

use crate::adopted::uids;
use crate::bench::{Bench, Operator, PATIENCE, training};
use crate::facts::{made, overwrite_status};

/// A running job of `v1` and its objects with these labels, made by another operator, runs to its end.
async fn of_v1_goes_on(prefix: &str, labels: fn(&str, u32) -> Value) -> Result<()> {
    let (bench, plane) = Bench::shared(prefix).await?;
    let kubelet = ScriptedKubelet::run_all(bench.client.clone(), &bench.namespace);
    let uid = bench.create(&training("digits", 1, 2)).await?.uid();
    let at = "2026-01-01T00:00:00Z";
    let condition = |kind: &str| {
        json!({
            "type": kind, "status": "True", "reason": format!("MXJob{kind}"), "message": "m",
            "lastUpdateTime": at, "lastTransitionTime": at,
        })
    };
    let active = |count: u32| json!({"active": count});
    let status = json!({
        "conditions": [condition("Created"), condition("Running")],
        "replicaStatuses": {"Scheduler": active(1), "Server": active(1), "Worker": active(2)},
        "startTime": at,
    });
    overwrite_status(&bench, "digits", status).await?;
    for (role, index) in [
        ("scheduler", 0),
        ("server", 0),
        ("worker", 0),
        ("worker", 1),
    ] {
        let labels = labels(role, index);
        let metadata = json!({
            "name": format!("digits-{role}-{index}"),
            "labels": labels,
            "ownerReferences": [{
                "apiVersion": "kubeflow.org/v1", "kind": "MXJob", "name": "digits", "uid": uid,
                "controller": true, "blockOwnerDeletion": true,
            }],
        });
        let container = json!({"name": "mxnet", "image": "example.com/mxnet:1"});
        let pod = json!({
            "metadata": metadata,
            "spec": {"containers": [container], "restartPolicy": "Never"},
        });
        let port = json!({"name": "mxjob-port", "port": 9091});
        let service = json!({
            "metadata": metadata,
            "spec": {"clusterIP": "None", "selector": labels, "ports": [port]},
        });
        let (pod, service) = (
            serde_json::from_value(pod)?,
            serde_json::from_value(service)?,
        );
        let how = PostParams::default();
        bench.pods.create(&how, &pod).await?;
        bench.services.create(&how, &service).await?;
    }
    let before = uids(&bench).await?;
    let _operator = Operator::start(plane, &bench.namespace)?;
    until("all to be counted", PATIENCE, || async {
        let status = bench.jobs.get("digits").await?.status.unwrap_or_default();
        Ok(status.ready.as_deref() == Some("4/4"))
    })
    .await?;
    ensure!(uids(&bench).await? == before, "other pods");
    for (role, index) in [("worker", 0), ("worker", 1), ("scheduler", 0)] {
        kubelet.succeed(&format!("digits-{role}-{index}")).await?;
    }
    bench.phase("digits", "Succeeded").await?;
    until("the services to go", PATIENCE, || async {
        let services = bench.services.list(&ListParams::default()).await?;
        Ok(services.items.is_empty())
    })
    .await?;
    bench.another_life(&kubelet).await?;
    let made = made(&bench, plane)?;
    ensure!(
        made.keys().all(|name| !name.starts_with("digits-")),
        "{made:?}"
    );
    // What has been deleted is looked at, and not deleted again and again.
    let deletes = |event: &&Value| event["verb"] == "delete";
    let requests = bench.requests_about(plane, "digits")?;
    let deletes = requests.iter().filter(deletes).count();
    ensure!(
        deletes <= 8,
        "{deletes} deletions of four services and a pod"
    );
    Ok(())
}

// contract: 12.39
#[tokio::test]
async fn what_the_training_operator_left_runs_to_its_end() -> Result<()> {
    of_v1_goes_on("left-v1", |role, index| {
        let own = |label: &str| format!("training.kubeflow.org/{label}");
        let mut labels = json!({
            own("job-name"): "digits", own("operator-name"): "mxjob-controller",
            own("replica-index"): format!("{index}"), own("replica-type"): role,
        });
        if role == "scheduler" {
            labels[own("job-role")] = json!("master");
        }
        labels
    })
    .await
}

/// Its labels have no prefix.
// contract: 12.39
#[tokio::test]
async fn what_the_operator_before_it_left_runs_to_its_end() -> Result<()> {
    of_v1_goes_on("left-v1-before", |role, index| {
        json!({
            "group-name": "kubeflow.org", "job-name": "digits", "controller-name": "mxnet-operator",
            "replica-index": format!("{index}"), "replica-type": role,
        })
    })
    .await
}
