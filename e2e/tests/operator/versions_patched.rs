//! Jobs made at each version and edited at each other.

use crate::bench::PATIENCE;
use crate::versions::{VERSIONS, World, field, sample};
use anyhow::{Context as _, Result, ensure};
use e2e::ScriptedKubelet;
use e2e::deadline::{Seen, until};
use kube::ResourceExt as _;
use kube::api::{Patch, PatchParams, PostParams};
use kube::core::DynamicObject;
use serde_json::{Value, json};

/// A training job of each version.
const MADE: [&str; 3] = [
    "kubeflow-v1alpha1-dist.yaml",
    "kubeflow-v1beta1-train-gpu.yaml",
    "kubeflow-v1-train.yaml",
];

/// Where the workers of a job stand, and its policy, at that version.
fn places(job: &DynamicObject, version: &str) -> Result<[String; 2]> {
    if version != "v1alpha1" {
        let worker = "/spec/mxReplicaSpecs/Worker/replicas".to_owned();
        return Ok([worker, "/spec/cleanPodPolicy".to_owned()]);
    }
    let entries = field(job, "/spec/replicaSpecs").as_array();
    let mut entries = entries.context("no list")?.iter();
    let at = entries.position(|entry| entry["mxReplicaType"] == "WORKER");
    let worker = format!("/spec/replicaSpecs/{}/replicas", at.context("no worker")?);
    Ok([worker, "/spec/cleanupPodPolicy".to_owned()])
}

// contract: 12.1, 12.2
// promise: P3
#[tokio::test]
async fn a_job_made_at_each_version_is_patched_at_each_other_and_shows_it_at_all() -> Result<()> {
    let world = World::new("patched").await?;
    let plain = PatchParams::default();
    for (made, file) in VERSIONS.into_iter().zip(MADE) {
        for patched in VERSIONS.into_iter().filter(|version| *version != made) {
            let name = &format!("made-{made}-patched-{patched}");
            let mut manifest = sample(file)?;
            manifest.metadata.name = Some(name.clone());
            let create = PostParams::default();
            world.at(made).create(&create, &manifest).await?;
            let before = world.at(made).get(name).await?;

            let view = world.at(patched).get(name).await?;
            let [worker, policy] = places(&view, patched)?;
            let patch = json!([
                {"op": "test", "path": worker, "value": 1},
                {"op": "replace", "path": worker, "value": 2},
                {"op": "add", "path": policy, "value": "None"},
            ]);
            let patch = Patch::Json::<()>(serde_json::from_value(patch)?);
            let answer = world.at(patched).patch(name, &plain, &patch).await;
            answer.with_context(|| name.clone())?;

            for version in VERSIONS {
                let seen = world.at(version).get(name).await?;
                let [worker, policy] = places(&seen, version)?;
                let shown = (field(&seen, &worker), field(&seen, &policy));
                ensure!(
                    shown == (&json!(2), &json!("None")),
                    "{name} at {version}: {seen:?}"
                );
            }
            // Nothing else of what was written has changed.
            let after = world.at(made).get(name).await?;
            let [worker, policy] = places(&before, made)?;
            let mut wanted = before.data["spec"].clone();
            wanted["cleanPodPolicy"] = json!("None");
            if made == "v1alpha1" {
                wanted["cleanupPodPolicy"] = wanted["cleanPodPolicy"].take();
                let fields = wanted.as_object_mut().context("no spec")?;
                fields.remove("cleanPodPolicy");
            }
            let worker = worker.trim_start_matches("/spec");
            *wanted.pointer_mut(worker).context("no workers")? = json!(2);
            ensure!(
                after.data["spec"] == wanted,
                "{name}, {policy}: {} instead of {wanted}",
                after.data["spec"]
            );
        }
    }
    Ok(())
}

/// It has the name of another published manifest, so it is alone.
// contract: 12.5
// promise: P90
#[tokio::test]
async fn the_published_manifest_of_v1_runs_to_its_end() -> Result<()> {
    let world = World::new("newest").await?;
    let kubelet = ScriptedKubelet::run_all(world.bench.client.clone(), &world.bench.namespace);
    let manifest = sample("kubeflow-v1-train.yaml")?;
    let jobs = world.at("v1");
    jobs.create(&PostParams::default(), &manifest).await?;
    world.bench.phase("mxnet-job", "Running").await?;
    kubelet.succeed("mxnet-job-worker-0").await?;
    kubelet.succeed("mxnet-job-scheduler-0").await?;
    world.bench.phase("mxnet-job", "Succeeded").await?;
    for (version, done) in [("v1alpha1", "Done"), ("v1", "Succeeded")] {
        let what = format!("{done} at {version}");
        until(&what, PATIENCE, || async {
            let seen = world.at(version).get("mxnet-job").await?;
            let status = field(&seen, "/status");
            Ok(if status["phase"] == done {
                Seen::Done(())
            } else {
                Seen::NotYet(status.to_string())
            })
        })
        .await?;
    }
    let stored = jobs.get("mxnet-job").await?;
    ensure!(stored.data["spec"] == manifest.data["spec"], "{stored:?}");
    Ok(())
}

// contract: 12.43
#[tokio::test]
async fn a_role_that_is_null_is_dropped_by_the_server_before_any_rule() -> Result<()> {
    let world = World::new("nulls").await?;
    for (version, file) in [
        ("v1beta1", "kubeflow-v1beta1-train-gpu.yaml"),
        ("v1", "kubeflow-v1-train.yaml"),
    ] {
        let mut manifest = sample(file)?;
        manifest.metadata.name = Some(format!("null-{version}"));
        manifest.data["spec"]["mxReplicaSpecs"]["Server"] = Value::Null;
        let jobs = world.at(version);
        let made = jobs.create(&PostParams::default(), &manifest).await?;
        let roles = field(&made, "/spec/mxReplicaSpecs").as_object();
        let roles: Vec<_> = roles.context("no roles")?.keys().collect();
        ensure!(roles == ["Scheduler", "Worker"], "{version}: {roles:?}");
    }
    Ok(())
}

#[tokio::test]
async fn of_both_spellings_of_the_cleanup_policy_each_version_hears_its_own() -> Result<()> {
    let world = World::new("spelling").await?;
    let [own, other] = ["cleanupPodPolicy", "cleanPodPolicy"];
    for (name, policies, wanted) in [
        ("both", json!({own: "None", other: "Running"}), "None"),
        ("other", json!({other: "Running"}), "All"),
    ] {
        let mut manifest = sample("kubeflow-v1alpha1-dist.yaml")?;
        manifest.metadata.name = Some(name.to_owned());
        let policies = policies.as_object().context("no policies")?;
        for (spelling, policy) in policies {
            manifest.data["spec"][spelling] = policy.clone();
        }
        world
            .at("v1alpha1")
            .create(&PostParams::default(), &manifest)
            .await?;
        let stored = world.at("v1").get(name).await?;
        ensure!(
            *field(&stored, "/spec/cleanPodPolicy") == wanted,
            "{name}: {stored:?}"
        );
        let shown = world.at("v1alpha1").get(name).await?;
        // Without one of its own it is as it was written.
        let wanted = if policies.contains_key(own) {
            json!(wanted)
        } else {
            Value::Null
        };
        ensure!(
            *field(&shown, "/spec/cleanupPodPolicy") == wanted,
            "{name}: {shown:?}"
        );
        ensure!(
            field(&shown, "/spec/cleanPodPolicy").is_null(),
            "{name}: {shown:?}"
        );
    }
    Ok(())
}

#[tokio::test]
async fn at_v1alpha1_what_pods_are_made_of_stays_while_they_run() -> Result<()> {
    let world = World::new("stays").await?;
    let jobs = world.at("v1alpha1");
    let job = sample("kubeflow-v1alpha1-dist.yaml")?;
    jobs.create(&PostParams::default(), &job).await?;
    let plain = PatchParams::default();
    for path in [
        "/spec/replicaSpecs/0/PsRootPort",
        "/spec/mxImage",
        "/spec/schedulerName",
    ] {
        let value = if path.ends_with("Port") {
            json!(9999)
        } else {
            json!("other")
        };
        let patch = json!([{"op": "add", "path": path, "value": value}]);
        let patch = Patch::Json::<()>(serde_json::from_value(patch)?);
        let answer = jobs.patch(&job.name_any(), &plain, &patch).await;
        let error = answer.err().with_context(|| path.to_owned())?.to_string();
        ensure!(
            error.contains("can be edited only when the job has ended"),
            "{error}"
        );
    }
    let patch = Patch::Merge(json!({"spec": {"cleanupPodPolicy": "None"}}));
    jobs.patch(&job.name_any(), &plain, &patch).await?;
    Ok(())
}

// contract: 12.7, 12.13
// promise: P20
#[tokio::test]
async fn at_v1beta1_the_jobs_port_is_shown_and_only_that_may_be_missing_from_what_is_applied()
-> Result<()> {
    let world = World::new("port").await?;
    let beta = world.at("v1beta1");
    let mut manifest = sample("kubeflow-v1beta1-train-gpu.yaml")?;
    let name = manifest.name_any();
    let containers = "/spec/mxReplicaSpecs/Worker/template/spec/containers";
    let work = field(&manifest, containers)[0].clone();
    ensure!(work["ports"].is_null(), "{work}");
    let side = json!({"name": "side", "image": "example.com/side:1"});
    *at_path(&mut manifest, containers)? = json!([side, work]);
    beta.create(&PostParams::default(), &manifest).await?;

    let shown = beta.get(&name).await?;
    let port = json!([{"name": "mxjob-port", "containerPort": 9091}]);
    ensure!(field(&shown, containers)[1]["ports"] == port, "{shown:?}");
    ensure!(field(&shown, containers)[0] == side, "{shown:?}");
    let stored = world.at("v1").get(&name).await?;
    ensure!(field(&stored, containers) == field(&shown, containers));

    let apply = async |change: &Value| {
        let worker = json!({"Worker": {"template": change}});
        let patch = Patch::Merge(json!({"spec": {"mxReplicaSpecs": worker}}));
        beta.patch(&name, &PatchParams::default(), &patch).await
    };
    let with = |list: Value| json!({"spec": {"containers": list}});
    let again = apply(&with(json!([side, work]))).await?;
    // It is a write: the server compares what it was sent with what it shows.
    let generations = [&stored, &again].map(|job| job.metadata.generation);
    ensure!(generations == [Some(1), Some(2)], "{generations:?}");
    ensure!(field(&again, containers) == field(&shown, containers));
    let mut more = work.clone();
    more["ports"] = json!([{"containerPort": 8080}]);
    let mut other = work.clone();
    other["ports"] = json!([{"name": "mxjob-port", "containerPort": 9099}]);
    let mut image = work.clone();
    image["image"] = json!("example.com/other:1");
    let mut variable = work.clone();
    variable["env"] = json!([{"name": "A", "value": "B"}]);
    let node = json!({"spec": {"containers": [side, work], "nodeName": "there"}});
    let label = json!({"spec": {"containers": [side, work]}, "metadata": {"labels": {"a": "b"}}});
    let says = ": Worker.template can be edited only when the job is finished";
    let edits = [
        with(json!([side, more])),
        with(json!([side, other])),
        with(json!([side, &image])),
        with(json!([side, variable])),
        with(json!([work])),
        with(json!([work, side])),
        node,
        label,
    ];
    for edit in edits {
        let answer = apply(&edit).await;
        let error = answer.err().with_context(|| edit.to_string())?.to_string();
        ensure!(error.contains(says), "{edit}: {error}");
    }
    // Of a whole manifest the role that is edited, not one that lacks its port alone.
    *at_path(&mut manifest, containers)? = json!([side, image]);
    let whole = Patch::Merge(json!({"spec": manifest.data["spec"]}));
    let answer = beta.patch(&name, &PatchParams::default(), &whole).await;
    let error = answer.err().context("an edit was taken")?.to_string();
    ensure!(error.contains(says), "{error}");
    Ok(())
}

fn at_path<'a>(object: &'a mut DynamicObject, path: &str) -> Result<&'a mut Value> {
    let found = object.data.pointer_mut(path);
    found.with_context(|| format!("there is no {path}"))
}
