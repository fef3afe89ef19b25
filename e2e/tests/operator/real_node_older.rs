//! The digits example as a job of v1alpha1, trained by MXNet in real pods.

use crate::bench::{Bench, Operator, at};
use crate::example::Example;
use anyhow::{Context as _, Result, ensure};
use e2e::node::RealNode;
use e2e::{ControlPlane, Controllers};
use kube::api::PostParams;
use mxjob_core::{MxRole, ReplicaRole as _};
use serde_json::{Value, json};

/// The job as a list of its roles. Its pods stay, for their logs.
fn listed(job: &Value) -> Result<Value> {
    let roles = job["spec"]["mxReplicaSpecs"].as_object();
    let roles = roles.context("no roles")?.iter().map(|(name, role)| {
        json!({
            "mxReplicaType": name.to_uppercase(),
            "replicas": role["replicas"],
            "template": role["template"],
        })
    });
    Ok(json!({
        "apiVersion": "kubeflow.org/v1alpha1",
        "kind": "MXJob",
        "metadata": {"name": "digits"},
        "spec": {
            "jobMode": "dist",
            "cleanupPodPolicy": "None",
            "replicaSpecs": roles.collect::<Vec<_>>(),
        },
    }))
}

// promise: P6, P74
#[tokio::test]
async fn on_a_real_node_a_dist_job_of_v1alpha1_learns() -> Result<()> {
    let digits = Example::new("train", "digits.yaml")?;
    let plane = ControlPlane::start_with(Controllers::All).await?;
    plane
        .install_crds(&[mxjob_core::schema::crd(MxRole::TABLE)])
        .await?;
    let node = RealNode::start(&plane).await?;
    let bench = Bench::new(&plane, "older-digits").await?;
    let _operator = Operator::start_converting(&plane, &bench.namespace).await?;

    let jobs = at(&bench.client, &bench.namespace, "v1alpha1");
    let job = serde_json::from_value(listed(&digits.job)?)?;
    jobs.create(&PostParams::default(), &job).await?;
    bench.phase("digits", "Succeeded").await?;

    let seen = jobs.get("digits").await?;
    let status = &seen.data["status"];
    ensure!(
        status["phase"] == "Done" && status["state"] == "Succeeded",
        "{status}"
    );
    let worker = json!({"mx_replica_type": "WORKER", "state": "Succeeded", "ReplicasStates": {"Succeeded": 2}});
    let replicas = status["replicaStatuses"].as_array();
    ensure!(
        replicas.is_some_and(|all| all.contains(&worker)),
        "{status}"
    );
    let run = seen.data["spec"]["RuntimeId"].as_str().context("an id")?;
    let log = node.logs(&bench.namespace, &format!("digits-worker-{run}-0"))?;
    let accuracy = log
        .lines()
        .find_map(|line| line.strip_prefix("test accuracy "));
    let accuracy: f64 = accuracy.with_context(|| log.clone())?.parse()?;
    ensure!(accuracy >= 0.95, "{log}");
    ensure!(digits.path("out/digits.params").is_file(), "{log}");
    Ok(())
}
