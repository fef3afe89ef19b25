//! The parts of a pod template that the definition leaves open.

use anyhow::{Context as _, Result, ensure};
use e2e::ScriptedKubelet;
use e2e::deadline::{Seen, until};
use kube::ResourceExt as _;
use kube::api::{ListParams, Patch, PatchParams, PostParams};
use kube::core::DynamicObject;
use serde_json::{Value, json};

use crate::bench::{PATIENCE, training};
use crate::versions::World;

const TEMPLATE: &str = "/spec/mxReplicaSpecs/Worker/template";

/// A job with `value` at `path` of its pod.
fn with(name: &str, version: &str, path: &str, value: &Value) -> Result<DynamicObject> {
    let mut job = training(name, 0, 1);
    job["apiVersion"] = json!(format!("kubeflow.org/{version}"));
    let path = format!("{TEMPLATE}/spec{path}");
    let (parent, field) = path.rsplit_once('/').context("a path")?;
    job.pointer_mut(parent).context("no place")?[field] = value.clone();
    Ok(serde_json::from_value(job)?)
}

/// A wrong type that only the operator finds is that job's alone, and its status is written: at
/// whichever version the job was made.
async fn a_mistake_is_that_jobs_alone(world: &World) -> Result<()> {
    let grace = json!({"preStop": {"sleep": {"seconds": "long"}}});
    let disk = json!([{"name": "disk", "rbd": {"image": 1, "monitors": "all"}}]);
    let mistakes = [
        (
            "/containers/0/lifecycle",
            &grace,
            "lifecycle.preStop.sleep.seconds: must be an integer",
        ),
        ("/volumes", &disk, "volumes[0].rbd.image: must be a string"),
    ];
    let mut made = Vec::new();
    for version in ["v1beta1", "v1"] {
        for (count, (path, value, said)) in mistakes.into_iter().enumerate() {
            let name = format!("wrong-{version}-{count}");
            let job = with(&name, version, path, value)?;
            world
                .at(version)
                .create(&PostParams::default(), &job)
                .await?;
            made.push((name, said));
        }
        // Looked into at every version.
        let probe = json!({"periodSeconds": "often"});
        let job = with("often", version, "/containers/0/livenessProbe", &probe)?;
        let refused = world.at(version).create(&PostParams::default(), &job).await;
        let refused = refused.err().context("accepted")?.to_string();
        ensure!(refused.contains("livenessProbe.periodSeconds"), "{refused}");
    }
    until("each of them has failed", PATIENCE, || async {
        let jobs = world.at("v1").list(&ListParams::default()).await?.items;
        for (name, said) in &made {
            let job = jobs.iter().find(|job| job.name_any() == *name);
            let status = job.map(|job| &job.data["status"]).context("the job")?;
            if status["phase"] != "Failed" || !status.to_string().contains(said) {
                return Ok(Seen::NotYet(format!("{name}: {status}")));
            }
        }
        Ok(Seen::Done(()))
    })
    .await?;
    world.bench.phase("parts", "Running").await.map(drop)
}

// contract: 3.18
#[tokio::test]
async fn hooks_and_rare_volumes_are_kept_as_written_and_a_mistake_there_is_that_jobs_alone()
-> Result<()> {
    let world = World::new("parts").await?;
    let kubelet = ScriptedKubelet::run_all(world.bench.client.clone(), &world.bench.namespace);
    let probe = json!({"exec": {"command": ["ls"]}, "periodSeconds": 3});
    let claim = json!({
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "1Gi"}},
    });
    let pod = json!({
        "containers": [{
            "name": "mxnet",
            "image": "example.com/mxnet:1",
            "lifecycle": {"preStop": {"exec": {"command": ["ls"]}}},
            "ports": [{"name": "mxjob-port", "containerPort": 9091}],
        }],
        "initContainers": [{
            "name": "logs",
            "image": "example.com/logs:1",
            "restartPolicy": "Always",
            "startupProbe": probe,
        }],
        "volumes": [{"name": "scratch", "ephemeral": {"volumeClaimTemplate": {"spec": claim}}}],
    });
    let create = PostParams::default();
    let job = with("parts", "v1beta1", "", &pod)?;
    world.at("v1beta1").create(&create, &job).await?;
    for version in ["v1beta1", "v1"] {
        let stored = world.at(version).get("parts").await?;
        let template = &stored.data["spec"]["mxReplicaSpecs"]["Worker"]["template"]["spec"];
        ensure!(*template == pod, "{version}: {template}");
    }
    world.bench.phase("parts", "Running").await?;
    let made = serde_json::to_value(world.bench.pods.get("parts-worker-0").await?.spec)?;
    for path in [
        "/containers/0/lifecycle/preStop/exec/command",
        "/initContainers/0/startupProbe/periodSeconds",
        "/volumes/0/ephemeral/volumeClaimTemplate/spec/accessModes",
    ] {
        let (made, wanted) = (made.pointer(path), pod.pointer(path));
        ensure!(made.is_some() && made == wanted, "{path}: {made:?}");
    }
    a_mistake_is_that_jobs_alone(&world).await?;
    drop(kubelet);
    // While the job runs it takes a label, and no edit of the template, of such a part neither.
    for version in ["v1beta1", "v1"] {
        let jobs = world.at(version);
        let how = PatchParams::default();
        let label = json!({"metadata": {"labels": {"seen": version}}});
        jobs.patch("parts", &how, &Patch::Merge(&label)).await?;
        let edit_at = async |path: &str, value: Value| {
            let mut job = jobs.get("parts").await?.data;
            let place = job.pointer_mut(&format!("{TEMPLATE}/spec/{path}"));
            *place.context("no place")? = value;
            // All that is edited stands in lists, which are replaced as they are.
            let edit = json!({"spec": job["spec"]});
            anyhow::Ok(jobs.patch("parts", &how, &Patch::Merge(&edit)).await)
        };
        for (path, value) in [
            ("containers/0/image", json!("example.com/mxnet:2")),
            (
                "containers/0/lifecycle/preStop/exec/command",
                json!(["true"]),
            ),
            ("containers/0/lifecycle", json!({})),
            ("initContainers/0/startupProbe/periodSeconds", json!(8)),
            (
                "volumes/0/ephemeral/volumeClaimTemplate/spec/accessModes",
                json!([]),
            ),
        ] {
            let refused = edit_at(path, value)
                .await
                .with_context(|| path.to_owned())?;
            let refused = refused.err().with_context(|| path.to_owned())?.to_string();
            ensure!(refused.contains("can be edited only"), "{path}: {refused}");
        }
        // The one that the server does not see; if it does some day, the contract can say more.
        let other = if version == "v1" {
            "tcpSocket"
        } else {
            "httpGet"
        };
        let other = json!({other: {"port": 80}, "periodSeconds": 3});
        edit_at("initContainers/0/startupProbe", other).await??;
    }
    Ok(())
}
