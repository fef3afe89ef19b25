//! From a fresh cluster to a trained model: the image, the chart, a job; another version; the end.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use e2e::deadline::{Seen, until};
use e2e::node::{self, RealNode};
use e2e::{ControlPlane, Controllers};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::ResourceExt as _;
use kube::api::{Api, ListParams, Patch, PatchParams, PostParams};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::oneshot::{self, error::TryRecvError};
use tokio::task::JoinHandle;

use crate::bench::{Bench, PATIENCE, at};
use crate::deploy::{How, NAMESPACE, apply, folder, helm_at, kustomize, printed};
use crate::example::Example;

/// While the operators change.
const FEWEST_READS: u32 = 10;

/// Gives the node the program as an image of that name.
fn load(node: &RealNode, place: &Path, name: &str) -> Result<()> {
    let file = place.join("image.tar");
    let made = Command::new(folder("image.sh"))
        .arg(env!("CARGO_BIN_EXE_e2e-mxjob"))
        .args([&file, Path::new(name)])
        .output()?;
    printed(&made)?;
    node.import(&file)
}

/// Names and uids of the job's pods, and how often their containers have begun anew.
async fn pods(bench: &Bench) -> Result<Vec<(String, Option<String>, i32)>> {
    let all = bench.pods.list(&ListParams::default()).await?;
    let restarts = |pod: &Pod| {
        let status = pod.status.as_ref();
        let of_all = status.and_then(|status| status.container_statuses.as_ref());
        of_all
            .into_iter()
            .flatten()
            .map(|one| one.restart_count)
            .sum()
    };
    let facts = all
        .iter()
        .map(|pod| (pod.name_any(), pod.uid(), restarts(pod)));
    Ok(facts.collect())
}

/// What the operators say, for an error.
async fn logs(plane: &ControlPlane, node: &RealNode) -> Result<String> {
    let pods: Api<Pod> = Api::namespaced(plane.client().await?, NAMESPACE);
    let mut text = String::new();
    for pod in pods.list(&ListParams::default()).await? {
        let (name, status) = (pod.name_any(), json!(pod.status));
        let log = node.logs(NAMESPACE, &name).unwrap_or_default();
        // Writing to a text cannot fail.
        let _ = writeln!(text, "{name}: {status}\n{log}");
    }
    Ok(text)
}

/// The chart in a cluster.
struct Release<'a> {
    plane: &'a ControlPlane,
    node: &'a RealNode,
    values: PathBuf,
}

impl<'a> Release<'a> {
    /// With the values for a node that has two images; they are kept in that file.
    fn new(plane: &'a ControlPlane, node: &'a RealNode, values: PathBuf) -> Result<Self> {
        let given = json!({
            "image": {"repository": "localhost/mxjob", "pullPolicy": "Never"},
            "test": {"image": node::IMAGE, "pullPolicy": "Never"},
        });
        fs::write(&values, given.to_string())?;
        Ok(Self {
            plane,
            node,
            values,
        })
    }

    async fn helm(&self, command: &[&str]) -> Result<String> {
        let all = [command, &["--namespace", NAMESPACE]].concat();
        let output = helm_at(Some(&self.plane.kubeconfig()), &all).await?;
        match printed(&output) {
            Ok(text) => Ok(text),
            Err(error) => Err(error.context(logs(self.plane, self.node).await?)),
        }
    }

    /// Installs or upgrades to the image of that tag, and waits until it works.
    async fn call(&self, command: &str, tag: &str) -> Result<String> {
        let chart = folder("helm/mxjob").display().to_string();
        let values = self.values.display().to_string();
        let tag = format!("image.tag={tag}");
        let what = [command, "mxjob", &chart, "--values", &values, "--set", &tag];
        let all = [what.as_slice(), &["--wait", "--timeout", "2m"]].concat();
        self.helm(&all).await
    }

    /// Waits until the operators of every other tag are gone, which helm does not.
    async fn only(&self, tag: &str) -> Result<()> {
        let pods: Api<Pod> = Api::namespaced(self.plane.client().await?, NAMESPACE);
        let wanted = format!("localhost/mxjob:{tag}");
        let operators = ListParams::default().labels("app.kubernetes.io/component=operator");
        until("the older operators to be gone", PATIENCE, || async {
            let all = pods.list(&operators).await?;
            let images = all
                .iter()
                .map(|pod| json!(pod.spec)["containers"][0]["image"].clone());
            Ok(images.into_iter().all(|image| image == *wanted))
        })
        .await
    }
}

/// Somebody who reads the jobs at another version all the time.
struct Reads {
    end: oneshot::Sender<()>,
    reading: JoinHandle<Result<u32>>,
}

impl Reads {
    fn begin(bench: &Bench) -> Self {
        let older = at(&bench.client, &bench.namespace, "v1beta1");
        let (end, mut ended) = oneshot::channel();
        let reading = tokio::spawn(async move {
            let mut ticks = tokio::time::interval(Duration::from_millis(50));
            let mut reads = 0;
            // On a slow machine one alone may take as long as all the rest.
            while reads < FEWEST_READS || ended.try_recv() == Err(TryRecvError::Empty) {
                ticks.tick().await;
                let read = older.get("digits").await;
                read.with_context(|| format!("after {reads} reads"))?;
                reads += 1;
            }
            Ok(reads)
        });
        Self { end, reading }
    }

    /// An error if one of them failed.
    async fn end(self) -> Result<()> {
        let _ = self.end.send(());
        let reads = self.reading.await??;
        println!("{reads} reads");
        Ok(())
    }
}

// promise: P94, P95
// defect: D23
#[tokio::test]
async fn on_a_real_node_helm_installs_upgrades_and_ends_and_a_job_learns_meanwhile() -> Result<()> {
    let digits = Example::new("train", "digits.yaml")?;
    let plane = ControlPlane::start_with(Controllers::All).await?;
    let node = RealNode::start(&plane).await?;
    let scratch = TempDir::new()?;
    load(&node, scratch.path(), "localhost/mxjob:first")?;
    load(&node, scratch.path(), "localhost/mxjob:second")?;
    let client = plane.client().await?;
    for object in kustomize("base").await? {
        // With restricted Pod Security.
        if object["kind"] == "Namespace" {
            apply(&client, &object, How::Keep).await?;
        }
    }
    let values = scratch.path().join("values.json");
    let release = Release::new(&plane, &node, values)?;

    let notes = release.call("install", "first").await?;
    ensure!(
        notes.contains("looks after jobs of kubeflow.org in every namespace"),
        "{notes}"
    );
    let said = release.helm(&["test", "mxjob"]).await;
    let said = said.context("helm test")?;
    ensure!(said.contains("Phase:          Succeeded"), "{said}");

    let bench = Bench::new(&plane, "digits").await?;
    bench.create(&digits.job).await?;
    // Not the job's phase: a short one may have ended before a slow machine's operator has seen it run.
    until("the five pods to run", PATIENCE, || async {
        let all = bench.pods.list(&ListParams::default()).await?.items;
        let phases = all
            .iter()
            .filter_map(|pod| pod.status.as_ref()?.phase.as_deref());
        let begun = phases.filter(|phase| ["Running", "Succeeded"].contains(phase));
        Ok(begun.count() == 5)
    })
    .await?;
    let before = pods(&bench).await?;
    let reads = Reads::begin(&bench);
    release.call("upgrade", "second").await?;
    release.only("second").await?;
    let read = reads.end().await;
    let read = read.context("read at v1beta1 while the operators changed");
    if read.is_err() {
        return read.context(logs(&plane, &node).await?);
    }
    let after = pods(&bench).await?;
    let phase = bench
        .jobs
        .get("digits")
        .await?
        .status
        .and_then(|status| status.phase);
    // At its end, servers go.
    let is_over = phase.as_deref() == Some("Succeeded");
    let same = if is_over {
        after.iter().all(|pod| before.contains(pod))
    } else {
        after == before
    };
    println!("after the upgrade the job is {phase:?}");
    ensure!(same, "the job has noticed: {before:?} {after:?}");
    let deployments: Api<Deployment> = Api::namespaced(client.clone(), NAMESPACE);
    let now = json!(deployments.get("mxjob-operator").await?);
    let image = &now["spec"]["template"]["spec"]["containers"][0]["image"];
    ensure!(*image == "localhost/mxjob:second", "{image}");

    learns(&bench, &node)
        .await
        .context(logs(&plane, &node).await?)?;
    converts(&bench).await.context(logs(&plane, &node).await?)?;
    let lost = loses_the_lease(&bench).await;
    lost.context(logs(&plane, &node).await?)?;

    release.helm(&["uninstall", "mxjob", "--wait"]).await?;
    until("no Deployment", PATIENCE, || async {
        Ok(deployments.get_opt("mxjob-operator").await?.is_none())
    })
    .await?;
    let crds: Api<CustomResourceDefinition> = Api::all(client.clone());
    ensure!(
        crds.get_opt("mxjobs.kubeflow.org").await?.is_some(),
        "the definition is gone"
    );
    let left = bench
        .jobs
        .get("digits")
        .await?
        .status
        .context("no status")?;
    ensure!(left.phase.as_deref() == Some("Succeeded"), "{left:?}");

    // And again, over what was left.
    release.call("install", "first").await?;
    bench.phase("digits", "Succeeded").await?;
    release.helm(&["uninstall", "mxjob"]).await.map(drop)
}

/// The job ends well, and nothing of it was begun twice.
async fn learns(bench: &Bench, node: &RealNode) -> Result<()> {
    let job = bench.phase("digits", "Succeeded").await?;
    let status = job.status.context("no status")?;
    let mut roles = status.replica_statuses.values();
    ensure!(roles.all(|role| role.restarts == 0), "{status:?}");
    let log = node.logs(&bench.namespace, "digits-worker-0")?;
    let mut lines = log.lines();
    let accuracy = lines.find_map(|line| line.strip_prefix("test accuracy "));
    let accuracy: f64 = accuracy.with_context(|| log.clone())?.parse()?;
    ensure!(accuracy >= 0.95, "{log}");
    Ok(())
}

/// The API server comes to the operator by its service.
async fn converts(bench: &Bench) -> Result<()> {
    let older = at(&bench.client, &bench.namespace, "v1beta1");
    let wanted = "the job at v1beta1";
    let job = until(wanted, PATIENCE, || async {
        Ok(match older.get("digits").await {
            Ok(job) => Seen::Done(job),
            Err(error) => Seen::NotYet(error.to_string()),
        })
    })
    .await?;
    ensure!(
        job.data["spec"]["cleanPodPolicy"].is_string(),
        "{:?}",
        job.data
    );
    let template = json!({"spec": {"containers": [{"name": "mxnet", "image": "i"}]}});
    let new: Value = json!({
        "apiVersion": "kubeflow.org/v1beta1", "kind": "MXJob", "metadata": {"name": "older"},
        "spec": {"mxReplicaSpecs": {"Worker": {"replicas": 1, "template": template}}},
    });
    let only_try = PostParams {
        dry_run: true,
        ..PostParams::default()
    };
    older
        .create(&only_try, &serde_json::from_value(new)?)
        .await?;
    Ok(())
}

/// The leader ends by itself, and no conversion with it.
async fn loses_the_lease(bench: &Bench) -> Result<()> {
    let leases: Api<Lease> = Api::namespaced(bench.client.clone(), NAMESPACE);
    let pods: Api<Pod> = Api::namespaced(bench.client.clone(), NAMESPACE);
    let held = leases.get("mxjob-operator").await?.spec;
    let leader = held.and_then(|spec| spec.holder_identity);
    let leader = leader.context("nobody leads")?;
    let (leader, _) = leader.split_once('_').context("no pod's name")?;
    // One connection may always lead to the other operator.
    let reads = [(); 6].map(|()| Reads::begin(bench));
    let changes = json!({"spec": {"holderIdentity": "nobody-we-know"}});
    let how = PatchParams::default();
    leases
        .patch("mxjob-operator", &how, &Patch::Merge(changes))
        .await?;
    let again = until("the leader to be started again", PATIENCE, || async {
        let status = pods.get(leader).await?.status;
        let containers = status.and_then(|status| status.container_statuses);
        let mut containers = containers.into_iter().flatten();
        Ok(containers.any(|one| one.restart_count > 0 && one.ready))
    })
    .await;
    for one in reads {
        let read = one.end().await;
        read.context("read at v1beta1 while the leader ended by itself")?;
    }
    again
}
