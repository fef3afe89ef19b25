//! What a release has left is put back, and today's operator goes on with it.

use std::collections::BTreeMap;
use std::fmt::Debug;

use anyhow::{Context as _, Result, ensure};
use e2e::kubelet::Behaviour;
use e2e::{ControlPlane, ScriptedKubelet};
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{ConfigMap, Pod, Service};
use kube::ResourceExt as _;
use kube::api::{Api, ListParams, Patch, PatchParams, PostParams};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::moments::ready;
use super::{Moment, read, releases};
use crate::bench::{Bench, LEASE, Operator, SENTINEL};
use crate::facts::{made, overwrite_status, raw, succeed};

/// As somebody would create it: without what the server gives, in another namespace, of another owner.
fn fresh<K: DeserializeOwned>(bench: &Bench, object: &Value, owner: &str) -> Result<K> {
    let mut object = object.clone();
    let meta = object["metadata"].as_object_mut().context("no metadata")?;
    for key in ["uid", "resourceVersion", "creationTimestamp", "generation"] {
        meta.shift_remove(key);
    }
    meta.insert("namespace".to_owned(), json!(bench.namespace));
    if let Some(owners) = meta.get_mut("ownerReferences") {
        owners[0]["uid"] = json!(owner);
    }
    Ok(serde_json::from_value(object)?)
}

async fn put<K>(bench: &Bench, api: &Api<K>, object: &Value, owner: &str) -> Result<K>
where
    K: Clone + DeserializeOwned + Serialize + Debug,
{
    let fresh = fresh(bench, object, owner)?;
    let put = api.create(&PostParams::default(), &fresh).await;
    put.with_context(|| object["metadata"]["name"].to_string())
}

/// Puts a job back with its status and all that it owns; its name.
async fn put_back(bench: &Bench, moment: &Moment, job: &Value) -> Result<String> {
    let made = put(bench, &raw(bench), job, "").await?;
    let (name, uid) = (made.name_any(), made.uid().context("no uid")?);
    if job["status"].is_object() {
        overwrite_status(bench, &name, job["status"].clone()).await?;
    }
    for pod in moment.of_kind("Pod") {
        let made: Pod = put(bench, &bench.pods, pod, &uid).await?;
        let status = Patch::Merge(json!({"status": pod["status"]}));
        let (name, plain) = (made.name_any(), PatchParams::default());
        bench.pods.patch_status(&name, &plain, &status).await?;
    }
    for service in moment.of_kind("Service") {
        let _: Service = put(bench, &bench.services, service, &uid).await?;
    }
    let config_maps: Api<ConfigMap> = Api::namespaced(bench.client.clone(), &bench.namespace);
    for config_map in moment.of_kind("ConfigMap") {
        put(bench, &config_maps, config_map, &uid).await?;
    }
    Ok(name)
}

/// Uids of pods and services, by name.
async fn uids(bench: &Bench) -> Result<BTreeMap<String, Option<String>>> {
    let all = ListParams::default();
    let pods = bench.pods.list(&all).await?.items;
    let services = bench.services.list(&all).await?.items;
    let pods = pods.iter().map(|one| (one.name_any(), one.uid()));
    let services = services
        .iter()
        .map(|one| (format!("service {}", one.name_any()), one.uid()));
    Ok(pods.chain(services).collect())
}

/// A status without what the server counts for each object anew.
fn status(job: &Value) -> Value {
    let mut status = job["status"].clone();
    if let Some(fields) = status.as_object_mut() {
        fields.shift_remove("observedGeneration");
    }
    status
}

async fn resume(bench: &Bench, job: &str) -> Result<()> {
    let patch = Patch::Merge(json!({"spec": {"runPolicy": {"suspend": false}}}));
    let jobs = raw(bench);
    jobs.patch(job, &PatchParams::default(), &patch).await?;
    Ok(())
}

// contract: 12.46
#[tokio::test]
async fn todays_operator_goes_on_with_what_each_release_has_left() -> Result<()> {
    for release in releases()? {
        let (bench, plane) = Bench::shared("again").await?;
        let moments = read(&release)?;
        let what = || release.display().to_string();
        goes_on(&bench, plane, &moments).await.with_context(what)?;
    }
    Ok(())
}

async fn goes_on(bench: &Bench, plane: &ControlPlane, moments: &[Moment]) -> Result<()> {
    let mut jobs = BTreeMap::new();
    let mut transitions = None;
    for moment in moments {
        if let Some(job) = moment.job() {
            jobs.insert(put_back(bench, moment, job).await?, job);
        } else {
            let leases: Api<Lease> = Api::namespaced(bench.client.clone(), &bench.namespace);
            let lease = put(bench, &leases, moment.find("Lease")?, "").await?;
            transitions = lease.spec.and_then(|spec| spec.lease_transitions);
        }
    }
    let before = uids(bench).await?;
    let client = bench.client.clone();
    let kubelet = ScriptedKubelet::spawn(client, &bench.namespace, |pod, _| {
        if pod.starts_with(SENTINEL) || pod.starts_with("suspended-") {
            Behaviour::Run
        } else {
            Behaviour::Pending
        }
    });
    // So long it waits for the one whose lease was put back.
    let lease = ["--lease-duration", "15s"];
    let _operator = Operator::start_beside(&plane.kubeconfig(), &bench.namespace, &lease)?;
    // By the end of it every job has been looked at.
    bench.another_life(&kubelet).await?;

    let mut now = uids(bench).await?;
    now.retain(|name, _| !name.contains(SENTINEL));
    ensure!(now == before, "{now:#?} were {before:#?}");
    let mut made = made(bench, plane)?;
    made.retain(|name, _| !name.starts_with(SENTINEL));
    ensure!(made.is_empty(), "{made:?}");
    for (name, stored) in &jobs {
        let now = serde_json::to_value(raw(bench).get(name).await?)?;
        let (now, then) = (status(&now), status(stored));
        ensure!(now == then, "{name}: {now:#} was {then:#}");
        let requests = bench.requests_about(plane, name)?;
        let wrote = |event: &&Value| {
            let reads = ["get", "list", "watch"].contains(&event["verb"].as_str().unwrap_or("?"));
            let is_own = ["events", "mxjobs"].map(|one| event["objectRef"]["resource"] == one);
            let done = event["responseStatus"]["code"].as_u64() < Some(300);
            !reads && is_own == [false, false] && done
        };
        let written: Vec<_> = requests.iter().filter(wrote).collect();
        ensure!(written.is_empty(), "of {name}: {written:#?}");
    }
    let leases: Api<Lease> = Api::namespaced(bench.client.clone(), &bench.namespace);
    let lease = leases.get(LEASE).await?.spec.context("empty")?;
    let taken = transitions.unwrap_or_default() + 1;
    ensure!(lease.lease_transitions == Some(taken), "{lease:?}");
    to_their_ends(bench, &kubelet).await
}

/// And on from where they were.
async fn to_their_ends(bench: &Bench, kubelet: &ScriptedKubelet) -> Result<()> {
    succeed(kubelet, "running", 2).await?;
    succeed(kubelet, "per-job", 1).await?;
    succeed(kubelet, "rescaled", 2).await?;
    kubelet.succeed("tuning-tuner-0").await?;
    kubelet.succeed("v1alpha1-worker-ab12-0").await?;
    kubelet.succeed("v1alpha1-scheduler-ab12-0").await?;
    resume(bench, "suspended").await?;
    for pod in ["scheduler-0", "server-0", "worker-0"] {
        kubelet.run(&format!("restarting-{pod}")).await?;
    }
    for job in ["running", "per-job", "rescaled", "tuning", "v1alpha1"] {
        bench.phase(job, "Succeeded").await?;
    }
    bench.phase("suspended", "Running").await?;
    ready(bench, "restarting", "3/3").await?;
    // Its restarts are counted on.
    kubelet.fail("restarting-worker-0", 137).await?;
    bench.restarted("restarting", 2).await
}
