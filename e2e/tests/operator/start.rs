//! What the operator makes, and what is left of it when the job is deleted.

use std::fmt::Debug;
use std::process::Command;

use crate::bench::{Bench, Operator, PATIENCE, training};
use anyhow::{Context as _, Result, ensure};
use e2e::ScriptedKubelet;
use e2e::deadline::until;
use kube::api::{Api, DeleteParams, ListParams, PostParams};
use kube::{Resource, ResourceExt as _};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

// contract: 5.1.1, 5.3.3, 11.3
#[tokio::test]
async fn the_objects_are_those_that_the_plan_shows() -> Result<()> {
    let (bench, plane) = Bench::shared("objects").await?;
    let manifest = with_scratch(training("digits", 2, 2));
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
    let made: Vec<_> = bench.pods(5).await?.iter().map(comparable).collect();
    for pod in &made {
        let spec = &pod["spec"];
        assert_eq!(
            spec["volumes"],
            json!([{"name": "scratch", "emptyDir": {}}])
        );
        assert_eq!(
            spec["containers"][0]["volumeMounts"],
            json!([{"name": "scratch", "mountPath": "/data"}])
        );
    }
    assert_eq!(made, sorted(pods));
    let made = bench.services.list(&ListParams::default()).await?;
    assert_eq!(
        made.iter().map(comparable).collect::<Vec<_>>(),
        sorted(services)
    );
    Ok(())
}

/// The job with an empty folder at `/data` in every container.
fn with_scratch(mut manifest: Value) -> Value {
    let roles = manifest["spec"]["mxReplicaSpecs"].as_object_mut();
    for (_, role) in roles.into_iter().flatten() {
        let spec = &mut role["template"]["spec"];
        spec["volumes"] = json!([{"name": "scratch", "emptyDir": {}}]);
        spec["containers"][0]["volumeMounts"] = json!([{"name": "scratch", "mountPath": "/data"}]);
    }
    manifest
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
    let spec = &mut object["spec"];
    without_token(&mut spec["volumes"]);
    for container in spec["containers"].as_array_mut().into_iter().flatten() {
        without_token(&mut container["volumeMounts"]);
    }
    object
}

/// Takes the service account's token, whose name is random, out of volumes or mounts.
fn without_token(list: &mut Value) {
    let is_token = |one: &Value| {
        let name = one["name"].as_str().unwrap_or_default();
        name.starts_with("kube-api-access-")
    };
    if let Some(list) = list.as_array_mut() {
        list.retain(|one| !is_token(one));
    }
}

fn sorted(mut objects: Vec<Value>) -> Vec<Value> {
    objects.sort_by_key(|object| object["metadata"]["name"].to_string());
    objects
}

// contract: 8.7
// promise: P3, P77
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
    // Not before: pods that had run would not be created again anyway.
    let kubelet = ScriptedKubelet::run_all(bench.client.clone(), &bench.namespace);
    bench.another_life(&kubelet).await?;
    let requests = bench.requests_about(plane, "digits")?;
    let created = |resource: &str| {
        let object = json!(resource);
        let creates = requests.iter().filter(|event| event["verb"] == "create");
        creates
            .filter(|event| event["objectRef"]["resource"] == object)
            .count()
    };
    assert_eq!(
        (created("pods"), created("services")),
        (5, 5),
        "nothing was created again"
    );
    bench.nothing().await
}

// contract: 9.7, 10.1
#[tokio::test]
async fn a_job_of_three_costs_as_few_writes_as_it_can() -> Result<()> {
    let (bench, plane) = Bench::shared("writes").await?;
    let _operator = Operator::start(plane, &bench.namespace)?;
    let kubelet = ScriptedKubelet::run_all(bench.client.clone(), &bench.namespace);
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
    assert!(patches <= 4, "{patches} status patches");

    // What has ended is kept, the server goes.
    bench.pods(2).await?;
    bench.another_life(&kubelet).await?;
    let before = bench.requests_about(plane, "digits")?;
    bench.another_life(&kubelet).await?;
    let after = bench.requests_about(plane, "digits")?;
    assert_eq!(
        after.get(before.len()..),
        Some(&[][..]),
        "a finished job is left alone"
    );
    Ok(())
}

#[tokio::test]
async fn the_pods_of_a_large_job_are_created_side_by_side() -> Result<()> {
    let (bench, plane) = Bench::shared("parallel").await?;
    let _operator = Operator::start(plane, &bench.namespace)?;
    bench.create(&training("large", 0, 100)).await?;
    until("101 creates in the audit log", PATIENCE, || async {
        Ok(bench.writes(plane, "create", "pods")? == 101)
    })
    .await?;
    let spans = bench.spans(plane, "create", "pods")?;
    // The largest number at once is reached when one begins.
    let at_once = |now| spans.iter().filter(|span| span.contains(now)).count();
    let most = spans.iter().map(|span| at_once(&span.start)).max();
    assert!(most >= Some(4), "at most {most:?} at once");
    Ok(())
}
