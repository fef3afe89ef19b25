//! An operator as a process, and the jobs that it looks after.

#![allow(dead_code, unused_imports, reason = "each benchmark uses a part of it")]
#![allow(
    clippy::indexing_slicing,
    reason = "of JSON, where a missing key is null"
)]

mod converting;
mod counts;
mod process;

use std::collections::BTreeMap;
use std::ops::Range;
use std::time::Duration;

use anyhow::{Context, Result};
use e2e::deadline::{self, Seen};
use e2e::{ControlPlane, ScriptedKubelet};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Pod, Service};
use k8s_openapi::api::events::v1::Event;
use kube::api::{Api, ListParams, PostParams};
use kube::core::{ApiResource, DynamicObject, GroupVersionKind};
use kube::{Client, ResourceExt};
use mxjob_core::{MXJob, MxRole, ReplicaRole as _};
use serde_json::{Value, json};

pub(crate) use converting::{at, converts};
pub(crate) use counts::count;
pub(crate) use process::{LEASE, Operator};

pub(crate) const PATIENCE: Duration = Duration::from_mins(2);

/// The job that [`Bench::another_life`] makes; its pods' names begin with it.
pub(crate) const SENTINEL: &str = "sentinel";

/// A namespace of the test's own, and ways to look at it.
pub(crate) struct Bench {
    pub(crate) client: Client,
    pub(crate) namespace: String,
    pub(crate) jobs: Api<MXJob<MxRole>>,
    pub(crate) pods: Api<Pod>,
    pub(crate) services: Api<Service>,
}

impl Bench {
    /// In the shared control plane, with the CRD.
    pub(crate) async fn shared(prefix: &str) -> Result<(Self, &'static ControlPlane)> {
        let plane = ControlPlane::shared().await?;
        plane
            .install_crds(&[mxjob_core::schema::crd(MxRole::TABLE)])
            .await?;
        Ok((Self::new(plane, prefix).await?, plane))
    }

    /// In a control plane of its own, for a test that others would notice.
    pub(crate) async fn own(prefix: &str) -> Result<(Self, ControlPlane)> {
        let plane = ControlPlane::start().await?;
        plane
            .install_crds(&[mxjob_core::schema::crd(MxRole::TABLE)])
            .await?;
        Ok((Self::new(&plane, prefix).await?, plane))
    }

    /// In that control plane.
    pub(crate) async fn new(plane: &ControlPlane, prefix: &str) -> Result<Self> {
        let namespace = plane.namespace(prefix).await?;
        let client = plane.client().await?;
        Ok(Self {
            jobs: Api::namespaced(client.clone(), &namespace),
            pods: Api::namespaced(client.clone(), &namespace),
            services: Api::namespaced(client.clone(), &namespace),
            client,
            namespace,
        })
    }

    /// Creates a job, as a user would: as plain JSON.
    pub(crate) async fn create(&self, manifest: &Value) -> Result<MXJob<MxRole>> {
        let kind = GroupVersionKind::gvk("kubeflow.org", "v1", "MXJob");
        let resource = ApiResource::from_gvk_with_plural(&kind, "mxjobs");
        let jobs: Api<DynamicObject> =
            Api::namespaced_with(self.client.clone(), &self.namespace, &resource);
        let job = serde_json::from_value(manifest.clone())?;
        let created = jobs
            .create(&PostParams::default(), &job)
            .await
            .context("the job is refused")?;
        Ok(created.try_parse()?)
    }

    /// Waits until `status.phase` of the job is `phase`.
    pub(crate) async fn phase(&self, job: &str, phase: &str) -> Result<MXJob<MxRole>> {
        let what = format!("the job {job} to be {phase}");
        deadline::until(&what, PATIENCE, || async {
            let found = self.jobs.get(job).await?;
            let status = found.status.clone().unwrap_or_default();
            let there = status.phase.as_deref() == Some(phase);
            Ok(if there {
                Seen::Done(found)
            } else {
                Seen::NotYet(serde_json::to_string(&status)?)
            })
        })
        .await
    }

    /// Waits until the whole job has been restarted that often.
    pub(crate) async fn restarted(&self, job: &str, times: i32) -> Result<()> {
        deadline::until(&format!("{times} restarts of {job}"), PATIENCE, || async {
            let status = self.jobs.get(job).await?.status.unwrap_or_default();
            let there = status.restarts == Some(times);
            Ok(if there {
                Seen::Done(())
            } else {
                Seen::NotYet(serde_json::to_string(&status)?)
            })
        })
        .await
    }

    /// Waits until there are `count` pods.
    pub(crate) async fn pods(&self, count: usize) -> Result<Vec<Pod>> {
        deadline::until(&format!("{count} pods"), PATIENCE, || async {
            let pods = self.pods.list(&ListParams::default()).await?.items;
            let names: Vec<_> = pods.iter().map(ResourceExt::name_any).collect();
            Ok(if pods.len() == count {
                Seen::Done(pods)
            } else {
                Seen::NotYet(format!("{names:?}"))
            })
        })
        .await
    }

    /// Waits until nothing of the job is left.
    pub(crate) async fn nothing(&self) -> Result<()> {
        self.pods(0).await?;
        deadline::until("no services", PATIENCE, || async {
            Ok(self
                .services
                .list(&ListParams::default())
                .await?
                .items
                .is_empty())
        })
        .await
    }

    /// Reason and message of all events about jobs, with how often each was said.
    pub(crate) async fn events(&self) -> Result<BTreeMap<(String, String), i32>> {
        let events: Api<Event> = Api::namespaced(self.client.clone(), &self.namespace);
        let mut said = BTreeMap::new();
        for event in events.list(&ListParams::default()).await? {
            let about = event.regarding.and_then(|object| object.kind);
            if about.as_deref() == Some(MxRole::TABLE.crd.kind) {
                let fact = (
                    event.reason.unwrap_or_default(),
                    event.note.unwrap_or_default(),
                );
                *said.entry(fact).or_default() += event.series.map_or(1, |series| series.count);
            }
        }
        Ok(said)
    }

    /// Waits until an event of that reason is there; its message.
    pub(crate) async fn event(&self, reason: &str) -> Result<String> {
        deadline::until(&format!("an event {reason}"), PATIENCE, || async {
            let events = self.events().await?;
            let found = events
                .keys()
                .find(|(one, _)| one == reason)
                .map(|(_, note)| note.clone());
            Ok(found.map_or_else(|| Seen::NotYet(format!("{events:?}")), Seen::Done))
        })
        .await
    }

    /// Takes a job through its whole life, from its creation until its time to live has passed and
    /// nothing is left of it; `kubelet` has to run its pods. Whatever has happened before is
    /// known to the operator by then and has been looked at: news comes in order, jobs take turns.
    pub(crate) async fn another_life(&self, kubelet: &ScriptedKubelet) -> Result<()> {
        let ttl = json!({"runPolicy": {"ttlSecondsAfterFinished": 1}});
        self.create(&with(training(SENTINEL, 0, 1), ttl)).await?;
        for pod in ["worker-0", "scheduler-0"] {
            kubelet.succeed(&format!("{SENTINEL}-{pod}")).await?;
        }
        deadline::until("the end of the sentinel's life", PATIENCE, || async {
            let job = self.jobs.get_opt(SENTINEL).await?;
            let pods = self.pods.list(&ListParams::default()).await?.items;
            let mut names = pods.iter().map(ResourceExt::name_any);
            Ok(job.is_none() && !names.any(|name| name.starts_with(SENTINEL)))
        })
        .await
    }

    /// How often the operator has written something in this namespace: `resource`, or
    /// `resource/subresource`.
    pub(crate) fn writes(&self, plane: &ControlPlane, verb: &str, resource: &str) -> Result<usize> {
        Ok(self.spans(plane, verb, resource)?.len())
    }

    /// From when to when the server was at each of these writes.
    pub(crate) fn spans(
        &self,
        plane: &ControlPlane,
        verb: &str,
        resource: &str,
    ) -> Result<Vec<Range<Timestamp>>> {
        let matches = |event: &Value| {
            let object = &event["objectRef"];
            let kind = object["resource"].as_str().unwrap_or_default();
            let subresource = object["subresource"].as_str().map(|sub| format!("/{sub}"));
            event["verb"] == verb
                && format!("{kind}{}", subresource.unwrap_or_default()) == resource
                && event["responseStatus"]["code"]
                    .as_u64()
                    .is_some_and(|code| code < 300)
        };
        let requests = self.requests(plane)?;
        let writes = requests.iter().filter(|event| matches(event));
        let time = |event: &Value, key: &str| -> Result<Timestamp> {
            Ok(event[key].as_str().context("no time")?.parse()?)
        };
        writes
            .map(|event| {
                Ok(time(event, "requestReceivedTimestamp")?..time(event, "stageTimestamp")?)
            })
            .collect()
    }

    /// What the operator has asked for that concerns a job: itself, its objects, its events.
    pub(crate) fn requests_about(&self, plane: &ControlPlane, job: &str) -> Result<Vec<Value>> {
        let mut requests = self.requests(plane)?;
        requests.retain(|event| {
            let name = event["objectRef"]["name"].as_str().unwrap_or_default();
            let rest = name.strip_prefix(job);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['-', '.']))
        });
        Ok(requests)
    }

    /// Everything that the operator has asked for in this namespace.
    fn requests(&self, plane: &ControlPlane) -> Result<Vec<Value>> {
        let mut log = plane.audit_log(&self.namespace)?;
        log.retain(|event| {
            let agent = event["userAgent"].as_str().unwrap_or_default();
            agent.starts_with("mxjob/") && event["objectRef"]["namespace"] == *self.namespace
        });
        Ok(log)
    }
}

/// A training job with a scheduler.
pub(crate) fn training(name: &str, servers: u32, workers: u32) -> Value {
    let role = |replicas: u32| {
        json!({
            "replicas": replicas,
            "template": {"spec": {"containers": [{"name": "mxnet", "image": "example.com/mxnet:1"}]}},
        })
    };
    json!({
        "apiVersion": "kubeflow.org/v1",
        "kind": "MXJob",
        "metadata": {"name": name},
        "spec": {
            "jobMode": "MXTrain",
            "mxReplicaSpecs": {"Scheduler": role(1), "Server": role(servers), "Worker": role(workers)},
        },
    })
}

/// `manifest` with the fields of `more` added to its spec.
pub(crate) fn with(mut manifest: Value, more: Value) -> Value {
    if let (Some(spec), Value::Object(more)) = (manifest["spec"].as_object_mut(), more) {
        spec.extend(more);
    }
    manifest
}
