//! The moments that are kept of every release, brought about on a real API server.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context as _, Result};
use e2e::deadline::{Seen, until};
use e2e::kubelet::Behaviour;
use e2e::{ScriptedKubelet, ports};
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::ResourceExt;
use kube::api::{Api, ListParams, Patch, PatchParams, PostParams};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::Moment;
use crate::bench::{Bench, LEASE, Operator, PATIENCE, at, converts, training, with};
use crate::facts::raw;
use crate::versions::sample;

/// With its name in every address, 270 replicas are more than a variable may say.
const LARGE: &str = "large-with-a-name-that-makes-each-address-longer";

/// Jobs that are kept as the older versions show them as well.
const VIEWED: [&str; 3] = ["running", "v1alpha1", "v1beta1"];

/// All of them.
pub(super) async fn record() -> Result<Vec<Moment>> {
    let (bench, plane) = Bench::own("release").await?;
    let address = format!("127.0.0.1:{}", ports::free()?);
    let url = format!("https://{address}");
    let webhook = ["--webhook-bind-address", &address, "--webhook-url", &url];
    let operator = Operator::start_beside(&plane.kubeconfig(), &bench.namespace, &webhook)?;
    operator.says("its conversion is pointed here").await?;
    converts(&bench.client, &bench.namespace).await?;
    let kubelet = kubelet(&bench);
    for (version, job) in jobs()? {
        let job = serde_json::from_value(job)?;
        let jobs = at(&bench.client, &bench.namespace, version);
        jobs.create(&PostParams::default(), &job).await?;
    }
    live(&bench, &kubelet).await?;
    settle(&bench).await?;
    let mut moments = Vec::new();
    for job in raw(&bench).list(&ListParams::default()).await? {
        moments.push(moment(&bench, &job.name_any()).await?);
    }
    moments.push(shared(&bench).await?);
    Ok(moments)
}

/// What pods do: those of one job never start, those of another do once.
fn kubelet(bench: &Bench) -> ScriptedKubelet {
    let begun = Mutex::new(HashSet::new());
    ScriptedKubelet::spawn(bench.client.clone(), &bench.namespace, move |pod, _| {
        let mut begun = begun.lock().unwrap_or_else(PoisonError::into_inner);
        let again = !begun.insert(pod.to_owned());
        if pod.starts_with("created-") || pod.starts_with("restarting-") && again {
            Behaviour::Pending
        } else {
            Behaviour::Run
        }
    })
}

/// Every job and the version that it is made at.
fn jobs() -> Result<Vec<(&'static str, Value)>> {
    let tuner = |replicas: u32| {
        let container = json!({"name": "mxnet", "image": "example.com/tvm:1"});
        json!({
            "replicas": replicas,
            "restartPolicy": "ExitCode",
            "template": {"spec": {"containers": [container]}},
        })
    };
    let mut tuning = training("tuning", 1, 1);
    tuning["spec"] = json!({"jobMode": "MXTune", "mxReplicaSpecs": {
        "TunerTracker": tuner(1), "TunerServer": tuner(2), "Tuner": tuner(1),
    }});
    let per_job = json!({"network": {"services": "PerJob"}});
    let mut large = with(training(LARGE, 0, 270), per_job.clone());
    // No pod of it is ever made: there is no such class.
    for role in ["Scheduler", "Worker"] {
        let template = &mut large["spec"]["mxReplicaSpecs"][role]["template"];
        template["spec"]["priorityClassName"] = json!("nobody-has-this");
    }
    let mut refused = training("refused", 0, 1);
    refused["spec"]["mxReplicaSpecs"]["Worker"]["template"]["spec"]["containers"] = json!([
        {"name": "mxnet", "image": "example.com/mxnet:1"},
        {"name": "logs", "image": "example.com/logs:1", "ports": [{"containerPort": 9091}]},
    ]);
    let mut alpha = serde_json::to_value(sample("kubeflow-v1alpha1-dist.yaml")?)?;
    alpha["metadata"]["name"] = json!("v1alpha1");
    // One that follows from the uid would be another one for who puts the job back.
    alpha["spec"]["RuntimeId"] = json!("ab12");
    let mut beta = serde_json::to_value(sample("kubeflow-v1beta1-train-gpu.yaml")?)?;
    beta["metadata"]["name"] = json!("v1beta1");
    Ok(vec![
        ("v1", training("created", 1, 1)),
        ("v1", training("running", 1, 2)),
        (
            "v1",
            with(
                training("restarting", 1, 1),
                json!({"failurePolicy": {"maxRestarts": 3}}),
            ),
        ),
        ("v1", training("suspended", 0, 1)),
        (
            "v1",
            with(
                training("succeeded", 0, 1),
                json!({"runPolicy": {"cleanPodPolicy": "None"}}),
            ),
        ),
        ("v1", training("failed", 0, 1)),
        ("v1", refused),
        ("v1", tuning),
        ("v1", with(training("per-job", 0, 1), per_job)),
        ("v1", large),
        ("v1alpha1", alpha),
        ("v1beta1", beta),
        ("v1", training("rescaled", 0, 1)),
    ])
}

/// Brings every job to where it is kept.
async fn live(bench: &Bench, kubelet: &ScriptedKubelet) -> Result<()> {
    for (job, count) in [("running", "4/4"), ("per-job", "2/2"), ("v1alpha1", "3/3")] {
        ready(bench, job, count).await?;
    }
    bench.phase("v1beta1", "Running").await?;
    bench.phase("refused", "Failed").await?;

    ready(bench, "restarting", "3/3").await?;
    kubelet.fail("restarting-worker-0", 137).await?;
    bench.restarted("restarting", 1).await?;
    bench.phase("restarting", "Restarting").await?;
    ready(bench, "restarting", "0/3").await?;

    ready(bench, "suspended", "2/2").await?;
    patch(bench, "suspended", json!({"runPolicy": {"suspend": true}})).await?;
    bench.phase("suspended", "Suspended").await?;

    ready(bench, "succeeded", "2/2").await?;
    kubelet.succeed("succeeded-worker-0").await?;
    kubelet.succeed("succeeded-scheduler-0").await?;
    bench.phase("succeeded", "Succeeded").await?;

    ready(bench, "failed", "2/2").await?;
    kubelet.fail("failed-worker-0", 1).await?;
    bench.phase("failed", "Failed").await?;

    ready(bench, "tuning", "4/4").await?;
    kubelet.fail("tuning-tunerserver-1", 137).await?;
    let what = "a replica of tuning to be replaced";
    until(what, PATIENCE, || async {
        let job = raw(bench).get("tuning").await?;
        let attempts = &job.data["status"]["replicaStatuses"]["TunerServer"]["attempts"];
        Ok(attempts["1"] == 1)
    })
    .await?;
    ready(bench, "tuning", "4/4").await?;

    ready(bench, "rescaled", "2/2").await?;
    let more = json!({"mxReplicaSpecs": {"Worker": {"replicas": 2}}});
    patch(bench, "rescaled", more).await?;
    bench.restarted("rescaled", 1).await?;
    bench.phase("rescaled", "Running").await?;
    ready(bench, "rescaled", "3/3").await?;

    let config_maps: Api<ConfigMap> = Api::namespaced(bench.client.clone(), &bench.namespace);
    until("the layout of the large job", PATIENCE, || async {
        let found = config_maps.get_opt(&format!("{LARGE}-cluster")).await?;
        Ok(found.map(drop))
    })
    .await
}

async fn patch(bench: &Bench, job: &str, spec: Value) -> Result<()> {
    let patch = Patch::Merge(json!({"spec": spec}));
    let jobs = raw(bench);
    jobs.patch(job, &PatchParams::default(), &patch).await?;
    Ok(())
}

/// Waits until so many replicas of the job are ready.
pub(crate) async fn ready(bench: &Bench, job: &str, count: &str) -> Result<()> {
    until(&format!("{count} of {job}"), PATIENCE, || async {
        let status = raw(bench).get(job).await?.data["status"].clone();
        Ok(if status["ready"] == count {
            Seen::Done(())
        } else {
            Seen::NotYet(status.to_string())
        })
    })
    .await
}

/// Waits until nothing has changed for a while.
async fn settle(bench: &Bench) -> Result<()> {
    let mut before = Vec::new();
    let mut same = 0;
    let what = "everything to be at rest";
    for _ in 0..PATIENCE.as_secs() {
        let jobs = raw(bench).list_metadata(&ListParams::default()).await?;
        let pods = bench.pods.list_metadata(&ListParams::default()).await?;
        let jobs = jobs.iter().map(ResourceExt::resource_version);
        let pods = pods.iter().map(ResourceExt::resource_version);
        let now: Vec<_> = jobs.chain(pods).collect();
        same = if now == before { same + 1 } else { 0 };
        if same == 3 {
            return Ok(());
        }
        before = now;
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    anyhow::bail!("waited in vain for {what}")
}

/// The job, as other versions show it, and what it owns.
async fn moment(bench: &Bench, name: &str) -> Result<Moment> {
    let job = raw(bench).get(name).await?;
    let uid = job.uid().context("no uid")?;
    let mut objects = vec![serde_json::to_value(job)?];
    if VIEWED.contains(&name) {
        for version in ["v1alpha1", "v1beta1"] {
            let view = at(&bench.client, &bench.namespace, version);
            objects.push(serde_json::to_value(view.get(name).await?)?);
        }
    }
    objects.extend(owned(&bench.pods, &uid).await?);
    objects.extend(owned(&bench.services, &uid).await?);
    let config_maps = Api::<ConfigMap>::namespaced(bench.client.clone(), &bench.namespace);
    objects.extend(owned(&config_maps, &uid).await?);
    objects.iter_mut().for_each(without_managers);
    let name = if name == LARGE { "large" } else { name };
    Ok(Moment {
        name: name.to_owned(),
        objects,
    })
}

async fn owned<K>(api: &Api<K>, uid: &str) -> Result<Vec<Value>>
where
    K: kube::Resource + Clone + DeserializeOwned + Serialize + std::fmt::Debug,
{
    let all = api.list(&ListParams::default()).await?;
    let is_ours = |one: &&K| one.owner_references().iter().any(|owner| owner.uid == uid);
    let ours = all.items.iter().filter(is_ours).map(serde_json::to_value);
    Ok(ours.collect::<Result<_, _>>()?)
}

/// What the operators of a namespace share, without what makes it theirs.
async fn shared(bench: &Bench) -> Result<Moment> {
    let leases = Api::<Lease>::namespaced(bench.client.clone(), &bench.namespace);
    let secrets = Api::<Secret>::namespaced(bench.client.clone(), &bench.namespace);
    let mut lease = serde_json::to_value(leases.get(LEASE).await?)?;
    lease["spec"]["holderIdentity"] = json!("the-leader");
    let mut secret = serde_json::to_value(secrets.get("mxjob-webhook").await?)?;
    for (_, value) in secret["data"].as_object_mut().into_iter().flatten() {
        *value = json!("");
    }
    let mut objects = vec![lease, secret];
    objects.iter_mut().for_each(without_managers);
    Ok(Moment {
        name: "operator".to_owned(),
        objects,
    })
}

fn without_managers(object: &mut Value) {
    if let Some(meta) = object["metadata"].as_object_mut() {
        meta.shift_remove("managedFields");
    }
}
