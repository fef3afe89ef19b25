//! Jobs that another operator left running: their pods go on, and none is made beside them.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, ensure};
use e2e::deadline::{Seen, until};
use e2e::{ControlPlane, ScriptedKubelet, ports};
use kube::ResourceExt as _;
use kube::api::{Api, ListParams, Patch, PatchParams, PostParams};
use kube::core::{ApiResource, DynamicObject, GroupVersionKind};
use mxjob_core::wiring::labels;
use serde_json::{Value, json};

use crate::bench::{Bench, Operator, PATIENCE};
use crate::facts::made;
use crate::taken_over::definition;

/// A job that an older operator has, in its own API.
struct Left {
    bench: Bench,
    plane: ControlPlane,
    kubelet: ScriptedKubelet,
    group: &'static str,
    run: &'static str,
    name: String,
    /// The job as it is stored.
    job: DynamicObject,
}

/// As Go writes a template.
fn entry(role: &str, replicas: u32, port: &str) -> Value {
    json!({
        "mxReplicaType": role, "replicas": replicas, port: 9000,
        "template": {
            "metadata": {"creationTimestamp": null},
            "spec": {
                "containers": [{"name": "mxnet", "image": "example.com/mxnet:1", "resources": {}}],
                "restartPolicy": "Never",
            },
        },
    })
}

const REPLICAS: [(&str, u32); 3] = [("SCHEDULER", 1), ("SERVER", 2), ("WORKER", 2)];

impl Left {
    /// What the operator of that group has made of a job of 1, 2 and 2, of which all run.
    async fn by(group: &'static str, run: &'static str, phase: &str, name: &str) -> Result<Self> {
        let plane = ControlPlane::start().await?;
        plane.install_crds(&[definition(group)?]).await?;
        let bench = Bench::new(&plane, "left").await?;
        let state = if phase == "CleanUp" {
            "Succeeded"
        } else {
            "Running"
        };
        let port = if group == "fioravanzo.org" {
            "mxPort"
        } else {
            "PsRootPort"
        };
        let replicas = REPLICAS.map(|(role, count)| entry(role, count, port));
        let statuses = REPLICAS.map(|(role, count)| {
            json!({"mx_replica_type": role, "state": "Unknown", "ReplicasStates": {"Unknown": count}})
        });
        let job = json!({
            "apiVersion": format!("{group}/v1alpha1"), "kind": "MXJob",
            "metadata": {"name": name},
            "spec": {
                "RuntimeId": run,
                "replicaSpecs": replicas,
                "mxImage": "example.com/mxnet:1",
                "terminationPolicy": {"chief": {"replicaName": "SCHEDULER", "replicaIndex": 0}},
            },
            "status": {"phase": phase, "reason": "", "state": state, "replicaStatuses": statuses},
        });
        let jobs = jobs(&bench, group);
        let job = serde_json::from_value(job)?;
        let job = jobs.create(&PostParams::default(), &job).await?;
        let kubelet = ScriptedKubelet::run_all(bench.client.clone(), &bench.namespace);
        let left = Self {
            job,
            bench,
            plane,
            kubelet,
            group,
            run,
            name: name.to_owned(),
        };
        for (role, count) in REPLICAS {
            for index in 0..count {
                left.pod(role, index, "x1y2z").await?;
                if role == "SCHEDULER" || group == "fioravanzo.org" {
                    left.service(role, index).await?;
                }
            }
        }
        Ok(left)
    }

    fn metadata(&self, role: &str, index: u32, end: &str) -> Value {
        let lower = role.to_lowercase();
        json!({
            "name": format!("{}-{lower}-{}-{index}{end}", self.cut(), self.run),
            "labels": {
                self.group: "", "job_type": role, "runtime_id": self.run,
                "mx_job_name": self.name, "task_index": index.to_string(),
            },
            "ownerReferences": [{
                "apiVersion": format!("{}/v1alpha1", self.group), "kind": "MXJob",
                "name": self.name, "uid": self.job.metadata.uid,
                "controller": true, "blockOwnerDeletion": true,
            }],
        })
    }

    /// A pod that runs; its name.
    async fn pod(&self, role: &str, index: u32, random: &str) -> Result<String> {
        let env = json!([
            {"name": "DMLC_ROLE", "value": role.to_lowercase()},
            {"name": "DMLC_PS_ROOT_URI", "value": format!("{}-scheduler-{}-0", self.cut(), self.run)},
        ]);
        let pod = json!({
            "metadata": self.metadata(role, index, &format!("-{random}")),
            "spec": {
                "containers": [{"name": "mxnet", "image": "example.com/mxnet:1", "env": env}],
                "restartPolicy": "Never",
            },
        });
        let pod = serde_json::from_value(pod)?;
        let made = self.bench.pods.create(&PostParams::default(), &pod).await?;
        Ok(made.name_any())
    }

    async fn service(&self, role: &str, index: u32) -> Result<()> {
        let metadata = self.metadata(role, index, "");
        let headless = self.group == "kubeflow.org";
        let service = json!({
            "spec": {
                "clusterIP": if headless { json!("None") } else { Value::Null },
                "selector": metadata["labels"],
                "ports": [{"name": "mx-port", "port": 9000}],
            },
            "metadata": metadata,
        });
        let service = serde_json::from_value(service)?;
        let services = &self.bench.services;
        services.create(&PostParams::default(), &service).await?;
        Ok(())
    }

    /// The operator comes, with its definitions.
    fn take_over(&self) -> Result<Operator> {
        let address = format!("127.0.0.1:{}", ports::free()?);
        let url = format!("https://{address}");
        let arguments = [
            ["--namespace", &self.bench.namespace],
            ["--api", self.group],
            ["--webhook-bind-address", &address],
            ["--webhook-url", &url],
        ];
        let arguments = [arguments.as_flattened(), &["--install-crds"]].concat();
        Operator::start_with(&self.plane, &arguments)
    }

    async fn is(&self, phase: &str, state: &str) -> Result<Value> {
        until(&format!("the job to be {phase}"), PATIENCE, || async {
            // Definitions come, and with them who converts.
            let Ok(job) = jobs(&self.bench, self.group).get(&self.name).await else {
                return Ok(Seen::NotYet("no answer".to_owned()));
            };
            let status = job.data["status"].clone();
            let there = status["phase"] == phase && status["state"] == state;
            Ok(if there {
                Seen::Done(status)
            } else {
                Seen::NotYet(status.to_string())
            })
        })
        .await
    }

    /// Waits until every pod has this operator's label.
    async fn are_labelled(&self) -> Result<()> {
        until("the labels of all pods", PATIENCE, || async {
            let pods = self.bench.pods.list(&ListParams::default()).await?;
            Ok(pods
                .iter()
                .all(|pod| pod.labels().contains_key(labels::OPERATOR)))
        })
        .await
    }

    fn of(&self, role: &str, index: u32) -> String {
        format!("{}-{role}-{}-{index}-x1y2z", self.cut(), self.run)
    }

    /// What the older operators left of its name.
    fn cut(&self) -> &str {
        self.name.get(..40).unwrap_or(&self.name)
    }
}

fn jobs(bench: &Bench, group: &str) -> Api<DynamicObject> {
    let kind = GroupVersionKind::gvk(group, "v1alpha1", "MXJob");
    let resource = ApiResource::from_gvk_with_plural(&kind, "mxjobs");
    Api::namespaced_with(bench.client.clone(), &bench.namespace, &resource)
}

/// Uids of the pods by name.
pub(crate) async fn uids(bench: &Bench) -> Result<BTreeMap<String, Option<String>>> {
    let pods = bench.pods.list(&ListParams::default()).await?;
    let of = |pod: &k8s_openapi::api::core::v1::Pod| (pod.name_any(), pod.uid());
    Ok(pods.iter().map(of).collect())
}

/// What was left running runs to the end of the job, whatever operators come and go.
async fn goes_on(left: Left, stay: usize) -> Result<()> {
    // One that had failed before, as the older operators left them.
    let failed = left.pod("WORKER", 1, "aaaaa").await?;
    left.kubelet.fail(&failed, 1).await?;
    let mut before = uids(&left.bench).await?;
    before.remove(&failed);
    ensure!(before.len() == 5, "{before:?}");
    let operator = left.take_over()?;
    left.are_labelled().await?;
    until("all to be counted", PATIENCE, || async {
        let status = left.is("Running", "Running").await?;
        let counts = status["replicaStatuses"].as_array().context("counts")?;
        let counts = counts.iter().map(|one| one["ReplicasStates"].clone());
        let wanted = [1, 2, 2].map(|count| json!({"Running": count}));
        Ok(if counts.eq(wanted) {
            Seen::Done(())
        } else {
            Seen::NotYet(status.to_string())
        })
    })
    .await?;
    ensure!(uids(&left.bench).await? == before, "other pods");
    operator.kill()?;
    let _operator = left.take_over()?;
    for (role, index) in [("worker", 0), ("worker", 1), ("scheduler", 0)] {
        left.kubelet.succeed(&left.of(role, index)).await?;
    }
    left.is("Done", "Succeeded").await?;
    until("the services to go", PATIENCE, || async {
        let services = left.bench.services.list(&ListParams::default()).await?;
        Ok(services.items.is_empty())
    })
    .await?;
    left.bench.pods(stay).await?;
    let made = made(&left.bench, &left.plane)?;
    ensure!(made.is_empty(), "{made:?}");
    Ok(())
}

// contract: 12.35, 12.36, 12.37
#[tokio::test]
async fn what_the_older_operator_of_kubeflow_left_runs_to_its_end() -> Result<()> {
    let left = Left::by("kubeflow.org", "x7k2", "Running", "digits").await?;
    goes_on(left, 0).await
}

/// Its status never said more than `Creating`, and its ids began with a digit at times.
// contract: 12.35, 12.36, 12.37
#[tokio::test]
async fn what_the_operator_of_fioravanzo_left_runs_to_its_end() -> Result<()> {
    let left = Left::by("fioravanzo.org", "0abc", "Creating", "digits").await?;
    goes_on(left, 5).await
}

// contract: 12.35, 12.37, 12.38
#[tokio::test]
async fn what_was_left_of_a_job_with_a_long_name_runs_to_its_end() -> Result<()> {
    // New pods could have names of 63 characters, and of 67.
    for (group, length, stay) in [
        ("kubeflow.org", 46, 0),
        ("kubeflow.org", 50, 0),
        ("fioravanzo.org", 50, 5),
    ] {
        let name = "n".repeat(length);
        let left = Left::by(group, "x7k2", "Running", &name).await?;
        goes_on(left, stay).await?;
    }
    Ok(())
}

/// Its first operator never came to the end of that.
// contract: 12.37
// defect: D5
#[tokio::test]
async fn what_was_left_in_the_middle_of_its_cleanup_is_cleaned_up() -> Result<()> {
    let left = Left::by("kubeflow.org", "x7k2", "CleanUp", "digits").await?;
    let _operator = left.take_over()?;
    left.bench.nothing().await?;
    left.bench.phase("digits", "Succeeded").await?;
    Ok(())
}

/// Each time the pods go from one watch to another and back.
// contract: 12.41
#[tokio::test]
async fn labels_that_somebody_takes_off_come_back_and_nothing_is_made_beside_what_runs()
-> Result<()> {
    let left = Left::by("kubeflow.org", "x7k2", "Running", "digits").await?;
    let before = uids(&left.bench).await?;
    let _operator = left.take_over()?;
    let (patch, how) = (
        json!({"metadata": {"labels": {labels::OPERATOR: null}}}),
        PatchParams::default(),
    );
    for _ in 0..20 {
        left.are_labelled().await?;
        let patch = Patch::Merge(&patch);
        let names = before.keys();
        let all = names.map(|name| left.bench.pods.patch(name, &how, &patch));
        futures::future::try_join_all(all).await?;
    }
    left.are_labelled().await?;
    ensure!(uids(&left.bench).await? == before, "other pods");
    for (role, index) in [("worker", 0), ("worker", 1), ("scheduler", 0)] {
        left.kubelet.succeed(&left.of(role, index)).await?;
    }
    left.is("Done", "Succeeded").await?;
    let made = made(&left.bench, &left.plane)?;
    ensure!(made.is_empty(), "{made:?}");
    Ok(())
}

// contract: 12.37
#[tokio::test]
async fn one_that_was_left_and_fails_is_replaced() -> Result<()> {
    let left = Left::by("kubeflow.org", "x7k2", "Running", "digits").await?;
    let before = uids(&left.bench).await?;
    let _operator = left.take_over()?;
    left.are_labelled().await?;
    left.kubelet.fail(&left.of("worker", 1), 137).await?;
    left.kubelet.succeed("digits-worker-x7k2-1").await?;
    let mut after = uids(&left.bench).await?;
    ensure!(after.remove("digits-worker-x7k2-1").is_some(), "{after:?}");
    ensure!(
        after
            .iter()
            .all(|(name, uid)| before.get(name) == Some(uid)),
        "{after:?}"
    );
    ensure!(after.len() == 4, "{after:?}");
    for (role, index) in [("worker", 0), ("scheduler", 0)] {
        left.kubelet.succeed(&left.of(role, index)).await?;
    }
    left.is("Done", "Succeeded").await?;
    let made = made(&left.bench, &left.plane)?;
    let wanted = BTreeMap::from([("digits-worker-x7k2-1".to_owned(), 1)]);
    ensure!(made == wanted, "{made:?}");
    Ok(())
}
