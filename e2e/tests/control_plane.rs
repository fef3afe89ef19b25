//! The control plane itself: it starts, does its work, survives an outage, and never
//! outlives its test.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result};
use e2e::deadline::until;
use e2e::{ControlPlane, User};
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::api::{Api, DeleteParams, ListParams, PostParams};
use kube::{Resource, ResourceExt};
use serde_json::{Value, json};

const PATIENCE: Duration = Duration::from_mins(2);

#[tokio::test]
async fn a_pod_is_created_and_deleted() -> Result<()> {
    let plane = ControlPlane::shared().await?;
    let namespace = plane.namespace("pods").await?;
    let pods: Api<Pod> = Api::namespaced(plane.client().await?, &namespace);

    pods.create(&PostParams::default(), &pod("alone")?).await?;
    pods.delete("alone", &DeleteParams::default()).await?;
    assert!(pods.get_opt("alone").await?.is_none(), "no node, no grace");

    let log = plane.audit_log(&namespace)?;
    let creates = log.iter().filter(|event| {
        event["verb"] == "create"
            && event["objectRef"]["namespace"] == *namespace
            && event["objectRef"]["resource"] == "pods"
            && event["user"]["username"] == "admin"
    });
    assert_eq!(creates.count(), 1);
    Ok(())
}

#[tokio::test]
async fn the_operators_user_has_no_rights_of_its_own() -> Result<()> {
    let plane = ControlPlane::shared().await?;
    let namespace = plane.namespace("rbac").await?;
    let pods: Api<Pod> = Api::namespaced(plane.client_as(User::Operator).await?, &namespace);

    let refusal = pods.list(&ListParams::default()).await.unwrap_err();
    assert!(
        refusal
            .to_string()
            .contains(r#"User "mxjob-operator" cannot list"#)
    );
    Ok(())
}

#[tokio::test]
async fn dependants_go_with_their_owner() -> Result<()> {
    let plane = ControlPlane::shared().await?;
    let namespace = plane.namespace("gc").await?;
    let client = plane.client().await?;
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), &namespace);
    let pods: Api<Pod> = Api::namespaced(client, &namespace);

    let owner: ConfigMap = serde_json::from_value(json!({"metadata": {"name": "owner"}}))?;
    let owner = maps.create(&PostParams::default(), &owner).await?;
    let mut dependant = pod("dependant")?;
    dependant.owner_references_mut().push(OwnerReference {
        uid: owner.uid().context("no uid")?,
        ..owner.controller_owner_ref(&()).context("no name")?
    });
    pods.create(&PostParams::default(), &dependant).await?;
    maps.delete("owner", &DeleteParams::default()).await?;

    let pods = &pods;
    until("the dependant pod to go", PATIENCE, || async move {
        Ok(pods.get_opt("dependant").await?.is_none())
    })
    .await
}

#[tokio::test]
async fn an_outage_keeps_what_was_there() -> Result<()> {
    let plane = ControlPlane::start().await?;
    let namespace = plane.namespace("outage").await?;
    let pods: Api<Pod> = Api::namespaced(plane.client().await?, &namespace);
    pods.create(&PostParams::default(), &pod("lasting")?)
        .await?;

    plane.stop_apiserver().await?;
    assert!(pods.get("lasting").await.is_err());
    plane.start_apiserver().await?;
    pods.get("lasting").await?;
    Ok(())
}

#[tokio::test]
async fn nothing_outlives_a_dropped_control_plane() -> Result<()> {
    let plane = ControlPlane::start().await?;
    let pids = plane.pids().await;
    let folder = plane.folder().to_owned();
    assert_eq!(pids.len(), 4);

    drop(plane);
    assert_eq!(pids.into_iter().find(|pid| is_alive(*pid)), None);
    assert!(!folder.exists());
    Ok(())
}

#[tokio::test]
async fn nothing_outlives_a_killed_test_process() -> Result<()> {
    let mut process = Command::new(env!("CARGO_BIN_EXE_control-plane"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let facts = facts(&mut process)?;
    let pids: Vec<u32> = serde_json::from_value(facts["pids"].clone())?;
    let folder = facts["folder"].as_str().context("no folder")?;
    assert_eq!(pids.len(), 4);
    assert!(pids.iter().all(|pid| is_alive(*pid)));
    assert!(Path::new(folder).exists());

    process.kill()?; // SIGKILL
    process.wait()?;
    let pids = &pids;
    until("processes and folder to go", PATIENCE, || async move {
        Ok(!pids.iter().any(|pid| is_alive(*pid)) && !Path::new(folder).exists())
    })
    .await
}

fn facts(process: &mut Child) -> Result<Value> {
    let mut line = String::new();
    let output = process.stdout.as_mut().context("no output")?;
    BufReader::new(output).read_line(&mut line)?;
    serde_json::from_str(&line).context("the process said nothing")
}

fn is_alive(pid: u32) -> bool {
    Path::new(&format!("/proc/{pid}")).exists()
}

fn pod(name: &str) -> Result<Pod> {
    let pod = json!({
        "metadata": {"name": name},
        "spec": {"containers": [{"name": "mxnet", "image": "localhost/base:1"}]},
    });
    Ok(serde_json::from_value(pod)?)
}
