//! Pods under a scripted kubelet look as they do on a node.

use std::time::Duration;

use anyhow::{Context, Result};
use e2e::deadline::{Seen, until};
use e2e::kubelet::{Behaviour, ScriptedKubelet};
use e2e::{ControlPlane, kubelet};
use k8s_openapi::api::core::v1::{ContainerStateTerminated, ContainerStatus, Pod};
use kube::api::{Api, DeleteParams, PostParams};
use serde_json::json;

const PATIENCE: Duration = Duration::from_mins(2);

#[tokio::test]
async fn every_pod_runs_until_it_is_told_otherwise() -> Result<()> {
    let (kubelet, world) = World::new("orders", |_, _| Behaviour::Run).await?;
    world.create("good", "Never").await?;
    world.create("bad", "Never").await?;
    world.create("evicted", "Never").await?;

    let good = world.wait_for("good", "Running").await?;
    assert!(container(&good)?.ready);
    assert_eq!(
        good.spec.and_then(|s| s.node_name).as_deref(),
        Some(kubelet::NODE)
    );

    kubelet.succeed("good").await?;
    assert_eq!(
        exit(&world.wait_for("good", "Succeeded").await?)?.exit_code,
        0
    );
    kubelet.fail("bad", 137).await?;
    assert_eq!(
        exit(&world.wait_for("bad", "Failed").await?)?.exit_code,
        137
    );
    kubelet.evict("evicted").await?;
    let status = world.wait_for("evicted", "Failed").await?.status;
    assert_eq!(status.and_then(|s| s.reason).as_deref(), Some("Evicted"));
    Ok(())
}

#[tokio::test]
async fn a_script_decides_by_name() -> Result<()> {
    let script = |name: &str, _: &_| match name {
        "waits" => Behaviour::Pending,
        _ => Behaviour::RunThenExit {
            after: Duration::from_millis(200),
            code: 3,
        },
    };
    let (kubelet, world) = World::new("script", script).await?;
    world.create("waits", "Never").await?;
    world.create("exits", "Never").await?;

    assert_eq!(
        exit(&world.wait_for("exits", "Failed").await?)?.exit_code,
        3
    );
    world.wait_for("waits", "Pending").await?;
    kubelet.run("waits").await?;
    world.wait_for("waits", "Running").await?;
    Ok(())
}

#[tokio::test]
async fn a_restart_policy_restarts_in_place() -> Result<()> {
    let (kubelet, world) = World::new("restarts", |_, _| Behaviour::Run).await?;
    world.create("stubborn", "OnFailure").await?;
    kubelet.fail("stubborn", 1).await?;
    kubelet.fail("stubborn", 1).await?;

    let pod = world.wait_for("stubborn", "Running").await?;
    assert_eq!(container(&pod)?.restart_count, 2);
    kubelet.succeed("stubborn").await?;
    world.wait_for("stubborn", "Succeeded").await?;
    Ok(())
}

#[tokio::test]
async fn a_deleted_pod_terminates_and_goes() -> Result<()> {
    let (_kubelet, world) = World::new("deleted", |_, _| Behaviour::Run).await?;
    world.create("doomed", "Never").await?;
    world.wait_for("doomed", "Running").await?;
    let pods = &world.pods;
    let answer = pods.delete("doomed", &DeleteParams::default()).await?;
    assert!(answer.is_left(), "graceful: the pod is still there");

    until("the pod to go", PATIENCE, || async move {
        Ok(pods.get_opt("doomed").await?.is_none())
    })
    .await
}

struct World {
    pods: Api<Pod>,
}

impl World {
    async fn new(
        name: &str,
        script: impl Fn(&str, &std::collections::BTreeMap<String, String>) -> Behaviour
        + Send
        + Sync
        + 'static,
    ) -> Result<(ScriptedKubelet, Self)> {
        let plane = ControlPlane::shared().await?;
        let namespace = plane.namespace(name).await?;
        let client = plane.client().await?;
        let kubelet = ScriptedKubelet::spawn(client.clone(), &namespace, script);
        let pods = Api::namespaced(client, &namespace);
        Ok((kubelet, Self { pods }))
    }

    async fn create(&self, name: &str, restart_policy: &str) -> Result<()> {
        let pod = serde_json::from_value(json!({
            "metadata": {"name": name},
            "spec": {
                "restartPolicy": restart_policy,
                "containers": [{"name": "mxnet", "image": "localhost/base:1"}],
            },
        }))?;
        self.pods.create(&PostParams::default(), &pod).await?;
        Ok(())
    }

    async fn wait_for(&self, name: &str, phase: &str) -> Result<Pod> {
        let pods = &self.pods;
        until(&format!("{name} to be {phase}"), PATIENCE, || async move {
            let pod = pods.get(name).await?;
            let status = pod.status.as_ref();
            let seen = status.and_then(|s| s.phase.clone()).unwrap_or_default();
            Ok(if seen == phase {
                Seen::Done(pod)
            } else {
                Seen::NotYet(seen)
            })
        })
        .await
    }
}

fn container(pod: &Pod) -> Result<&ContainerStatus> {
    let statuses = pod
        .status
        .as_ref()
        .and_then(|s| s.container_statuses.as_ref());
    statuses
        .and_then(|s| s.first())
        .context("no container status")
}

fn exit(pod: &Pod) -> Result<&ContainerStateTerminated> {
    let state = container(pod)?.state.as_ref();
    state
        .and_then(|s| s.terminated.as_ref())
        .context("not terminated")
}
