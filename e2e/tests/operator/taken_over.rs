//! Clusters that the first operators leave: their definitions, their jobs as they were stored, and the
//! operator that comes after them.

use std::collections::BTreeMap;
use std::fs;

use anyhow::{Context as _, Result, ensure};
use e2e::deadline::{Seen, until};
use e2e::{ControlPlane, ScriptedKubelet, ports};
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Api, ListParams, Patch, PatchParams, PostParams};
use kube::core::{ApiResource, DynamicObject, GroupVersionKind};
use kube::{Client, ResourceExt as _};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::bench::{Bench, Operator, PATIENCE};

const GROUPS: [&str; 2] = ["kubeflow.org", "fioravanzo.org"];

/// As the first operators' manifests had it: one version, no schema, no status of its own.
pub(crate) fn definition(group: &str) -> Result<CustomResourceDefinition> {
    let anything = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    Ok(serde_json::from_value(json!({
        "metadata": {"name": format!("mxjobs.{group}")},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"kind": "MXJob", "singular": "mxjob", "plural": "mxjobs"},
            "versions": [
                {"name": "v1alpha1", "served": true, "storage": true, "schema": {"openAPIV3Schema": anything}},
            ],
        },
    }))?)
}

/// The jobs of a group at a version.
fn jobs(client: &Client, namespace: &str, group: &str, version: &str) -> Api<DynamicObject> {
    let kind = GroupVersionKind::gvk(group, version, "MXJob");
    let resource = ApiResource::from_gvk_with_plural(&kind, "mxjobs");
    Api::namespaced_with(client.clone(), namespace, &resource)
}

/// What a first operator has stored of a job: its defaults, what it put into the templates, and how far
/// it got.
fn left(group: &str, name: &str, [phase, state]: [&str; 2]) -> Result<DynamicObject> {
    let variable = |name: &str, value: &str| json!({"name": name, "value": value});
    let mount = json!({"name": "nvidia", "mountPath": "/usr/local/nvidia"});
    let volume = json!({"name": "nvidia", "hostPath": {"path": "/usr/local/nvidia"}});
    let entry = |role: &str, replicas: u32| {
        json!({
            "mxReplicaType": role,
            "replicas": replicas,
            "template": {"spec": {
                "restartPolicy": "OnFailure",
                "containers": [{
                    "name": "mxnet",
                    "image": "example.com/mxnet:1",
                    "env": [
                        variable("DMLC_PS_ROOT_PORT", "1"), variable("DMLC_PS_ROOT_URI", "gone"),
                        variable("DMLC_NUM_SERVER", "7"), variable("DMLC_NUM_WORKER", "7"),
                        variable("DMLC_ROLE", "nobody"), variable("OWN", "mine"),
                    ],
                    "resources": {"limits": {"nvidia.com/gpu": "1"}},
                    "volumeMounts": [mount, mount],
                }],
                "volumes": [volume, volume],
            }},
        })
    };
    let unknown = |role: &str, replicas: u32| json!({"mx_replica_type": role, "state": "Unknown", "ReplicasStates": {"Unknown": replicas}});
    // Of this group it stored every field, the mode too that nobody had said.
    let mode = (group == "kubeflow.org").then_some("");
    Ok(serde_json::from_value(json!({
        "apiVersion": format!("{group}/v1alpha1"), "kind": "MXJob", "metadata": {"name": name},
        "spec": {
            "jobMode": mode,
            "RuntimeId": "0a1b",
            "replicaSpecs": [entry("SCHEDULER", 1), entry("SERVER", 1), entry("WORKER", 2)],
            "terminationPolicy": {"chief": {"replicaName": "SCHEDULER", "replicaIndex": 0}},
        },
        "status": {
            "phase": phase, "state": state, "reason": "",
            "replicaStatuses": [unknown("SCHEDULER", 1), unknown("SERVER", 1), unknown("WORKER", 2)],
        },
    }))?)
}

/// How they were left, and how they are shown then.
const ENDED: [(&str, [&str; 2], [&str; 2]); 5] = [
    ("stuck", ["CleanUp", "Succeeded"], ["Done", "Succeeded"]),
    ("stuck-failed", ["CleanUp", "Failed"], ["Done", "Failed"]),
    ("restarted", ["Failed", "Succeeded"], ["Done", "Succeeded"]),
    ("frozen", ["Creating", "Succeeded"], ["Done", "Succeeded"]),
    ("invalid", ["Failed", "Failed"], ["Failed", "Failed"]),
];

/// A cluster in which the first operators worked, and now none does.
struct World {
    bench: Bench,
    plane: ControlPlane,
    folder: TempDir,
}

impl World {
    async fn new(prefix: &str) -> Result<Self> {
        let plane = ControlPlane::start().await?;
        let definitions = GROUPS.map(definition).into_iter();
        let definitions: Vec<_> = definitions.collect::<Result<_>>()?;
        plane.install_crds(&definitions).await?;
        let bench = Bench::new(&plane, prefix).await?;
        let folder = tempfile::tempdir()?;
        let config = "accelerators:\n  nvidia.com/gpu:\n    volumes:\n    \
             - {name: nvidia, hostPath: /usr/local/nvidia, mountPath: /usr/local/nvidia}\n";
        fs::write(folder.path().join("config.yaml"), config)?;
        Ok(Self {
            bench,
            plane,
            folder,
        })
    }

    fn at(&self, group: &str, version: &str) -> Api<DynamicObject> {
        jobs(&self.bench.client, &self.bench.namespace, group, version)
    }

    async fn leave(&self, group: &str, job: &DynamicObject) -> Result<()> {
        let jobs = self.at(group, "v1alpha1");
        jobs.create(&PostParams::default(), job).await?;
        Ok(())
    }

    /// The operator that takes over: with its own definitions, and the file of the first ones.
    fn take_over(&self) -> Result<Operator> {
        let address = format!("127.0.0.1:{}", ports::free()?);
        let url = format!("https://{address}");
        let config = self.folder.path().join("config.yaml");
        let arguments = [
            ["--namespace", &self.bench.namespace],
            ["--api", "kubeflow.org,fioravanzo.org"],
            ["--webhook-bind-address", &address],
            ["--webhook-url", &url],
            ["--controller-config-file", config.to_str().context("path")?],
        ];
        let arguments = [arguments.as_flattened(), &["--install-crds"]].concat();
        Operator::start_with(&self.plane, &arguments)
    }

    /// Waits until the job has that phase and state.
    async fn shows(&self, group: &str, name: &str, wanted: [&str; 2]) -> Result<DynamicObject> {
        let jobs = self.at(group, "v1alpha1");
        let what = format!("{name} of {group} to be {wanted:?}");
        until(&what, PATIENCE, || async {
            let job = match jobs.get(name).await {
                Ok(job) => job,
                // The definition has just changed.
                Err(error) => return Ok(Seen::NotYet(error.to_string())),
            };
            let status = &job.data["status"];
            let found = ["phase", "state"].map(|key| status[key].as_str().unwrap_or_default());
            Ok(if found == wanted {
                Seen::Done(job)
            } else {
                Seen::NotYet(status.to_string())
            })
        })
        .await
    }
}

// contract: 12.33
// defect: D5, D9, D10
#[tokio::test]
async fn jobs_that_had_ended_have_ended_and_are_stored_in_our_words() -> Result<()> {
    let world = World::new("left").await?;
    for group in GROUPS {
        for (name, left, _) in ENDED {
            world.leave(group, &self::left(group, name, left)?).await?;
        }
    }
    let operator = world.take_over()?;
    operator.says("caches are complete").await?;
    let mut specs = BTreeMap::new();
    for group in GROUPS {
        for (name, _, wanted) in ENDED {
            let job = world.shows(group, name, wanted).await?;
            specs.insert((group, name), job.data["spec"].clone());
        }
    }
    let pods = world.bench.pods.list(&ListParams::default()).await?.items;
    ensure!(pods.is_empty(), "{pods:?}");
    let services = world.bench.services.list(&ListParams::default()).await?;
    ensure!(services.items.is_empty(), "{services:?}");
    let log = operator.log()?;
    for (name, ..) in ENDED {
        let said = format!("job={name} phase=");
        let lines = log.lines().filter(|line| line.contains(&said));
        ensure!(
            lines.count() == GROUPS.len(),
            "{name} is written once: {log}"
        );
    }
    for group in GROUPS {
        let made = left(group, "stuck", ["", ""])?.data["spec"].take();
        let kept = &specs[&(group, "stuck")];
        let (made, kept) = (&made["replicaSpecs"], &kept["replicaSpecs"]);
        for at in 0..3 {
            ensure!(
                made[at]["template"] == kept[at]["template"],
                "{group}: {kept}"
            );
        }
    }

    // Nothing is left at the version that it was stored at: nobody converts now.
    operator.kill()?;
    let jobs = world.at("kubeflow.org", "v1");
    let all = jobs.list(&ListParams::default()).await?.items;
    ensure!(all.len() == ENDED.len(), "{all:?}");
    for job in all {
        let spec = &job.data["spec"];
        ensure!(spec["mxReplicaSpecs"]["Worker"].is_object(), "{spec}");
    }
    Ok(())
}

// contract: 12.33, 12.38, 12.42
// defect: D21, D22
#[tokio::test]
async fn one_that_the_rules_would_have_refused_says_why_and_ends() -> Result<()> {
    let world = World::new("wrong").await?;
    let wrong = |group: &str| -> Result<_> {
        let begun = |name| left(group, name, ["Creating", "Running"]);
        let (mut twins, mut headless) = (begun("twins")?, begun("headless")?);
        twins.data["spec"]["replicaSpecs"][0]["replicas"] = json!(2);
        headless.data["spec"]["terminationPolicy"]["chief"]["replicaIndex"] = json!(3);
        // Those of our own group are read at v1.
        let count = match group {
            "kubeflow.org" => "must be 1",
            _ => "The SCHEDULER must have Replicas = 1",
        };
        Ok([
            (twins, "Failed", count),
            (
                headless,
                "Failed",
                "Missing ReplicaSpec for chief: SCHEDULER",
            ),
            // It was right then; names of its pods would have 67 characters.
            (
                begun(&"n".repeat(50))?,
                "Done",
                "has no pod and can get none",
            ),
        ])
    };
    for group in GROUPS {
        for (job, ..) in wrong(group)? {
            world.leave(group, &job).await?;
        }
    }
    let _operator = world.take_over()?;
    for group in GROUPS {
        for (job, phase, why) in wrong(group)? {
            let ended = [phase, "Failed"];
            let job = world.shows(group, &job.name_any(), ended).await?;
            let reason = &job.data["status"]["reason"];
            let said = reason.as_str().unwrap_or_default();
            ensure!(said.contains(why), "{group}: {reason}");
            let jobs = world.at(group, "v1alpha1");
            for change in [
                json!({"labels": {"who": "me"}, "finalizers": ["example.com/held"]}),
                json!({"finalizers": null}),
            ] {
                let change = Patch::Merge(json!({"metadata": change}));
                let how = PatchParams::default();
                jobs.patch(&job.name_any(), &how, &change).await?;
            }
        }
    }
    let pods = world.bench.pods.list(&ListParams::default()).await?.items;
    ensure!(pods.is_empty(), "{pods:?}");
    Ok(())
}

// contract: 12.33, 12.34
// defect: D20
#[tokio::test]
async fn a_job_that_had_not_ended_goes_on_with_each_name_once() -> Result<()> {
    let world = World::new("begun").await?;
    for group in GROUPS {
        let name = group.split('.').next().context("a name")?;
        let job = left(group, name, ["Creating", "Running"])?;
        world.leave(group, &job).await?;
    }
    let kubelet = ScriptedKubelet::run_all(world.bench.client.clone(), &world.bench.namespace);
    let _operator = world.take_over()?;
    for group in GROUPS {
        let name = group.split('.').next().context("a name")?;
        let job = world.shows(group, name, ["Running", "Running"]).await?;
        ensure!(job.data["spec"]["RuntimeId"] == "0a1b", "{}", job.data);
        let of_job = ListParams::default().labels(&format!("mx_job_name={name}"));
        let pods = world.bench.pods.list(&of_job).await?.items;
        ensure!(pods.len() == 4, "{group}: {pods:?}");
        for pod in &pods {
            each_name_once(pod, name)?;
        }
        let pod = |role: &str| format!("{name}-{role}-0a1b-0");
        for role in ["worker", "scheduler"] {
            kubelet.succeed(&pod(role)).await?;
        }
        kubelet.succeed(&format!("{name}-worker-0a1b-1")).await?;
        world.shows(group, name, ["Done", "Succeeded"]).await?;
    }
    Ok(())
}

fn each_name_once(pod: &Pod, job: &str) -> Result<()> {
    let name = pod.name_any();
    let pod = serde_json::to_value(&pod.spec)?;
    let container = &pod["containers"][0];
    let named = |list: &Value, name: &str| -> Vec<Value> {
        let items = list.as_array().into_iter().flatten();
        items.filter(|one| one["name"] == name).cloned().collect()
    };
    let role = name.split('-').nth(1).context("a role")?.to_owned();
    let scheduler = format!("{job}-scheduler-0a1b-0");
    for (variable, value) in [
        ("DMLC_PS_ROOT_URI", scheduler.as_str()),
        ("DMLC_NUM_SERVER", "1"),
        ("DMLC_NUM_WORKER", "2"),
        ("DMLC_ROLE", &role),
        ("OWN", "mine"),
    ] {
        let wanted = [json!({"name": variable, "value": value})];
        let found = named(&container["env"], variable);
        ensure!(found == wanted, "{name}: {found:?}");
    }
    ensure!(
        named(&container["env"], "DMLC_PS_ROOT_PORT").len() == 1,
        "{name}"
    );
    ensure!(
        named(&container["volumeMounts"], "nvidia").len() == 1,
        "{name}"
    );
    ensure!(named(&pod["volumes"], "nvidia").len() == 1, "{name}");
    Ok(())
}
