//! Jobs of an older group: stored as they are, with their defaults, and run beside the others.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use e2e::deadline::{Seen, until};
use e2e::{ControlPlane, ScriptedKubelet, http};
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt as _;
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::core::{ApiResource, DynamicObject, GroupVersionKind};
use mxjob_core::role::apis;
use mxjob_core::{MxRole, schema};
use serde_json::{Value, json};

use crate::bench::{Bench, Operator, PATIENCE, training};

const GROUP: &str = "fioravanzo.org";
const BOTH: [&str; 2] = ["--api", "kubeflow.org,fioravanzo.org"];

/// The jobs of the older group in the namespace.
fn jobs(bench: &Bench) -> Api<DynamicObject> {
    let kind = GroupVersionKind::gvk(GROUP, "v1alpha1", "MXJob");
    let resource = ApiResource::from_gvk_with_plural(&kind, "mxjobs");
    Api::namespaced_with(bench.client.clone(), &bench.namespace, &resource)
}

/// A namespace of the shared control plane that knows both groups, and an operator for it.
async fn world(prefix: &str) -> Result<(Bench, &'static ControlPlane, Operator)> {
    let (bench, plane) = Bench::shared(prefix).await?;
    let definitions: Vec<_> = apis::<MxRole>().map(schema::crd).collect();
    plane.install_crds(&definitions).await?;
    let operator = serve(plane, &bench)?;
    Ok((bench, plane, operator))
}

fn serve(plane: &ControlPlane, bench: &Bench) -> Result<Operator> {
    let within = ["--namespace", bench.namespace.as_str()];
    Operator::start_with(plane, [BOTH, within].as_flattened())
}

/// The published manifest, as it is.
fn sample() -> Result<Value> {
    published("fioravanzo-v1alpha1-linear.yaml")
}

fn published(file: &str) -> Result<Value> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../mxjob-core/tests/data");
    let text = fs::read_to_string(folder.join(file))?;
    Ok(serde_saphyr::from_str(&text)?)
}

async fn apply(bench: &Bench, manifest: &Value) -> Result<DynamicObject> {
    let name = manifest["metadata"]["name"].as_str().context("a name")?;
    let how = PatchParams::apply("e2e");
    Ok(jobs(bench)
        .patch(name, &how, &Patch::Apply(manifest))
        .await?)
}

/// Waits until the job has that phase and state.
async fn phase(bench: &Bench, name: &str, phase: &str, state: &str) -> Result<DynamicObject> {
    until(&format!("{name} to be {phase}"), PATIENCE, || async {
        let job = jobs(bench).get(name).await?;
        let status = &job.data["status"];
        let there = status["phase"] == phase && status["state"] == state;
        Ok(if there {
            Seen::Done(job)
        } else {
            Seen::NotYet(job.data.to_string())
        })
    })
    .await
}

/// Names and uids of the pods that the job owns.
async fn pods(bench: &Bench, job: &DynamicObject) -> Result<Vec<(String, String)>> {
    let all = bench.pods.list(&ListParams::default()).await?;
    let ours = all.iter().filter(|pod| {
        let owner = pod.owner_references().first();
        owner.map(|owner| &owner.uid) == job.metadata.uid.as_ref()
    });
    let of = |pod: &Pod| (pod.name_any(), pod.uid().unwrap_or_default());
    let mut found: Vec<_> = ours.map(of).collect();
    found.sort();
    Ok(found)
}

// contract: 12.21, 12.22
// promise: P7, P32, P33, P40, P71, P90
// defect: D4, D20
#[tokio::test]
async fn the_published_manifest_runs_to_its_end_with_its_defaults_stored() -> Result<()> {
    let (bench, plane, _operator) = world("older").await?;
    let kubelet = ScriptedKubelet::run_all(bench.client.clone(), &bench.namespace);
    let manifest = sample()?;
    apply(&bench, &manifest).await?;
    let job = phase(&bench, "mx-test-dist", "Running", "Running").await?;
    let spec = &job.data["spec"];
    let run = spec["RuntimeId"].as_str().context("a RuntimeId")?;
    ensure!(run.len() == 4, "{run}");
    let mut wanted = manifest["spec"].clone();
    wanted["RuntimeId"] = json!(run);
    wanted["mxImage"] = json!("stefanofioravanzo/mxnet:1.3.0");
    wanted["terminationPolicy"] = json!({"chief": {"replicaName": "SCHEDULER", "replicaIndex": 0}});
    for entry in wanted["replicaSpecs"].as_array_mut().into_iter().flatten() {
        entry["mxPort"] = json!(9000);
    }
    ensure!(*spec == wanted, "{spec}");

    // They were stored once, before anything was made.
    let requests = bench.requests_about(plane, "mx-test-dist")?;
    let writes: Vec<_> = requests
        .iter()
        .filter(|event| event["objectRef"]["resource"] != "events")
        .filter(|event| matches!(event["verb"].as_str(), Some("patch" | "create" | "update")))
        .map(|event| {
            let object = &event["objectRef"];
            let word = |key: &str| object[key].as_str().unwrap_or_default().to_owned();
            (word("resource"), word("subresource"))
        })
        .collect();
    let stored = ("mxjobs".to_owned(), String::new());
    ensure!(writes.first() == Some(&stored), "{writes:?}");
    let times = writes.iter().filter(|write| **write == stored).count();
    ensure!(times == 1, "{writes:?}");

    let name = |role: &str| format!("mx-test-dist-{role}-{run}-0");
    let mut names = ["scheduler", "server", "worker"].map(name).to_vec();
    names.sort();
    let found = pods(&bench, &job).await?;
    let found: Vec<_> = found.into_iter().map(|(name, _)| name).collect();
    ensure!(found == names, "{found:?}");
    let marked = ListParams::default().labels(&format!("fioravanzo.org=,runtime_id={run}"));
    ensure!(bench.pods.list(&marked).await?.items.len() == 3);
    ensure!(bench.services.list(&marked).await?.items.len() == 3);

    kubelet.succeed(&name("worker")).await?;
    kubelet.succeed(&name("scheduler")).await?;
    let job = phase(&bench, "mx-test-dist", "Done", "Succeeded").await?;
    let replicas = &job.data["status"]["replicaStatuses"];
    ensure!(replicas[2]["mx_replica_type"] == "WORKER", "{replicas}");
    ensure!(
        replicas[2]["ReplicasStates"] == json!({"Succeeded": 1}),
        "{replicas}"
    );
    // All pods stay for their logs.
    ensure!(pods(&bench, &job).await?.len() == 3);
    ensure!(job.data["spec"] == wanted, "{}", job.data["spec"]);
    Ok(())
}

// contract: 12.21, 12.45
// promise: P7, P82, P85, P90
#[tokio::test]
async fn the_published_manifest_with_a_gpu_runs_to_its_end_and_its_server_after_it() -> Result<()> {
    let (bench, _plane, _operator) = world("older-gpu").await?;
    let kubelet = ScriptedKubelet::run_all(bench.client.clone(), &bench.namespace);
    apply(&bench, &published("fioravanzo-v1alpha1-gpu.yaml")?).await?;
    let job = phase(&bench, "mx-cifar-gpu", "Running", "Running").await?;
    let run = job.data["spec"]["RuntimeId"].as_str().context("an id")?;
    let name = |role: &str| format!("mx-cifar-gpu-{role}-{run}-0");
    let worker = bench.pods.get(&name("worker")).await?;
    let pod = serde_json::to_value(worker.spec)?;
    let container = &pod["containers"][0];
    let limits = &container["resources"]["limits"];
    ensure!(*limits == json!({"nvidia.com/gpu": "1"}), "{limits}");
    ensure!(container["volumeMounts"][0]["name"] == "myshare", "{pod}");
    ensure!(
        pod["volumes"][0]["azureFile"]["shareName"] == "mxsn",
        "{pod}"
    );
    kubelet.succeed(&name("worker")).await?;
    kubelet.succeed(&name("scheduler")).await?;
    let job = phase(&bench, "mx-cifar-gpu", "Done", "Succeeded").await?;
    ensure!(pods(&bench, &job).await?.len() == 3);
    // Its server has stayed and ends now.
    kubelet.succeed(&name("server")).await?;
    until("the server to be counted", PATIENCE, || async {
        let status = jobs(&bench).get("mx-cifar-gpu").await?.data["status"].clone();
        let all = status["replicaStatuses"].as_array();
        let succeeded = |one: &Value| one["ReplicasStates"] == json!({"Succeeded": 1});
        let done = all.is_some_and(|all| all.len() == 3 && all.iter().all(succeeded));
        Ok(if done && status["phase"] == "Done" {
            Seen::Done(())
        } else {
            Seen::NotYet(status.to_string())
        })
    })
    .await
}

// contract: 12.21, 12.22
// promise: P32
#[tokio::test]
async fn the_next_operator_carries_on_and_a_manifest_is_applied_again_as_it_is() -> Result<()> {
    let (bench, plane, operator) = world("older-next").await?;
    let kubelet = ScriptedKubelet::run_all(bench.client.clone(), &bench.namespace);
    let manifest = sample()?;
    apply(&bench, &manifest).await?;
    let before = phase(&bench, "mx-test-dist", "Running", "Running").await?;
    let pods_before = pods(&bench, &before).await?;
    ensure!(pods_before.len() == 3, "{pods_before:?}");
    operator.kill()?;
    let operator = serve(plane, &bench)?;
    operator.says("caches are complete").await?;
    // Without an id, and without the defaults in its entries.
    let mut again: DynamicObject = serde_json::from_value(manifest)?;
    // As `kubectl replace` has it: of whatever version there is.
    again.metadata.resource_version = jobs(&bench).get("mx-test-dist").await?.resource_version();
    jobs(&bench)
        .replace("mx-test-dist", &PostParams::default(), &again)
        .await?;
    let run = before.data["spec"]["RuntimeId"].as_str().context("id")?;
    for role in ["worker", "scheduler"] {
        kubelet
            .succeed(&format!("mx-test-dist-{role}-{run}-0"))
            .await?;
    }
    let job = phase(&bench, "mx-test-dist", "Done", "Succeeded").await?;
    ensure!(pods(&bench, &job).await? == pods_before, "other pods");
    // Never again afterwards.
    ensure!(
        job.data["spec"]["RuntimeId"].is_null(),
        "{}",
        job.data["spec"]
    );
    Ok(())
}

// contract: 12.23
#[tokio::test]
async fn jobs_of_two_groups_have_one_name_and_pods_of_their_own() -> Result<()> {
    let (bench, _, _operator) = world("older-same").await?;
    let kubelet = ScriptedKubelet::run_all(bench.client.clone(), &bench.namespace);
    let mut manifest = sample()?;
    manifest["metadata"]["name"] = json!("digits");
    bench.create(&training("digits", 1, 1)).await?;
    apply(&bench, &manifest).await?;
    bench.phase("digits", "Running").await?;
    let older = phase(&bench, "digits", "Running", "Running").await?;
    bench.pods(6).await?;
    let theirs = pods(&bench, &older).await?;
    ensure!(theirs.len() == 3, "{theirs:?}");
    for pod in ["digits-worker-0", "digits-scheduler-0"] {
        kubelet.succeed(pod).await?;
    }
    bench.phase("digits", "Succeeded").await?;
    ensure!(pods(&bench, &older).await? == theirs);
    bench
        .jobs
        .delete("digits", &DeleteParams::background())
        .await?;
    bench.pods(3).await?;
    let status = jobs(&bench).get("digits").await?.data["status"].clone();
    ensure!(status["phase"] == "Running", "{status}");
    Ok(())
}

// contract: 12.21
#[tokio::test]
async fn a_name_that_somebody_has_stalls_the_job_until_it_is_free() -> Result<()> {
    let (bench, _, _operator) = world("older-taken").await?;
    let _kubelet = ScriptedKubelet::run_all(bench.client.clone(), &bench.namespace);
    let theirs = serde_json::from_value(json!({
        "metadata": {"name": "mx-test-dist-worker-ab12-0"},
        "spec": {"containers": [{"name": "theirs", "image": "example.com/theirs"}]},
    }))?;
    bench.pods.create(&PostParams::default(), &theirs).await?;
    let mut manifest = sample()?;
    manifest["spec"]["RuntimeId"] = json!("ab12");
    apply(&bench, &manifest).await?;
    until("the job to be stalled", PATIENCE, || async {
        let status = jobs(&bench).get("mx-test-dist").await?.data["status"].clone();
        let rest = status["rest"].as_str().unwrap_or_default();
        Ok(if rest.contains("NameTaken") {
            Seen::Done(())
        } else {
            Seen::NotYet(status.to_string())
        })
    })
    .await?;
    bench
        .pods
        .delete(
            "mx-test-dist-worker-ab12-0",
            &DeleteParams::default().grace_period(0),
        )
        .await?;
    until("the worker of the job", PATIENCE, || async {
        let pod = bench.pods.get_opt("mx-test-dist-worker-ab12-0").await?;
        Ok(pod.is_some_and(|pod| !pod.owner_references().is_empty()))
    })
    .await
}

// contract: 12.24
#[tokio::test]
async fn a_definition_that_is_not_there_is_named_with_what_to_do() -> Result<()> {
    // A control plane of its own: one without the older group.
    let (bench, plane) = Bench::own("older-waits").await?;
    let waiting = serve(&plane, &bench)?;
    waiting
        .says("mxjobs.fioravanzo.org is not installed: run `mxjob crds --api fioravanzo.org | kubectl apply")
        .await?;
    // The other group does not wait for it.
    let _kubelet = ScriptedKubelet::run_all(bench.client.clone(), &bench.namespace);
    bench.create(&training("digits", 1, 1)).await?;
    bench.phase("digits", "Running").await?;
    let health = waiting.address("health").await?;
    assert_eq!(http::get(health, "/readyz").await?.0, 200);
    let within = ["--namespace", "nowhere"];
    let bringing = [[BOTH, within].as_flattened(), &["--install-crds"]].concat();
    let bringing = Operator::start_with(&plane, &bringing)?;
    bringing.says("crd=\"mxjobs.fioravanzo.org\"").await?;
    apply(&bench, &sample()?).await?;
    phase(&bench, "mx-test-dist", "Running", "Running").await?;
    Ok(())
}

/// Beside such a definition the event says what to do, and with the right one the job runs.
async fn is_told_and_runs_once_updated(
    prefix: &str,
    reason: &str,
    change: impl FnOnce(&mut Value),
) -> Result<()> {
    // A control plane of its own: nobody else is to have that definition.
    let (bench, plane) = Bench::own(prefix).await?;
    let current = apis::<MxRole>().find(|table| table.crd.group == GROUP);
    let current = schema::crd(current.context("the group")?);
    let mut other = serde_json::to_value(&current)?;
    change(&mut other["spec"]["versions"][0]);
    plane
        .install_crds(&[serde_json::from_value(other)?])
        .await?;
    let operator = serve(&plane, &bench)?;
    let _kubelet = ScriptedKubelet::run_all(bench.client.clone(), &bench.namespace);
    apply(&bench, &sample()?).await?;
    let advice =
        "update the CRD, `mxjob crds --api fioravanzo.org | kubectl apply --server-side -f -`";
    let message = bench.event(reason).await?;
    ensure!(message.contains(advice), "{message}");
    operator.says("not written").await?;
    ensure!(bench.writes(&plane, "create", "pods")? == 0);

    plane.install_crds(&[current]).await?;
    phase(&bench, "mx-test-dist", "Running", "Running").await?;
    Ok(())
}

/// As that of the first operator.
// contract: 12.21
#[tokio::test]
async fn a_definition_without_a_status_of_its_own_is_told_with_what_to_do() -> Result<()> {
    is_told_and_runs_once_updated("older-bare", "FailedUpdateStatus", |version| {
        version["subresources"] = Value::Null;
    })
    .await
}

// contract: 12.22
#[tokio::test]
async fn a_job_whose_defaults_are_not_kept_has_no_pods_until_the_crd_is_updated() -> Result<()> {
    is_told_and_runs_once_updated("older-pruned", "FailedUpdateSpec", |version| {
        let any = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
        version["additionalPrinterColumns"] = json!([]);
        version["schema"]["openAPIV3Schema"] = json!({"type": "object", "properties": {
            "spec": {"type": "object", "properties": {"replicaSpecs": {"type": "array", "items": any}}},
            "status": any,
        }});
    })
    .await
}
