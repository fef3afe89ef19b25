//! Nothing of a real node outlives its test process, not even a killed one's.
#![cfg(feature = "real-node")]

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result};
use e2e::deadline::{Seen, until};
use e2e::node;
use k8s_openapi::api::core::v1::Pod;
use kube::Client;
use kube::api::{Api, PostParams};
use kube::config::{Config, KubeConfigOptions, Kubeconfig};
use serde_json::{Value, json};

const PATIENCE: Duration = Duration::from_mins(2);

#[tokio::test]
async fn nothing_outlives_a_killed_test_process() -> Result<()> {
    let (mut process, folder) = start_node().await?;
    process.kill()?; // SIGKILL
    process.wait()?;
    wait_until_gone(&folder).await
}

#[tokio::test]
async fn nothing_outlives_a_normal_end() -> Result<()> {
    let (mut process, folder) = start_node().await?;
    drop(process.stdin.take());
    assert!(process.wait()?.success());
    assert!(!Path::new(&folder).exists());
    wait_until_gone(&folder).await
}

/// Starts a node with a running pod in a process of its own; returns the node's folder.
async fn start_node() -> Result<(Child, String)> {
    let mut process = Command::new(env!("CARGO_BIN_EXE_real-node"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut line = String::new();
    let output = process.stdout.as_mut().context("no output")?;
    BufReader::new(output).read_line(&mut line)?;
    let facts: Value = serde_json::from_str(&line).context("the process said nothing")?;
    let fact = |name: &str| {
        facts
            .get(name)
            .and_then(Value::as_str)
            .context("no such fact")
    };
    run_pod(fact("KUBECONFIG")?).await?;
    let folder = fact("nodeFolder")?.to_owned();
    assert!(Path::new(&folder).exists());
    assert_ne!(traces(&folder), Vec::<String>::new());
    Ok((process, folder))
}

async fn run_pod(kubeconfig: &str) -> Result<()> {
    let config = Kubeconfig::read_from(kubeconfig)?;
    let config = Config::from_custom_kubeconfig(config, &KubeConfigOptions::default()).await?;
    let pods: Api<Pod> = Api::default_namespaced(Client::try_from(config)?);
    let pod = serde_json::from_value(json!({
        "metadata": {"name": "lasting"},
        "spec": {"containers": [{
            "name": "mxnet", "image": node::IMAGE, "imagePullPolicy": "Never",
            "command": ["sh", "-c", "trap '' TERM; while true; do sleep 1; done"],
        }]},
    }))?;
    pods.create(&PostParams::default(), &pod).await?;
    let pods = &pods;
    until("the pod to run", PATIENCE, || async move {
        let status = pods.get("lasting").await?.status.unwrap_or_default();
        Ok(status.phase.as_deref() == Some("Running"))
    })
    .await
}

async fn wait_until_gone(folder: &str) -> Result<()> {
    until("all traces to go", PATIENCE, || async move {
        let left = traces(folder);
        Ok(if left.is_empty() {
            Seen::Done(())
        } else {
            Seen::NotYet(left.join(", "))
        })
    })
    .await
}

/// What there is on the machine of the node with this folder, or of any of ours.
fn traces(folder: &str) -> Vec<String> {
    let paths = [
        folder,
        "/sys/class/net/mxbr0",
        "/sys/fs/cgroup/k8s.io",
        "/sys/fs/cgroup/memory/k8s.io",
    ];
    let paths = paths.into_iter().filter(|path| Path::new(path).exists());
    let mounts = fs::read_to_string("/proc/mounts").unwrap_or_default();
    let mounts = mounts
        .lines()
        .filter(|mount| mount.contains(folder))
        .map(str::to_owned);
    let commands = fs::read_dir("/proc").into_iter().flatten().flatten();
    let commands = commands.filter_map(|process| fs::read(process.path().join("cmdline")).ok());
    let commands = commands.map(|command| String::from_utf8_lossy(&command).replace('\0', " "));
    let commands =
        commands.filter(|c| c.contains(folder) || c.contains("sh -c trap '' TERM; while"));
    paths
        .map(str::to_owned)
        .chain(mounts)
        .chain(commands)
        .collect()
}
