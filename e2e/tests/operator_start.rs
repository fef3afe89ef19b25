//! What the operator makes, and what is left of it when the job is deleted.

#![allow(
    clippy::indexing_slicing,
    reason = "of JSON, where a missing key is null"
)]

mod operator;

use std::fmt::Debug;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use kube::api::{Api, DeleteParams, ListParams, PostParams};
use kube::{Resource, ResourceExt as _};
use operator::{Bench, Operator, training};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

#[tokio::test]
async fn the_objects_are_those_that_the_plan_shows() -> Result<()> {
    let (bench, plane) = Bench::shared("objects").await?;
    let manifest = training("digits", 2, 2);
    let shown = shown(&manifest)?;
    // The server fills in its own defaults, so it is asked what it would make of them.
    let mut pods = would_be(&bench.pods, &shown, "Pod").await?;
    let mut services = would_be(&bench.services, &shown, "Service").await?;
    assert_eq!((pods.len(), services.len()), (5, 5));

    let _operator = Operator::start(plane, &bench.namespace)?;
    let uid = bench.create(&manifest).await?.uid().context("no uid")?;
    for object in pods.iter_mut().chain(&mut services) {
        object["metadata"]["ownerReferences"][0]["uid"] = uid.clone().into();
    }
    let made = bench.pods(5).await?;
    assert_eq!(
        made.iter().map(comparable).collect::<Vec<_>>(),
        sorted(pods)
    );
    let made = bench.services.list(&ListParams::default()).await?;
    assert_eq!(
        made.iter().map(comparable).collect::<Vec<_>>(),
        sorted(services)
    );
    Ok(())
}

/// The documents that `mxjob plan` prints.
fn shown(manifest: &Value) -> Result<Vec<Value>> {
    let mut file = tempfile::NamedTempFile::with_suffix(".json")?;
    serde_json::to_writer(&mut file, manifest)?;
    let output = Command::new(env!("CARGO_BIN_EXE_e2e-mxjob"))
        .arg("plan")
        .arg(file.path())
        .output()?;
    ensure!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let text = String::from_utf8(output.stdout)?;
    let documents = text.split("---\n").filter(|document| !document.is_empty());
    documents
        .map(|document| serde_saphyr::from_str(document).context("no YAML"))
        .collect()
}

async fn would_be<K>(api: &Api<K>, shown: &[Value], kind: &str) -> Result<Vec<Value>>
where
    K: Resource + Serialize + DeserializeOwned + Clone + Debug,
{
    let dry = PostParams {
        dry_run: true,
        ..PostParams::default()
    };
    let mut answers = Vec::new();
    for object in shown.iter().filter(|object| object["kind"] == kind) {
        answers.push(comparable(
            &api.create(&dry, &serde_json::from_value(object.clone())?)
                .await?,
        ));
    }
    Ok(answers)
}

/// All but what is another one in every object.
fn comparable<K: Serialize>(object: &K) -> Value {
    let mut object = serde_json::to_value(object).unwrap_or_default();
    for key in [
        "uid",
        "resourceVersion",
        "creationTimestamp",
        "managedFields",
        "generation",
    ] {
        object["metadata"][key].take();
    }
    // Names of the service account's token volume are random.
    object["spec"]["volumes"].take();
    let containers = object["spec"]["containers"].as_array_mut();
    for container in containers.into_iter().flatten() {
        container["volumeMounts"].take();
    }
    object
}

fn sorted(mut objects: Vec<Value>) -> Vec<Value> {
    objects.sort_by_key(|object| object["metadata"]["name"].to_string());
    objects
}

#[tokio::test]
async fn deleting_the_job_leaves_nothing() -> Result<()> {
    let (bench, plane) = Bench::shared("deleted").await?;
    let _operator = Operator::start(plane, &bench.namespace)?;
    bench.create(&training("digits", 2, 2)).await?;
    bench.pods(5).await?;
    bench
        .jobs
        .delete("digits", &DeleteParams::default())
        .await?;
    bench.nothing().await?;
    tokio::time::sleep(Duration::from_secs(1)).await;
    bench.nothing().await?;
    assert_eq!(
        bench.writes(plane, "create", "pods")?,
        5,
        "nothing was created again"
    );
    Ok(())
}

#[tokio::test]
async fn a_job_of_three_costs_as_few_writes_as_it_can() -> Result<()> {
    let (bench, plane) = Bench::shared("writes").await?;
    let _operator = Operator::start(plane, &bench.namespace)?;
    let kubelet = e2e::ScriptedKubelet::run_all(bench.client.clone(), &bench.namespace);
    bench.create(&training("digits", 1, 1)).await?;
    bench.phase("digits", "Running").await?;
    for pod in ["digits-worker-0", "digits-scheduler-0"] {
        kubelet.succeed(pod).await?;
    }
    bench.phase("digits", "Succeeded").await?;
    bench.event("MXJobSucceeded").await?;
    let writes = |verb: &str, resource: &str| bench.writes(plane, verb, resource);
    assert_eq!(
        (writes("create", "pods")?, writes("create", "services")?),
        (3, 3)
    );
    let patches = writes("patch", "mxjobs/status")?;
    assert!(patches <= 8, "{patches} status patches");

    // What has ended is kept, the server goes.
    bench.pods(2).await?;
    tokio::time::sleep(Duration::from_secs(1)).await;
    let before = bench.requests(plane)?;
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert_eq!(
        bench.requests(plane)?,
        before,
        "a finished job is left alone"
    );
    Ok(())
}
