//! The versions of one resource: made at one, seen and changed at each, converted by the operator.

use std::fs;
use std::path::Path;
use std::time::Duration;

use crate::bench::{Bench, Operator, PATIENCE, at, training, with};
use anyhow::{Context as _, Result, ensure};
use e2e::deadline::{Seen, until};
use e2e::{ControlPlane, ScriptedKubelet};
use futures::{StreamExt as _, TryStreamExt as _};
use kube::ResourceExt as _;
use kube::api::{Api, ListParams, Patch, PatchParams, PostParams, WatchEvent, WatchParams};
use kube::core::DynamicObject;
use mxjob_core::{MXJob, MxRole};
use serde_json::{Value, json};

/// The versions, the oldest first.
pub(crate) const VERSIONS: [&str; 3] = ["v1alpha1", "v1beta1", "v1"];

pub(crate) fn sample(name: &str) -> Result<DynamicObject> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../mxjob-core/tests/data");
    let text = fs::read_to_string(folder.join(name)).context(name.to_owned())?;
    Ok(serde_saphyr::from_str(&text)?)
}

/// A control plane that converts by an operator: for all namespaces, or for none of ours.
pub(crate) struct World {
    pub(crate) bench: Bench,
    plane: ControlPlane,
    operator: Operator,
}

impl World {
    pub(crate) async fn new(prefix: &str) -> Result<Self> {
        let (bench, plane) = Bench::own(prefix).await?;
        let operator = Operator::start_converting(&plane, &bench.namespace).await?;
        Ok(Self {
            bench,
            plane,
            operator,
        })
    }

    pub(crate) fn at(&self, version: &str) -> Api<DynamicObject> {
        at(&self.bench.client, &self.bench.namespace, version)
    }
}

pub(crate) fn field<'a>(object: &'a DynamicObject, path: &str) -> &'a Value {
    object.data.pointer(path).unwrap_or(&Value::Null)
}

// contract: 12.5, 12.6
// promise: P6, P8, P25, P26, P40, P90
// defect: D5
#[tokio::test]
async fn the_published_manifests_of_each_version_run_to_their_end() -> Result<()> {
    let world = World::new("samples").await?;
    let kubelet = ScriptedKubelet::run_all(world.bench.client.clone(), &world.bench.namespace);
    for (version, file, last) in [
        (
            "v1alpha1",
            "kubeflow-v1alpha1-dist.yaml",
            ["scheduler-RUN-0", "worker-RUN-0"].as_slice(),
        ),
        (
            "v1beta1",
            "kubeflow-v1beta1-train-gpu.yaml",
            &["scheduler-0", "worker-0"],
        ),
        ("v1beta1", "kubeflow-v1beta1-tune-gpu.yaml", &["tuner-0"]),
    ] {
        let job = world
            .at(version)
            .create(&PostParams::default(), &sample(file)?)
            .await
            .with_context(|| file.to_owned())?;
        let name = job.name_any();
        world.bench.phase(&name, "Running").await?;
        let seen = world.at("v1alpha1").get(&name).await?;
        ensure!(
            field(&seen, "/status/phase") == "Running"
                && field(&seen, "/status/state") == "Running",
            "{seen:?}"
        );
        let run = field(&seen, "/spec/RuntimeId").as_str();
        for pod in last {
            let pod = pod.replace("RUN", run.unwrap_or_default());
            kubelet.succeed(&format!("{name}-{pod}")).await?;
        }
        world.bench.phase(&name, "Succeeded").await?;
        let what = format!("{name} to be done for v1alpha1");
        until(&what, PATIENCE, || async {
            let seen = world.at("v1alpha1").get(&name).await?;
            let status = field(&seen, "/status");
            let done = status["phase"] == "Done" && status["state"] == "Succeeded";
            Ok(if done {
                Seen::Done(())
            } else {
                Seen::NotYet(status.to_string())
            })
        })
        .await?;
        let seen = world.at("v1beta1").get(&name).await?;
        let conditions = field(&seen, "/status/conditions").as_array();
        let last = conditions.and_then(|all| all.last());
        ensure!(
            last.is_some_and(|last| last["type"] == "Succeeded"),
            "{seen:?}"
        );
    }
    Ok(())
}

// contract: 12.1
// promise: P3
#[tokio::test]
async fn a_job_is_read_listed_and_watched_at_every_version_whichever_it_was_made_at() -> Result<()>
{
    let world = World::new("views").await?;
    let create = PostParams::default();
    for (version, file) in [
        ("v1alpha1", "kubeflow-v1alpha1-dist.yaml"),
        ("v1beta1", "kubeflow-v1beta1-tune-gpu.yaml"),
        ("v1", "kubeflow-v1-train.yaml"),
    ] {
        world.at(version).create(&create, &sample(file)?).await?;
    }
    for version in VERSIONS {
        let jobs = world.at(version);
        let list = jobs.list(&ListParams::default()).await?;
        ensure!(list.items.len() == 3, "{version}: {list:?}");
        let roles = if version == "v1alpha1" {
            "/spec/replicaSpecs"
        } else {
            "/spec/mxReplicaSpecs"
        };
        for job in &list.items {
            let types = job.types.clone().unwrap_or_default();
            ensure!(
                types.api_version == format!("kubeflow.org/{version}"),
                "{types:?}"
            );
            ensure!(!field(job, roles).is_null(), "{version}: {job:?}");
            let read = jobs.get(&job.name_any()).await?;
            ensure!(read.data["spec"] == job.data["spec"], "{read:?}");
        }
        let watched = jobs.watch(&WatchParams::default().timeout(10), "0").await?;
        let watched = watched.boxed().take(3);
        let names: Vec<_> = watched
            .map_ok(|event| match event {
                WatchEvent::Added(job) | WatchEvent::Modified(job) => field(&job, roles).is_null(),
                _ => true,
            })
            .try_collect()
            .await?;
        ensure!(names == [false; 3], "{version}: {names:?}");
    }
    Ok(())
}

// contract: 12.1, 12.2
// promise: P3
#[tokio::test]
async fn an_edit_at_an_older_version_keeps_what_that_version_cannot_show() -> Result<()> {
    let world = World::new("edits").await?;
    let kubelet = ScriptedKubelet::run_all(world.bench.client.clone(), &world.bench.namespace);
    let more = json!({
        "failurePolicy": {"maxRestarts": 7},
        "network": {"services": "PerJob"},
        "runPolicy": {"retryableExitCodes": ["42"], "cleanPodPolicy": "None"},
    });
    let made = world
        .bench
        .create(&with(training("digits", 1, 2), more))
        .await?;
    let made = serde_json::to_value(&made.spec)?;
    // Then the operator has nothing more to write.
    let status = until("all of digits to be ready", PATIENCE, || async {
        let status = world.at("v1").get("digits").await?.data["status"].clone();
        Ok(if status["ready"] == "4/4" {
            Seen::Done(status)
        } else {
            Seen::NotYet(status.to_string())
        })
    })
    .await?;
    for version in ["v1alpha1", "v1beta1"] {
        // A label changes nothing of the spec, and the whole object is sent back as it was read.
        let jobs = world.at(version);
        let mut job = jobs.get("digits").await?;
        job.labels_mut()
            .insert("seen-by".to_owned(), version.to_owned());
        jobs.replace("digits", &PostParams::default(), &job).await?;
        let stored = world.at("v1").get("digits").await?;
        ensure!(
            stored.data["spec"] == made,
            "{version}: {:?}",
            stored.data["spec"]
        );
        ensure!(
            stored.data["status"] == status,
            "{version}: {:?}",
            stored.data["status"]
        );
        ensure!(stored.labels()["seen-by"] == version, "{stored:?}");
    }
    // One worker more, asked for at v1beta1: the job is restarted with its new size.
    let patch = Patch::Merge(json!({"spec": {"mxReplicaSpecs": {"Worker": {"replicas": 3}}}}));
    let plain = PatchParams::default();
    world.at("v1beta1").patch("digits", &plain, &patch).await?;
    let stored = world.at("v1").get("digits").await?;
    let mut wanted = made;
    wanted["mxReplicaSpecs"]["Worker"]["replicas"] = json!(3);
    ensure!(stored.data["spec"] == wanted, "{:?}", stored.data["spec"]);
    world.bench.pods(5).await?;
    drop(kubelet);
    Ok(())
}

// contract: 12.3
// promise: P13, P24, P35, P39
// defect: D21
#[tokio::test]
async fn each_version_has_rules_of_its_own() -> Result<()> {
    let world = World::new("rules").await?;
    let refused = async |version: &str, file: &str, path: &str, value: Value| -> Result<String> {
        let mut job = serde_json::to_value(sample(file)?)?;
        *job.pointer_mut(path).context(path.to_owned())? = value;
        let job = serde_json::from_value(job)?;
        let answer = world.at(version).create(&PostParams::default(), &job).await;
        Ok(answer.err().context("accepted")?.to_string())
    };
    let list = "kubeflow-v1alpha1-dist.yaml";
    for (path, value, wanted) in [
        (
            "/spec/replicaSpecs/1/mxReplicaType",
            json!("Server"),
            "mxReplicaSpec.MXReplicaType is Server but must be one of [SCHEDULER SERVER WORKER]",
        ),
        (
            "/spec/replicaSpecs/0/replicas",
            json!(2),
            "The SCHEDULER must have Replicas = 1",
        ),
        (
            "/spec/jobMode",
            json!("local"),
            "its only entry must be one WORKER",
        ),
        (
            "/spec/jobMode",
            json!("both"),
            "Unsupported value: \"both\"",
        ),
        (
            "/spec/replicaSpecs/0",
            Value::Null,
            "must be of type object: \"null\"",
        ),
        (
            "/spec/replicaSpecs/2/mxReplicaType",
            json!("SERVER"),
            "two entries of one mxReplicaType",
        ),
        (
            "/spec/replicaSpecs/0/template/spec/containers/0/name",
            json!("train"),
            "Replica type SCHEDULER is missing a container named mxnet",
        ),
    ] {
        let error = refused("v1alpha1", list, path, value).await?;
        ensure!(error.contains(wanted), "{path}: {error}");
    }
    let map = "kubeflow-v1beta1-train-gpu.yaml";
    let error = refused(
        "v1beta1",
        map,
        "/spec/mxReplicaSpecs/Scheduler/replicas",
        json!(2),
    )
    .await?;
    ensure!(error.contains("Scheduler: replicas must be 1"), "{error}");
    Ok(())
}

// contract: 12.4, 12.7
#[tokio::test]
async fn while_the_operator_is_down_v1_works_and_the_next_one_converts_again() -> Result<()> {
    let World {
        bench,
        plane,
        operator,
    } = World::new("down").await?;
    let at = |version| at(&bench.client, &bench.namespace, version);
    let create = PostParams::default();
    let beta = sample("kubeflow-v1beta1-tune-gpu.yaml")?;
    at("v1beta1").create(&create, &beta).await?;
    operator.terminate(Duration::from_secs(5)).await?;

    let error = at("v1beta1").get(&beta.name_any()).await;
    let error = error.err().context("converted by nobody")?.to_string();
    ensure!(error.contains("conversion webhook"), "{error}");
    // What the chart's alert goes by.
    let metrics = http::Request::get("/metrics").body(Vec::new())?;
    let metrics = bench.client.request_text(metrics).await?;
    let failed = |line: &str| {
        line.starts_with("apiserver_crd_conversion_webhook_duration_seconds_count{")
            && line.contains("crd_name=\"mxjobs.kubeflow.org\"")
            && line.contains("succeeded=\"false\"")
    };
    ensure!(metrics.lines().any(failed), "{metrics}");
    let jobs = at("v1");
    jobs.create(&create, &sample("kubeflow-v1-train.yaml")?)
        .await?;
    let label = Patch::Merge(json!({"metadata": {"labels": {"still": "works"}}}));
    jobs.patch(&beta.name_any(), &PatchParams::default(), &label)
        .await?;
    ensure!(jobs.list(&ListParams::default()).await?.items.len() == 2);

    let _next = Operator::start_converting(&plane, &bench.namespace).await?;
    let read = at("v1beta1").get(&beta.name_any()).await?;
    ensure!(read.labels()["still"] == "works", "{read:?}");
    ensure!(field(&read, "/spec/cleanPodPolicy") == "All", "{read:?}");
    Ok(())
}

// contract: 12.13
#[tokio::test]
async fn a_manifest_is_applied_and_replaced_again_as_it_is() -> Result<()> {
    let world = World::new("again").await?;
    let _kubelet = ScriptedKubelet::run_all(world.bench.client.clone(), &world.bench.namespace);
    let force = PatchParams::apply("test").force();
    for (version, file) in [
        ("v1alpha1", "kubeflow-v1alpha1-dist.yaml"),
        ("v1beta1", "kubeflow-v1beta1-tune-gpu.yaml"),
        ("v1", "kubeflow-v1-train.yaml"),
    ] {
        let (jobs, manifest) = (world.at(version), sample(file)?);
        let name = manifest.name_any();
        jobs.patch(&name, &force, &Patch::Apply(&manifest)).await?;
        let job = world.bench.phase(&name, "Running").await?;
        let stored = serde_json::to_value(&job.spec)?;
        jobs.patch(&name, &force, &Patch::Apply(&manifest))
            .await
            .with_context(|| format!("{version}: applied again"))?;
        // As kubectl merges what it applied before into lists.
        let merge = Patch::Merge(json!({"spec": manifest.data["spec"]}));
        jobs.patch(&name, &PatchParams::default(), &merge)
            .await
            .with_context(|| format!("{version}: merged"))?;
        // As kubectl does it: at the version that is there, again when the operator writes meanwhile.
        let what = format!("{name} to be replaced at {version}");
        until(&what, PATIENCE, || async {
            let mut manifest = manifest.clone();
            manifest.metadata.resource_version = jobs.get(&name).await?.resource_version();
            match jobs.replace(&name, &PostParams::default(), &manifest).await {
                Ok(_) => Ok(Seen::Done(())),
                Err(kube::Error::Api(status)) if status.is_conflict() => {
                    Ok(Seen::NotYet(status.message.clone()))
                }
                Err(error) => Err(error.into()),
            }
        })
        .await?;
        let now = world.bench.jobs.get(&name).await?;
        ensure!(serde_json::to_value(&now.spec)? == stored, "{:?}", now.spec);
        // A replaced object has no annotation; what v1alpha1 cannot show of a status stays.
        let started = |job: &MXJob<MxRole>| job.status.as_ref()?.start_time.clone();
        ensure!(started(&now) == started(&job), "{:?}", now.status);
    }
    Ok(())
}
