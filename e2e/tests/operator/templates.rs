//! Pod templates at the versions that are views: what the API server does not look into there.

use anyhow::{Context as _, Result, ensure};
use e2e::ScriptedKubelet;
use e2e::deadline::{Seen, until};
use kube::ResourceExt as _;
use kube::api::{ListParams, PostParams};
use kube::core::DynamicObject;
use serde_json::{Value, json};

use crate::bench::{PATIENCE, training};
use crate::versions::World;

fn beta(mut job: Value) -> Result<DynamicObject> {
    job["apiVersion"] = json!("kubeflow.org/v1beta1");
    Ok(serde_json::from_value(job)?)
}

/// A wrong type is found by the server at v1, and by the operator otherwise.
async fn a_mistake_is_that_jobs_alone(world: &World, mut job: Value) -> Result<()> {
    let place = "/spec/mxReplicaSpecs/Worker/template/spec/containers/0/livenessProbe";
    *job.pointer_mut(place).context(place)? = json!({"periodSeconds": "often"});
    job["metadata"]["name"] = json!("often");
    let wanted =
        "spec.mxReplicaSpecs.Worker.template.spec.containers[0].livenessProbe.periodSeconds";
    let strict: DynamicObject = serde_json::from_value(job.clone())?;
    let refused = world.at("v1").create(&PostParams::default(), &strict).await;
    let refused = refused.err().context("accepted at v1")?.to_string();
    ensure!(refused.contains(wanted), "{refused}");
    world
        .at("v1beta1")
        .create(&PostParams::default(), &beta(job)?)
        .await?;
    let said = world.bench.event("FailedInvalidMXJobSpec").await?;
    ensure!(
        said.contains(&format!("{wanted}: must be an integer")),
        "{said}"
    );
    until("a list of both jobs", PATIENCE, || async {
        let jobs = world.at("v1").list(&ListParams::default()).await?.items;
        let phase = |name: &str| {
            let job = jobs.iter().find(|job| job.name_any() == name);
            job.and_then(|job| job.data["status"]["phase"].as_str())
        };
        Ok(
            if (phase("often"), phase("parts")) == (Some("Failed"), Some("Running")) {
                Seen::Done(())
            } else {
                Seen::NotYet(format!("{jobs:?}"))
            },
        )
    })
    .await?;
    Ok(())
}

// contract: 12.46
#[tokio::test]
async fn a_view_keeps_probes_and_rare_volumes_and_a_mistake_there_is_that_jobs_alone() -> Result<()>
{
    let world = World::new("parts").await?;
    let kubelet = ScriptedKubelet::run_all(world.bench.client.clone(), &world.bench.namespace);
    let probe = |seconds: Value| json!({"exec": {"command": ["ls"]}, "periodSeconds": seconds});
    let token = json!({"serviceAccountToken": {"path": "token", "expirationSeconds": 600}});
    let parts = [
        ("/containers/0/livenessProbe", probe(json!(7))),
        (
            "/containers/0/lifecycle",
            json!({"preStop": {"exec": {"command": ["ls"]}}}),
        ),
        (
            "/initContainers",
            json!([{
                "name": "logs",
                "image": "example.com/logs:1",
                "restartPolicy": "Always",
                "startupProbe": probe(json!(3)),
            }]),
        ),
        (
            "/volumes",
            json!([{"name": "token", "projected": {"sources": [token]}}]),
        ),
    ];
    let mut pod = json!({"containers": [{"name": "mxnet", "image": "example.com/mxnet:1"}]});
    for (path, value) in &parts {
        let (parent, field) = path.rsplit_once('/').context(*path)?;
        let parent = pod.pointer_mut(parent).context(*path)?;
        parent[field] = value.clone();
    }
    let mut job = training("parts", 0, 1);
    job["spec"]["mxReplicaSpecs"]["Worker"]["template"]["spec"] = pod.clone();
    let create = PostParams::default();
    world
        .at("v1beta1")
        .create(&create, &beta(job.clone())?)
        .await?;
    let stored = world.at("v1").get("parts").await?;
    let template = &stored.data["spec"]["mxReplicaSpecs"]["Worker"]["template"]["spec"];
    ensure!(*template == pod, "{template}");
    world.bench.phase("parts", "Running").await?;
    let made = serde_json::to_value(world.bench.pods.get("parts-worker-0").await?.spec)?;
    for (path, wanted) in [
        ("/containers/0/livenessProbe/periodSeconds", json!(7)),
        ("/initContainers/0/startupProbe/periodSeconds", json!(3)),
        (
            "/volumes/0/projected/sources/0/serviceAccountToken/path",
            json!("token"),
        ),
    ] {
        ensure!(made.pointer(path) == Some(&wanted), "{path}: {made}");
    }
    a_mistake_is_that_jobs_alone(&world, job).await?;
    drop(kubelet);
    // While the job runs it takes a label, and no edit of the template, of such a part neither.
    let edit = async |change: &dyn Fn(&mut DynamicObject)| {
        let mut running = world.at("v1beta1").get("parts").await?;
        change(&mut running);
        let jobs = world.at("v1beta1");
        anyhow::Ok(jobs.replace("parts", &create, &running).await)
    };
    edit(&|job| {
        job.labels_mut().insert("seen".to_owned(), "yes".to_owned());
    })
    .await??;
    let edit_at = async |path: &str, value: Value| {
        let path = format!("/spec/mxReplicaSpecs/Worker/template/spec/{path}");
        edit(&|job| {
            if let Some(place) = job.data.pointer_mut(&path) {
                *place = value.clone();
            }
        })
        .await
    };
    for (path, value) in [
        ("containers/0/image", json!("example.com/mxnet:2")),
        ("containers/0/livenessProbe/periodSeconds", json!(8)),
        ("containers/0/livenessProbe/exec/command", json!(["true"])),
        ("containers/0/lifecycle", json!({})),
        ("initContainers/0/startupProbe", json!({})),
        ("volumes/0/projected/sources", json!([])),
    ] {
        let refused = edit_at(path, value).await?.err().context(path)?;
        let refused = refused.to_string();
        ensure!(refused.contains("can be edited only"), "{path}: {refused}");
    }
    // The one that the server does not see; if it does some day, the contract can say more.
    let other = json!({"tcpSocket": {"port": 80}, "periodSeconds": 7});
    edit_at("containers/0/livenessProbe", other).await??;
    Ok(())
}
