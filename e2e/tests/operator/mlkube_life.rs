//! Jobs of the oldest group in a cluster: each replica is a Job of `batch/v1`.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, ensure};
use e2e::deadline::{Seen, until};
use e2e::{ControlPlane, ScriptedKubelet};
use k8s_openapi::api::batch::v1::Job as BatchJob;
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt as _;
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams};
use kube::core::DynamicObject;
use serde_json::json;

use crate::bench::{Bench, Operator, PATIENCE};
use crate::mlkube::{apply, jobs, sample};

pub(crate) const DIST: &str = "example-dist-job";

/// A namespace with an operator for the group, and a node.
pub(crate) struct Life {
    pub(crate) bench: Bench,
    pub(crate) jobs: Api<DynamicObject>,
    pub(crate) batch: Api<BatchJob>,
    kubelet: ScriptedKubelet,
}

impl Life {
    pub(crate) async fn new(prefix: &str) -> Result<(Self, &'static ControlPlane)> {
        let (bench, jobs) = jobs(prefix).await?;
        let life = Self {
            jobs,
            batch: Api::namespaced(bench.client.clone(), &bench.namespace),
            kubelet: ScriptedKubelet::run_all(bench.client.clone(), &bench.namespace),
            bench,
        };
        Ok((life, ControlPlane::shared().await?))
    }

    pub(crate) fn serve(&self, plane: &ControlPlane) -> Result<Operator> {
        let within = ["--namespace", self.bench.namespace.as_str()];
        let group = ["--api", "mxnet.mlkube.io"];
        Operator::start_with(plane, [group, within].as_flattened())
    }

    /// Waits until the job has that phase and state.
    pub(crate) async fn phase(
        &self,
        name: &str,
        phase: &str,
        state: &str,
    ) -> Result<DynamicObject> {
        until(&format!("{name} to be {phase}"), PATIENCE, || async {
            let job = self.jobs.get(name).await?;
            let status = &job.data["status"];
            let there = status["phase"] == phase && status["state"] == state;
            Ok(if there {
                Seen::Done(job)
            } else {
                Seen::NotYet(job.data["status"].to_string())
            })
        })
        .await
    }

    /// The Jobs, by name, with their uids.
    pub(crate) async fn uids(&self) -> Result<BTreeMap<String, String>> {
        let all = self.batch.list(&ListParams::default()).await?;
        let of = |job: &BatchJob| (job.name_any(), job.uid().unwrap_or_default());
        Ok(all.iter().map(of).collect())
    }

    /// The pod of that Job that has not ended.
    pub(crate) async fn pod(&self, job: &str) -> Result<String> {
        let ours = ListParams::default().labels(&format!("batch.kubernetes.io/job-name={job}"));
        until(&format!("a pod of {job}"), PATIENCE, || async {
            let pods = self.bench.pods.list(&ours).await?;
            let lives = |pod: &&Pod| {
                let phase = pod
                    .status
                    .as_ref()
                    .and_then(|status| status.phase.as_deref());
                !matches!(phase, Some("Succeeded" | "Failed"))
            };
            let found = pods.iter().find(lives).map(Pod::name_any);
            Ok(found.map_or_else(|| Seen::NotYet("none".to_owned()), Seen::Done))
        })
        .await
    }

    /// The pod of that Job ends with that code.
    pub(crate) async fn exit(&self, job: &str, code: i32) -> Result<()> {
        let pod = self.pod(job).await?;
        self.kubelet.fail(&pod, code).await
    }

    /// Waits until there are these Jobs and no others.
    pub(crate) async fn only(&self, names: &[String]) -> Result<()> {
        until(&format!("only {names:?}"), PATIENCE, || async {
            let found: Vec<_> = self.uids().await?.into_keys().collect();
            Ok(if found == names {
                Seen::Done(())
            } else {
                Seen::NotYet(format!("{found:?}"))
            })
        })
        .await
    }
}

/// The types of its conditions.
fn conditions(job: &DynamicObject) -> Vec<&str> {
    let all = job.data["status"]["conditions"].as_array();
    let kinds = all.into_iter().flatten();
    kinds.filter_map(|one| one["type"].as_str()).collect()
}

/// The names of the replicas of that job of the published shape, in order.
fn replicas(job: &DynamicObject) -> Result<Vec<String>> {
    let run = job.data["spec"]["RuntimeId"].as_str().context("an id")?;
    let name = job.name_any();
    let mut names = Vec::new();
    for entry in job.data["spec"]["replicaSpecs"]
        .as_array()
        .context("roles")?
    {
        let role = entry["mxReplicaType"].as_str().context("a role")?;
        for index in 0..entry["replicas"].as_u64().context("a number")? {
            names.push(format!("{name}-{}-{run}-{index}", role.to_lowercase()));
        }
    }
    names.sort();
    Ok(names)
}

// contract: 12.29
// promise: P9, P45, P48, P70, P71
#[tokio::test]
async fn the_published_manifest_runs_in_batch_jobs_under_two_operators_to_its_end() -> Result<()> {
    let (life, plane) = Life::new("mlkube-life").await?;
    let operator = life.serve(plane)?;
    apply(&life.jobs, &sample("mlkube-v1beta1-dist.yaml")?).await?;
    let job = life.phase(DIST, "Running", "Running").await?;
    let names = replicas(&job)?;
    life.only(&names).await?;
    let before = life.uids().await?;
    for one in life.batch.list(&ListParams::default()).await? {
        let owner = one.owner_references().first().context("an owner")?;
        ensure!(Some(&owner.uid) == job.metadata.uid.as_ref(), "{owner:?}");
        ensure!(one.labels().contains_key("mxnet.mlkube.io"));
    }
    // Its pods are the Jobs', and are found by the services' names.
    for service in life.bench.services.list(&ListParams::default()).await? {
        let selector = service.spec.as_ref().and_then(|spec| spec.selector.clone());
        let selector: Vec<_> = selector
            .context("a selector")?
            .iter()
            .map(|(key, value)| format!("{key}={value}"))
            .collect();
        let found = ListParams::default().labels(&selector.join(","));
        let pods = life.bench.pods.list(&found).await?.items;
        ensure!(pods.len() == 1, "{selector:?}: {}", pods.len());
        let owner = pods.first().and_then(|pod| pod.owner_references().first());
        let owner = owner.context("an owner")?;
        ensure!(owner.kind == "Job" && owner.name == service.name_any());
    }
    operator.kill()?;
    let _operator = life.serve(plane)?;
    let deciding: Vec<_> = names
        .iter()
        .filter(|name| !name.contains("-server-"))
        .collect();
    for name in deciding.iter().rev() {
        life.exit(name, 0).await?;
    }
    let job = life.phase(DIST, "Done", "Succeeded").await?;
    ensure!(life.uids().await? == before, "other Jobs");
    ensure!(conditions(&job) == ["Ready"], "{:?}", conditions(&job));
    // Everything stays, and goes with the job.
    life.bench.pods(names.len()).await?;
    let services = life.bench.services.list(&ListParams::default()).await?;
    ensure!(services.items.len() == names.len(), "{services:?}");
    ensure!(job.data["status"]["replicaStatuses"][0]["Mx_replica_type"] == "SCHEDULER");
    life.jobs.delete(DIST, &DeleteParams::default()).await?;
    life.only(&[]).await?;
    life.bench.nothing().await
}

// contract: 12.26, 12.27, 12.29
// promise: P49, P51
#[tokio::test]
async fn a_code_that_is_retried_is_the_batch_jobs_affair_and_another_is_the_end() -> Result<()> {
    let (life, plane) = Life::new("mlkube-codes").await?;
    let _operator = life.serve(plane)?;
    let mut manifest = sample("mlkube-v1beta1-dist.yaml")?;
    for entry in manifest["spec"]["replicaSpecs"]
        .as_array_mut()
        .context("roles")?
    {
        entry["template"]["spec"]["restartPolicy"] = json!("Never");
    }
    apply(&life.jobs, &manifest).await?;
    let job = life.phase(DIST, "Running", "Running").await?;
    let names = replicas(&job)?;
    life.only(&names).await?;
    let before = life.uids().await?;
    let worker = names.last().context("a worker")?;
    let first = life.pod(worker).await?;
    life.kubelet.fail(&first, 137).await?;
    // After ten seconds: so long a Job waits.
    let second = until("another pod", PATIENCE, || async {
        let pod = life.pod(worker).await?;
        Ok(if pod == first {
            Seen::NotYet(pod)
        } else {
            Seen::Done(pod)
        })
    })
    .await?;
    until("it to be told", PATIENCE, || async {
        let job = life.jobs.get(DIST).await?;
        let told = conditions(&job);
        Ok(if told == ["Ready", "Recovering", "Ready"] {
            Seen::Done(())
        } else {
            Seen::NotYet(format!("{told:?}"))
        })
    })
    .await?;
    ensure!(
        life.uids().await? == before,
        "the operator made another Job"
    );
    life.kubelet.fail(&second, 3).await?;
    let job = life.phase(DIST, "Done", "Failed").await?;
    let reason = job.data["status"]["reason"].as_str().unwrap_or_default();
    ensure!(reason.contains("1 Worker replica(s) failed"), "{reason}");
    // No Job is deleted, and of their pods those stay that failed.
    ensure!(life.uids().await? == before, "other Jobs");
    until("the others to be stopped", PATIENCE, || async {
        let pods = life.bench.pods.list(&ListParams::default()).await?;
        let names: Vec<_> = pods.iter().map(Pod::name_any).collect();
        let stopped = names.iter().all(|name| *name == first || *name == second);
        Ok(if stopped && names.contains(&second) {
            Seen::Done(())
        } else {
            Seen::NotYet(format!("{names:?}"))
        })
    })
    .await
}

// contract: 12.29
#[tokio::test]
async fn a_batch_job_that_somebody_deletes_is_made_anew_when_its_pod_is_gone() -> Result<()> {
    let (life, plane) = Life::new("mlkube-gone").await?;
    let _operator = life.serve(plane)?;
    apply(&life.jobs, &sample("mlkube-v1beta1-local.yaml")?).await?;
    let local = "example-local-job";
    let job = life.phase(local, "Running", "Running").await?;
    let names = replicas(&job)?;
    life.only(&names).await?;
    let before = life.uids().await?;
    let name = names.first().context("a replica")?;
    let first = life.pod(name).await?;
    let finalizers = |all: &[&str]| Patch::Merge(json!({"metadata": {"finalizers": all}}));
    let how = PatchParams::default();
    let held = finalizers(&["example.com/held", "batch.kubernetes.io/job-tracking"]);
    life.bench.pods.patch(&first, &how, &held).await?;
    life.batch.delete(name, &DeleteParams::background()).await?;
    // What was before is known by the time that the next job runs.
    let mut other = sample("mlkube-v1beta1-local.yaml")?;
    other["metadata"]["name"] = json!("other");
    apply(&life.jobs, &other).await?;
    let other = life.phase("other", "Running", "Running").await?;
    life.only(&replicas(&other)?).await?;
    life.bench
        .pods
        .patch(&first, &how, &finalizers(&[]))
        .await?;
    until("another Job", PATIENCE, || async {
        let now = life.uids().await?;
        let anew = now.get(name) != before.get(name) && now.contains_key(name);
        Ok(if anew {
            Seen::Done(())
        } else {
            Seen::NotYet(format!("{now:?}"))
        })
    })
    .await?;
    life.exit(name, 0).await?;
    life.phase(local, "Done", "Succeeded").await.map(drop)
}

// contract: 12.26
#[tokio::test]
async fn a_local_job_of_no_worker_runs_one() -> Result<()> {
    let (life, plane) = Life::new("mlkube-none").await?;
    let _operator = life.serve(plane)?;
    let mut none = sample("mlkube-v1beta1-local.yaml")?;
    none["spec"]["replicaSpecs"][0]["replicas"] = json!(0);
    apply(&life.jobs, &none).await?;
    let local = "example-local-job";
    let job = life.phase(local, "Running", "Running").await?;
    let run = job.data["spec"]["RuntimeId"].as_str().context("an id")?;
    let worker = format!("{local}-worker-{run}-0");
    life.only(std::slice::from_ref(&worker)).await?;
    life.exit(&worker, 0).await?;
    life.phase(local, "Done", "Succeeded").await.map(drop)
}

// contract: 12.28
// promise: P47
#[tokio::test]
async fn while_it_is_paused_nothing_is_made() -> Result<()> {
    let (life, plane) = Life::new("mlkube-paused").await?;
    let _operator = life.serve(plane)?;
    let manifest = sample("mlkube-v1beta1-local.yaml")?;
    let local = "example-local-job";
    apply(&life.jobs, &manifest).await?;
    let job = life.phase(local, "Running", "Running").await?;
    let names = replicas(&job)?;
    let pause = |paused: bool| Patch::Merge(json!({"status": {"controlPaused": paused}}));
    let how = PatchParams::default();
    life.jobs.patch_status(local, &how, &pause(true)).await?;
    let name = names.first().context("a replica")?;
    life.batch.delete(name, &DeleteParams::foreground()).await?;
    life.only(&[]).await?;
    // What was before is known by the time that the next job runs.
    let mut other = manifest.clone();
    other["metadata"]["name"] = json!("other");
    apply(&life.jobs, &other).await?;
    let other = life.phase("other", "Running", "Running").await?;
    ensure!(life.uids().await?.into_keys().collect::<Vec<_>>() == replicas(&other)?);
    life.jobs.patch_status(local, &how, &pause(false)).await?;
    let mut both = replicas(&other)?;
    both.extend(names.clone());
    both.sort();
    life.only(&both).await
}

// contract: 12.29
#[tokio::test]
async fn labels_that_somebody_takes_off_a_batch_job_come_back() -> Result<()> {
    let (life, plane) = Life::new("mlkube-labels").await?;
    let _operator = life.serve(plane)?;
    apply(&life.jobs, &sample("mlkube-v1beta1-local.yaml")?).await?;
    let local = "example-local-job";
    let job = life.phase(local, "Running", "Running").await?;
    let name = replicas(&job)?.remove(0);
    let before = life.uids().await?;
    let bare = Patch::Merge(json!({"metadata": {"labels": {"mxnet.mlkube.io": null}}}));
    life.batch
        .patch(&name, &PatchParams::default(), &bare)
        .await?;
    until("the label to be back", PATIENCE, || async {
        let job = life.batch.get(&name).await?;
        Ok(job.labels().contains_key("mxnet.mlkube.io"))
    })
    .await?;
    // And off its pod: the one that the watch goes by, and those that the service goes by.
    let pod = life.pod(&name).await?;
    let all = life.bench.pods.get(&pod).await?.labels().clone();
    // The Job controller's own stay.
    let is_ours =
        |label: &str| !label.contains("batch.") && !label.contains("uid") && label != "job-name";
    let own = all.iter().filter(|(label, _)| is_ours(label));
    let own: BTreeMap<_, _> = own
        .map(|(label, value)| (label.clone(), value.clone()))
        .collect();
    for gone in [
        vec!["mxnet.mlkube.io"],
        own.keys().map(String::as_str).collect(),
    ] {
        let gone: serde_json::Map<_, _> = gone
            .iter()
            .map(|one| ((*one).to_owned(), json!(null)))
            .collect();
        let bare = Patch::Merge(json!({"metadata": {"labels": gone}}));
        let how = PatchParams::default();
        life.bench.pods.patch(&pod, &how, &bare).await?;
        until("the labels of the pod to be back", PATIENCE, || async {
            let now = life.bench.pods.get(&pod).await?;
            let missing = own
                .iter()
                .filter(|(label, value)| now.labels().get(*label) != Some(value));
            let missing: Vec<_> = missing.collect();
            Ok(if missing.is_empty() {
                Seen::Done(())
            } else {
                Seen::NotYet(format!("{missing:?}"))
            })
        })
        .await?;
    }
    life.exit(&name, 0).await?;
    life.phase(local, "Done", "Succeeded").await?;
    ensure!(life.uids().await? == before, "another Job");
    Ok(())
}
