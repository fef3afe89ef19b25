//! Pods really run on a real node.
#![cfg(feature = "real-node")]

use std::time::Duration;

use anyhow::{Result, ensure};
use e2e::deadline::{Seen, until};
use e2e::node::{self, RealNode};
use e2e::{ControlPlane, Controllers};
use k8s_openapi::api::core::v1::{Pod, Service};
use kube::api::{Api, PostParams};
use serde_json::{Value, json};

const PATIENCE: Duration = Duration::from_mins(2);

#[tokio::test]
async fn a_pod_runs_and_leaves_its_log() -> Result<()> {
    let world = World::start().await?;
    world.create("greeter", "echo hello; echo again").await?;
    world.wait_for("greeter", "Succeeded").await?;
    assert_eq!(world.logs("greeter")?, "hello\nagain\n");
    Ok(())
}

#[tokio::test]
async fn a_pod_finds_another_by_its_service_name() -> Result<()> {
    let world = World::start().await?;
    world.create_service("digits-server-0").await?;
    world.create("digits-server-0", "httpd -f -p 9000").await?;
    world.wait_for("digits-server-0", "Running").await?;

    let wait = "until nc -w 1 digits-server-0 9000 </dev/null; do sleep 0.2; done; echo found";
    world.create("digits-worker-0", wait).await?;
    world.wait_for("digits-worker-0", "Succeeded").await?;
    assert_eq!(world.logs("digits-worker-0")?.lines().last(), Some("found"));
    Ok(())
}

#[tokio::test]
async fn an_exit_code_is_told() -> Result<()> {
    let world = World::start().await?;
    world.create("failing", "exit 3").await?;
    let pod = world.wait_for("failing", "Failed").await?;
    let status = serde_json::to_value(pod.status)?;
    let exit = &status["containerStatuses"][0]["state"]["terminated"]["exitCode"];
    assert_eq!(*exit, 3);
    Ok(())
}

struct World {
    // Dropped first: the node before its control plane.
    node: RealNode,
    plane: ControlPlane,
    namespace: String,
}

impl World {
    async fn start() -> Result<Self> {
        let plane = ControlPlane::start_with(Controllers::All).await?;
        Ok(Self {
            node: RealNode::start(&plane).await?,
            namespace: plane.namespace("node").await?,
            plane,
        })
    }

    async fn pods(&self) -> Result<Api<Pod>> {
        Ok(Api::namespaced(self.plane.client().await?, &self.namespace))
    }

    async fn create(&self, name: &str, script: &str) -> Result<()> {
        let pod = serde_json::from_value(json!({
            "metadata": {"name": name, "labels": {"name": name}},
            "spec": {
                "restartPolicy": "Never",
                "terminationGracePeriodSeconds": 1,
                "containers": [{
                    "name": "mxnet",
                    "image": node::IMAGE,
                    "imagePullPolicy": "Never",
                    "command": ["sh", "-c", script],
                }],
            },
        }))?;
        self.pods()
            .await?
            .create(&PostParams::default(), &pod)
            .await?;
        Ok(())
    }

    async fn create_service(&self, name: &str) -> Result<()> {
        let service: Service = serde_json::from_value(json!({
            "metadata": {"name": name},
            "spec": {
                "clusterIP": "None",
                "selector": {"name": name},
                "publishNotReadyAddresses": true,
                "ports": [{"port": 9000}],
            },
        }))?;
        let services = Api::namespaced(self.plane.client().await?, &self.namespace);
        services.create(&PostParams::default(), &service).await?;
        Ok(())
    }

    async fn wait_for(&self, name: &str, phase: &str) -> Result<Pod> {
        let pods = self.pods().await?;
        let pods = &pods;
        until(&format!("{name} to be {phase}"), PATIENCE, || async move {
            let pod = pods.get(name).await?;
            let status = serde_json::to_value(&pod.status)?;
            let seen = status.get("phase").and_then(Value::as_str);
            if seen == Some(phase) {
                return Ok(Seen::Done(pod));
            }
            let is_over = matches!(seen, Some("Succeeded" | "Failed"));
            ensure!(!is_over, "{name} has ended: {status}");
            Ok(Seen::NotYet(status.to_string()))
        })
        .await
    }

    fn logs(&self, pod: &str) -> Result<String> {
        self.node.logs(&self.namespace, pod)
    }
}
