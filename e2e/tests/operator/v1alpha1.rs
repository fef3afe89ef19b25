//! Jobs that were made at v1alpha1 run as their first operator promised.

use std::collections::BTreeSet;

use anyhow::{Context as _, Result, ensure};
use e2e::ScriptedKubelet;
use e2e::deadline::{Seen, until};
use k8s_openapi::api::core::v1::{Pod, Service};
use kube::ResourceExt as _;
use kube::api::{ListParams, Patch, PatchParams, PostParams};
use kube::core::DynamicObject;
use serde_json::{Value, json};

use crate::bench::PATIENCE;
use crate::versions::World;

fn entry(role: &str, replicas: u32, restart: &str) -> Value {
    json!({
        "mxReplicaType": role,
        "replicas": replicas,
        "template": {"spec": {
            "containers": [{"name": "mxnet", "image": "example.com/mxnet:1"}],
            "restartPolicy": restart,
        }},
    })
}

/// A scheduler, a server and two workers; worker 1 decides.
fn job(name: &str, restart: &str) -> Value {
    let entry = |role, replicas| entry(role, replicas, restart);
    json!({
        "apiVersion": "kubeflow.org/v1alpha1",
        "kind": "MXJob",
        "metadata": {"name": name},
        "spec": {
            "replicaSpecs": [entry("SCHEDULER", 1), entry("SERVER", 1), entry("WORKER", 2)],
            "terminationPolicy": {"chief": {"replicaName": "WORKER", "replicaIndex": 1}},
        },
    })
}

impl World {
    async fn make(&self, job: Value) -> Result<DynamicObject> {
        let job: DynamicObject = serde_json::from_value(job)?;
        Ok(self
            .at("v1alpha1")
            .create(&PostParams::default(), &job)
            .await?)
    }

    /// The runtime id that a job made at v1alpha1 shows there.
    pub(crate) async fn run(&self, name: &str) -> Result<String> {
        let seen = self.at("v1alpha1").get(name).await?;
        let run = seen.data["spec"]["RuntimeId"].as_str();
        Ok(run.context("a job shows its RuntimeId")?.to_owned())
    }
}

fn names<T: kube::Resource>(objects: &[T]) -> BTreeSet<String> {
    objects.iter().map(kube::ResourceExt::name_any).collect()
}

// contract: 12.14, 12.15
// promise: P32, P65, P70, P72, P75
#[tokio::test]
async fn its_objects_have_the_names_and_labels_that_its_runtime_id_makes() -> Result<()> {
    let world = World::new("alpha-names").await?;
    let kubelet = ScriptedKubelet::run_all(world.bench.client.clone(), &world.bench.namespace);
    let made = world.make(job("digits", "Never")).await?;
    let run = world.run("digits").await?;
    ensure!(made.data["spec"]["RuntimeId"] == *run, "{made:?}");
    let wanted: BTreeSet<_> = ["scheduler-R-0", "server-R-0", "worker-R-0", "worker-R-1"]
        .map(|name| format!("digits-{}", name.replace('R', &run)))
        .into();
    world.bench.phase("digits", "Running").await?;
    // By the labels of the first operator.
    let labels = format!("kubeflow.org=,app=mxnet-job,mx_job_name=digits,runtime_id={run}");
    let list = ListParams::default().labels(&labels);
    let pods: Vec<Pod> = world.bench.pods.list(&list).await?.items;
    ensure!(names(&pods) == wanted, "{pods:?}");
    let services: Vec<Service> = world.bench.services.list(&list).await?.items;
    ensure!(names(&services) == wanted, "{services:?}");
    let worker = ListParams::default().labels("job_type=WORKER,task_index=1");
    let pods = world.bench.pods.list(&worker).await?.items;
    let worker = format!("digits-worker-{run}-1");
    ensure!(names(&pods) == BTreeSet::from([worker]), "{pods:?}");
    let container = pods
        .first()
        .and_then(|pod| pod.spec.as_ref()?.containers.first());
    let env = container.and_then(|one| one.env.as_ref()).context("env")?;
    let uri = env.iter().find(|one| one.name == "DMLC_PS_ROOT_URI");
    let uri = uri.and_then(|one| one.value.clone());
    ensure!(uri == Some(format!("digits-scheduler-{run}-0")), "{uri:?}");

    // A replica that is replaced has its name again, and the job its id.
    let name = format!("digits-worker-{run}-0");
    let before = world.bench.pods.get(&name).await?.uid();
    kubelet.fail(&name, 137).await?;
    until("another worker 0", PATIENCE, || async {
        let pod = world.bench.pods.get_opt(&name).await?;
        let runs = |pod: &Pod| {
            let status = pod.status.as_ref().and_then(|status| status.phase.clone());
            pod.uid() != before && status.as_deref() == Some("Running")
        };
        Ok(pod.is_some_and(|pod| runs(&pod)))
    })
    .await?;
    let pods = world.bench.pods.list(&ListParams::default()).await?.items;
    ensure!(names(&pods) == wanted, "{pods:?}");
    ensure!(world.run("digits").await? == run);
    Ok(())
}

// contract: 12.16, 12.17
// promise: P31, P58
#[tokio::test]
async fn the_chief_that_it_names_ends_it_and_exit_codes_count_in_place() -> Result<()> {
    let world = World::new("alpha-chief").await?;
    let kubelet = ScriptedKubelet::run_all(world.bench.client.clone(), &world.bench.namespace);
    let state = async |name: &str, wanted: &str| {
        let what = format!("{name} to be {wanted} for v1alpha1");
        until(&what, PATIENCE, || async {
            let seen = world.at("v1alpha1").get(name).await?;
            let status = &seen.data["status"];
            Ok(if status["phase"] == "Done" && status["state"] == wanted {
                Seen::Done(())
            } else {
                Seen::NotYet(status.to_string())
            })
        })
        .await
    };
    for name in ["ends", "fails"] {
        world.make(job(name, "OnFailure")).await?;
        world.bench.phase(name, "Running").await?;
    }
    let run = world.run("ends").await?;
    let worker = |index: u32| format!("ends-worker-{run}-{index}");
    let before = world.bench.pods.get(&worker(1)).await?.uid();
    // The kubelet starts it again.
    kubelet.fail(&worker(1), 143).await?;
    kubelet.succeed(&worker(1)).await?;
    let pod = world.bench.pods.get_opt(&worker(1)).await?;
    ensure!(pod.is_none_or(|pod| pod.uid() == before), "replaced");
    // Nobody else counts any more.
    kubelet.fail(&worker(0), 1).await?;
    state("ends", "Succeeded").await?;

    // A code that is not retried is the end, although the kubelet starts the container again.
    let run = world.run("fails").await?;
    kubelet.fail(&format!("fails-worker-{run}-0"), 1).await?;
    state("fails", "Failed").await
}

// contract: 12.14, 12.16
// defect: D22
#[tokio::test]
async fn an_id_that_cannot_stand_in_names_and_a_chief_that_is_not_there_are_refused() -> Result<()>
{
    let world = World::new("alpha-rules").await?;
    let refused = async |change: fn(&mut Value)| -> Result<String> {
        let mut job = job("digits", "Never");
        change(&mut job);
        let answer = world.make(job).await;
        Ok(answer.err().context("accepted")?.to_string())
    };
    for (change, wanted) in [
        (
            (|job| job["spec"]["RuntimeId"] = json!("Ab12")) as fn(&mut Value),
            "RuntimeId must be four lower-case letters and digits",
        ),
        (
            |job| job["metadata"]["name"] = json!("n".repeat(47)),
            "is longer than 63 characters: shorten metadata.name",
        ),
        (
            |job| job["spec"]["terminationPolicy"]["chief"]["replicaIndex"] = json!(2),
            "Missing ReplicaSpec for chief: WORKER: replicaIndex is not below its replicas",
        ),
        (
            |job| {
                if let Some(entries) = job["spec"]["replicaSpecs"].as_array_mut() {
                    entries.push(entry("EVALUATOR", 1, "Never"));
                }
            },
            "mxReplicaSpec.MXReplicaType is EVALUATOR but must be one of [SCHEDULER SERVER WORKER]",
        ),
    ] {
        let error = refused(change).await?;
        ensure!(error.contains(wanted), "{error}");
    }
    let mut own = job("digits", "Never");
    own["spec"]["RuntimeId"] = json!("ab12");
    world.make(own).await?;
    let patch = Patch::Merge(json!({"spec": {"RuntimeId": "cd34"}}));
    let jobs = world.at("v1alpha1");
    let answer = jobs.patch("digits", &PatchParams::default(), &patch).await;
    let error = answer.err().context("accepted")?.to_string();
    ensure!(error.contains("RuntimeId is immutable"), "{error}");
    ensure!(world.run("digits").await? == "ab12");
    Ok(())
}

// contract: 12.18
#[tokio::test]
async fn an_id_that_a_later_manifest_leaves_out_restarts_the_job_under_new_names() -> Result<()> {
    let world = World::new("alpha-renamed").await?;
    let _kubelet = ScriptedKubelet::run_all(world.bench.client.clone(), &world.bench.namespace);
    let mut own = job("digits", "Never");
    own["spec"]["RuntimeId"] = json!("ab12");
    world.make(own).await?;
    world.bench.phase("digits", "Running").await?;
    world.bench.pods.get("digits-worker-ab12-1").await?;
    let patch = Patch::Merge(json!({"spec": {"RuntimeId": null}}));
    let jobs = world.at("v1alpha1");
    jobs.patch("digits", &PatchParams::default(), &patch)
        .await?;
    let run = world.run("digits").await?;
    ensure!(run != "ab12");
    let told = world.bench.event("MXJobRenamed").await?;
    let wanted = "MXJob digits is restarting because the names of its replicas changed.";
    ensure!(told == wanted, "{told}");
    let wanted: BTreeSet<_> = ["scheduler-R-0", "server-R-0", "worker-R-0", "worker-R-1"]
        .map(|name| format!("digits-{}", name.replace('R', &run)))
        .into();
    until(
        "pods and services under the new names alone",
        PATIENCE,
        || async {
            let all = ListParams::default();
            let pods = world.bench.pods.list(&all).await?.items;
            let labels = ListParams::default().labels("mx_job_name=digits");
            let services = world.bench.services.list(&labels).await?.items;
            let runs = |pod: &Pod| {
                let status = pod.status.as_ref().and_then(|status| status.phase.clone());
                status.as_deref() == Some("Running")
            };
            let seen = (names(&pods), names(&services));
            Ok(
                if seen == (wanted.clone(), wanted.clone()) && pods.iter().all(runs) {
                    Seen::Done(())
                } else {
                    Seen::NotYet(format!("{seen:?}"))
                },
            )
        },
    )
    .await?;
    let status = world.bench.phase("digits", "Running").await?.status;
    let status = status.unwrap_or_default();
    ensure!(
        (status.restarts, status.counted_restarts) == (Some(1), None),
        "{status:?}"
    );
    Ok(())
}

// contract: 12.20
#[tokio::test]
async fn scaled_past_the_names_that_its_pods_can_have_it_keeps_its_size_and_ends() -> Result<()> {
    let world = World::new("alpha-size").await?;
    let kubelet = ScriptedKubelet::run_all(world.bench.client.clone(), &world.bench.namespace);
    // 63 characters with an index of one digit.
    let name = "n".repeat(49);
    let mut long = job(&name, "Never");
    long["spec"] = json!({"replicaSpecs": [entry("WORKER", 10, "Never")]});
    world.make(long).await?;
    let status = async |wanted: [&str; 3]| {
        let what = format!("the job to be {wanted:?}");
        until(&what, PATIENCE, || async {
            let status = world.at("v1").get(&name).await?.data["status"].clone();
            let seen = ["phase", "reason", "ready"].map(|key| status[key].as_str());
            Ok(if seen == wanted.map(Some) {
                Seen::Done(())
            } else {
                Seen::NotYet(status.to_string())
            })
        })
        .await
    };
    let uids = async || -> Result<BTreeSet<_>> {
        let pods = world.bench.pods.list(&ListParams::default()).await?.items;
        Ok(pods.iter().map(kube::ResourceExt::uid).collect())
    };
    status(["Running", "MXJobRunning", "10/10"]).await?;
    let before = uids().await?;
    for (version, replicas) in [("v1", 11), ("v1beta1", 12)] {
        let patch = json!({"spec": {"mxReplicaSpecs": {"Worker": {"replicas": replicas}}}});
        let jobs = world.at(version);
        let patch = Patch::Merge(patch);
        jobs.patch(&name, &PatchParams::default(), &patch).await?;
        status(["Running", "SizeRefused", "10/10"]).await?;
    }
    // What is not about its size can be edited at v1, and at v1alpha1 its labels; its size to one
    // that it can have.
    let patch = Patch::Merge(json!({"spec": {"runPolicy": {"backoffLimit": 5}}}));
    let plain = PatchParams::default();
    world.at("v1").patch(&name, &plain, &patch).await?;
    let patch = Patch::Merge(json!({"metadata": {"labels": {"a": "b"}}}));
    world.at("v1alpha1").patch(&name, &plain, &patch).await?;
    let patch = json!([{"op": "replace", "path": "/spec/replicaSpecs/0/replicas", "value": 13}]);
    let patch = Patch::Json::<()>(serde_json::from_value(patch)?);
    let answer = world.at("v1alpha1").patch(&name, &plain, &patch).await;
    let error = answer.err().context("accepted")?.to_string();
    ensure!(error.contains("shorten metadata.name"), "{error}");
    let patch = json!([{"op": "replace", "path": "/spec/replicaSpecs/0/replicas", "value": 10}]);
    let patch = Patch::Json::<()>(serde_json::from_value(patch)?);
    world.at("v1alpha1").patch(&name, &plain, &patch).await?;
    status(["Running", "MXJobRunning", "10/10"]).await?;
    ensure!(uids().await? == before, "pods were made anew");
    let run = world.run(&name).await?;
    for index in 0..10 {
        kubelet
            .succeed(&format!("{name}-worker-{run}-{index}"))
            .await?;
    }
    world.bench.phase(&name, "Succeeded").await?;
    Ok(())
}
