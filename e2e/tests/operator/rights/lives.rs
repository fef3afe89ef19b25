//! A job of each API that has everything happen to it for which the operator needs a right.

use std::fmt::Debug;

use anyhow::{Context as _, Result};
use e2e::ScriptedKubelet;
use e2e::deadline::{Seen, until};
use e2e::kubelet::Behaviour;
use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::batch::v1::Job as BatchJob;
use k8s_openapi::api::core::v1::{ConfigMap, Pod, Service};
use k8s_openapi::api::events::v1::Event;
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::core::{ApiResource, DynamicObject, GroupVersionKind};
use kube::{Resource, ResourceExt as _};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::manifest::{RUN, manifest};
use crate::bench::{Bench, PATIENCE};

/// The jobs of the APIs.
pub(super) const NAMES: [&str; 3] = ["digits", "linear", "cifar"];
/// Of a layout that is longer than a variable.
const MANY: u32 = 600;

/// A job in a namespace of its own.
struct Life<'a> {
    bench: &'a Bench,
    api: &'static str,
    name: &'static str,
    jobs: Api<DynamicObject>,
    kubelet: ScriptedKubelet,
}

/// Lives it to its end.
pub(super) async fn live(bench: &Bench, api: &'static str) -> Result<()> {
    let (name, version, kind) = match api {
        "kubeflow.org" => (NAMES[0], "v1", "MXJob"),
        "fioravanzo.org" => (NAMES[1], "v1alpha1", "MXJob"),
        _ => (NAMES[2], "v1beta1", "MxJob"),
    };
    let kind = GroupVersionKind::gvk(api, version, kind);
    let resource = ApiResource::from_gvk_with_plural(&kind, "mxjobs");
    let (client, namespace) = (bench.client.clone(), &bench.namespace);
    let kubelet = ScriptedKubelet::spawn(client.clone(), namespace, |name, _| {
        if name.contains("large") {
            Behaviour::Pending
        } else {
            Behaviour::Run
        }
    });
    let life = Life {
        bench,
        api,
        name,
        jobs: Api::namespaced_with(client, namespace, &resource),
        kubelet,
    };
    life.begin().await?;
    life.change().await?;
    life.end().await?;
    life.is_large().await
}

fn runs(pod: &Pod) -> bool {
    let status = pod.status.as_ref();
    let phase = status.and_then(|status| status.phase.as_deref());
    phase == Some("Running") && pod.metadata.deletion_timestamp.is_none()
}

impl Life<'_> {
    fn is_batch(&self) -> bool {
        self.api == "mxnet.mlkube.io"
    }

    fn is_list(&self) -> bool {
        self.api != "kubeflow.org"
    }

    async fn create(&self, manifest: Value) -> Result<()> {
        let job = serde_json::from_value(manifest)?;
        let created = self.jobs.create(&PostParams::default(), &job).await;
        created.context("a job is refused").map(drop)
    }

    /// Another number of workers.
    async fn scale(&self, name: &str, workers: u32) -> Result<()> {
        let path = if self.is_list() {
            "/spec/replicaSpecs/2/replicas"
        } else {
            "/spec/mxReplicaSpecs/Worker/replicas"
        };
        let steps = json!([{"op": "replace", "path": path, "value": workers}]);
        let steps = Patch::Json::<()>(serde_json::from_value(steps)?);
        self.jobs
            .patch(name, &PatchParams::default(), &steps)
            .await?;
        Ok(())
    }

    /// Name of a replica's object.
    fn replica(&self, role: &str, index: u32) -> String {
        let run = if self.is_list() {
            format!("-{RUN}")
        } else {
            String::new()
        };
        format!("{}-{role}{run}-{index}", self.name)
    }

    fn all<K>(&self) -> Api<K>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>,
    {
        Api::namespaced(self.bench.client.clone(), &self.bench.namespace)
    }

    /// Somebody's object under a name of the job's.
    async fn take<K>(&self, name: &str, object: Value) -> Result<()>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
            + Clone
            + Debug
            + Serialize
            + DeserializeOwned,
    {
        let mut object = object;
        object["metadata"]["name"] = json!(name);
        let object: K = serde_json::from_value(object)?;
        self.all::<K>()
            .create(&PostParams::default(), &object)
            .await?;
        Ok(())
    }

    /// Waits until the job cannot have the name, and gives it free.
    async fn free<K>(&self, name: &str, reason: &str) -> Result<()>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
            + Clone
            + Debug
            + DeserializeOwned,
    {
        let events: Api<Event> = self.all();
        until(&format!("{reason} for {name}"), PATIENCE, || async {
            let all = events.list(&ListParams::default()).await?;
            let is_it = |event: &Event| {
                let note = event.note.as_deref().unwrap_or_default();
                event.reason.as_deref() == Some(reason) && note.contains(name)
            };
            let notes: Vec<_> = all.iter().filter_map(|one| one.note.clone()).collect();
            Ok(if all.iter().any(is_it) {
                Seen::Done(())
            } else {
                Seen::NotYet(format!("{notes:?}"))
            })
        })
        .await?;
        let now = DeleteParams::default().grace_period(0);
        self.all::<K>().delete(name, &now).await?;
        Ok(())
    }

    /// Waits for the pods that run.
    async fn runs(&self, count: usize) -> Result<()> {
        let pods: Api<Pod> = self.all();
        until(
            &format!("{count} pods of {}", self.name),
            PATIENCE,
            || async {
                let all = pods.list(&ListParams::default()).await?;
                let names: Vec<_> = all
                    .iter()
                    .filter(|pod| runs(pod))
                    .map(Pod::name_any)
                    .collect();
                Ok(if names.len() == count {
                    Seen::Done(())
                } else {
                    Seen::NotYet(format!("{names:?}"))
                })
            },
        )
        .await
    }

    /// The job begins, when its names are free.
    async fn begin(&self) -> Result<()> {
        let (server, worker) = (self.replica("server", 0), self.replica("worker", 0));
        self.take::<Service>(&server, json!({"spec": {"ports": [{"port": 1}]}}))
            .await?;
        let spec = json!({"restartPolicy": "Never", "containers": [{"name": "a", "image": "a"}]});
        if self.is_batch() {
            let theirs = json!({"spec": {"suspend": true, "template": {"spec": spec}}});
            self.take::<BatchJob>(&worker, theirs).await?;
        } else {
            // No kubelet touches it.
            let mut theirs = json!({ "spec": spec });
            theirs["spec"]["schedulingGates"] = json!([{"name": "example.com/never"}]);
            self.take::<Pod>(&worker, theirs).await?;
        }
        self.create(manifest(self.api, self.name, 2)).await?;
        self.free::<Service>(&server, "FailedCreateService").await?;
        if self.is_batch() {
            self.free::<BatchJob>(&worker, "FailedCreateJob").await?;
        } else {
            self.free::<Pod>(&worker, "FailedCreatePod").await?;
        }
        self.runs(4).await
    }

    /// Labels go and come back, a replica is made anew, and one of them is no more.
    async fn change(&self) -> Result<()> {
        let worker = self.replica("worker", 1);
        if self.is_batch() {
            self.relabel::<BatchJob>(&worker, "mxnet.mlkube.io").await?;
            let pod = self.pod_of(&worker).await?;
            self.relabel::<Pod>(&pod, "training.kubeflow.org/operator-name")
                .await?;
            self.adopt().await?;
            let (batch, how) = (self.all::<BatchJob>(), DeleteParams::background());
            batch.delete(&worker, &how).await?;
            self.told_twice(&worker).await?;
            self.runs(4).await?;
            let first = batch.get(&self.replica("scheduler", 0)).await?;
            self.scale(self.name, 1).await?;
            // Its members are fixed: all begin anew.
            until("another scheduler", PATIENCE, || async {
                let now = batch.get_opt(&first.name_any()).await?;
                Ok(now.is_some_and(|now| now.uid() != first.uid()))
            })
            .await?;
            return self.runs(3).await;
        }
        self.relabel::<Pod>(&worker, "training.kubeflow.org/operator-name")
            .await?;
        let code = if self.is_list() { 137 } else { 1 };
        self.kubelet.fail(&worker, code).await?;
        self.told_twice(&worker).await?;
        self.runs(4).await
    }

    async fn relabel<K>(&self, name: &str, label: &str) -> Result<()>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
            + Clone
            + Debug
            + DeserializeOwned,
    {
        let (objects, how) = (self.all::<K>(), PatchParams::default());
        let bare = Patch::Merge(json!({"metadata": {"labels": {label: null}}}));
        objects.patch(name, &how, &bare).await?;
        until(&format!("the label of {name}"), PATIENCE, || async {
            Ok(objects.get(name).await?.labels().contains_key(label))
        })
        .await
    }

    /// A service that the first operator made is the job's.
    async fn adopt(&self) -> Result<()> {
        let name = self.replica("worker", 0);
        let (services, how) = (self.all::<Service>(), PatchParams::default());
        let pause = |paused: bool| Patch::Merge(json!({"status": {"controlPaused": paused}}));
        self.jobs
            .patch_status(self.name, &how, &pause(true))
            .await?;
        services.delete(&name, &DeleteParams::default()).await?;
        let labels = json!({
            "mxnet.mlkube.io": "", "job_type": "WORKER", "runtime_id": RUN, "task_index": "0",
        });
        let left = json!({"metadata": {"labels": labels}, "spec": {"ports": [{"port": 9091}]}});
        self.take::<Service>(&name, left).await?;
        self.jobs
            .patch_status(self.name, &how, &pause(false))
            .await?;
        until(&format!("an owner of {name}"), PATIENCE, || async {
            Ok(!services.get(&name).await?.owner_references().is_empty())
        })
        .await
    }

    /// Waits until the same has been told of it twice: as one event.
    async fn told_twice(&self, name: &str) -> Result<()> {
        let events: Api<Event> = self.all();
        until(&format!("a series about {name}"), PATIENCE, || async {
            let all = events.list(&ListParams::default()).await?;
            let about = |event: &&Event| {
                event
                    .note
                    .as_deref()
                    .is_some_and(|note| note.contains(name))
            };
            let told: Vec<_> = all
                .iter()
                .filter(about)
                .map(|one| (&one.note, &one.series))
                .collect();
            Ok(if told.iter().any(|(_, series)| series.is_some()) {
                Seen::Done(())
            } else {
                Seen::NotYet(format!("{told:?}"))
            })
        })
        .await
    }

    /// All end well; what is left goes.
    async fn end(&self) -> Result<()> {
        let workers = if self.is_batch() { 1 } else { 2 };
        let mut names: Vec<_> = (0..workers)
            .map(|index| self.replica("worker", index))
            .collect();
        names.push(self.replica("scheduler", 0));
        for name in names {
            let pod = self.pod_of(&name).await?;
            self.kubelet.succeed(&pod).await?;
        }
        let services: Api<Service> = self.all();
        // Where replicas are Jobs they stay with the job.
        until("the end", PATIENCE, || async {
            let job = self.jobs.get_opt(self.name).await?;
            let state = job.map(|job| job.data["status"]["state"].clone());
            let left = services.list(&ListParams::default()).await?.items;
            Ok(if self.is_batch() {
                state.is_some_and(|state| state == "Succeeded")
            } else {
                left.is_empty()
            })
        })
        .await?;
        if self.is_list() {
            self.jobs
                .delete(self.name, &DeleteParams::default())
                .await?;
        }
        until("the job to go", PATIENCE, || async {
            Ok(self.jobs.get_opt(self.name).await?.is_none())
        })
        .await
    }

    /// The pod of a replica.
    async fn pod_of(&self, name: &str) -> Result<String> {
        if !self.is_batch() {
            return Ok(name.to_owned());
        }
        let of_it = ListParams::default().labels(&format!("batch.kubernetes.io/job-name={name}"));
        let pods = self.all::<Pod>();
        until(&format!("a pod of {name}"), PATIENCE, || async {
            let found = pods.list(&of_it).await?;
            Ok(found.iter().find(|pod| runs(pod)).map(Pod::name_any))
        })
        .await
    }

    /// A job whose layout is in a ConfigMap, when its name is free, for as long as it is large.
    async fn is_large(&self) -> Result<()> {
        let name = format!("{}-of-a-large-number-of-replicas", self.name);
        let map = if self.is_list() {
            format!("{name}-{RUN}-cluster")
        } else {
            format!("{name}-cluster")
        };
        let maps: Api<ConfigMap> = self.all();
        self.take::<ConfigMap>(&map, json!({"data": {"whose": "theirs"}}))
            .await?;
        self.create(manifest(self.api, &name, MANY)).await?;
        self.free::<ConfigMap>(&map, "FailedCreateConfigMap")
            .await?;
        until("the layout", PATIENCE, || async {
            let found = maps.get_opt(&map).await?;
            Ok(found.is_some_and(|map| !map.owner_references().is_empty()))
        })
        .await?;
        self.scale(&name, 1).await?;
        until("the layout to go", PATIENCE, || async {
            Ok(maps.get_opt(&map).await?.is_none())
        })
        .await?;
        self.jobs.delete(&name, &DeleteParams::default()).await?;
        Ok(())
    }
}
