//! Plays scheduler and kubelet for the pods of one namespace: nothing runs, but the API
//! shows pods that do.

mod pod_status;

use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use futures::{StreamExt, pin_mut};
use k8s_openapi::api::core::v1::Pod;
use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams, Preconditions};
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Client, ResourceExt};
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio::time::sleep;

use self::pod_status::Exit;
use crate::deadline::{self, Seen};

/// How long an order waits for its pod to appear and to run.
const PATIENCE: Duration = Duration::from_mins(2);

/// The node that pods are bound to. No `Node` object of the name exists.
pub const NODE: &str = "scripted";

/// What a pod does from its creation on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Behaviour {
    /// It stays unscheduled, as on a full cluster; deleted, it goes at once.
    Pending,
    /// It gets a node and runs until it is told otherwise or deleted.
    Run,
    /// It runs, then its containers exit. Restarted in place, as its restart policy may
    /// demand, it does the same again.
    RunThenExit {
        /// From the start of the containers to their exit.
        after: Duration,
        /// Exit code of every container.
        code: i32,
    },
}

/// What a pod does, told from its name and labels.
type Script = dyn Fn(&str, &BTreeMap<String, String>) -> Behaviour + Send + Sync;

/// A kubelet without containers. It works until it is dropped.
///
/// Deletion is graceful, as on a node: a bound pod with a deletion timestamp is shown as
/// terminated (exit code 143, unless it had ended before) and then removed.
pub struct ScriptedKubelet {
    node: Node,
    task: JoinHandle<()>,
}

impl fmt::Debug for ScriptedKubelet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let url = self.node.pods.resource_url();
        f.debug_tuple("ScriptedKubelet").field(&url).finish()
    }
}

impl Drop for ScriptedKubelet {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl ScriptedKubelet {
    /// Starts one for `namespace`; `script` tells for a pod's name and labels what it does.
    /// `client` needs all rights on pods.
    pub fn spawn(
        client: Client,
        namespace: &str,
        script: impl Fn(&str, &BTreeMap<String, String>) -> Behaviour + Send + Sync + 'static,
    ) -> Self {
        let node = Node {
            pods: Api::namespaced(client, namespace),
        };
        let task = tokio::spawn(node.clone().serve(Arc::new(script)));
        Self { node, task }
    }

    /// Starts one under which every pod runs.
    pub fn run_all(client: Client, namespace: &str) -> Self {
        Self::spawn(client, namespace, |_, _| Behaviour::Run)
    }

    /// Starts one under which every pod stays pending until [`run`](Self::run).
    pub fn run_none(client: Client, namespace: &str) -> Self {
        Self::spawn(client, namespace, |_, _| Behaviour::Pending)
    }

    /// Gives a pending pod a node and makes it run, once the pod exists.
    pub async fn run(&self, pod: &str) -> Result<()> {
        let pod = self.wait_for(pod, "Pending").await?;
        self.node.start(&pod).await
    }

    /// All containers exit with 0, once the pod runs.
    pub async fn succeed(&self, pod: &str) -> Result<()> {
        self.exit(pod, 0).await
    }

    /// All containers exit with `code`, once the pod runs. What follows is its restart
    /// policy's choice: a restart in place, or the end of the pod.
    pub async fn fail(&self, pod: &str, code: i32) -> Result<()> {
        self.exit(pod, code).await
    }

    /// Ends a running pod as a node does that is short of memory: failed, with the reason
    /// `Evicted` and the condition `DisruptionTarget`, whatever its restart policy.
    pub async fn evict(&self, pod: &str) -> Result<()> {
        let pod = self.wait_for(pod, "Running").await?;
        let status = pod_status::evicted(&pod);
        self.node.patch(&pod, status).await.map(drop)
    }

    async fn exit(&self, pod: &str, code: i32) -> Result<()> {
        let pod = self.wait_for(pod, "Running").await?;
        self.node.exit(&pod, code).await.map(drop)
    }

    async fn wait_for(&self, name: &str, phase: &str) -> Result<Pod> {
        let pods = &self.node.pods;
        deadline::until(
            &format!("the pod {name} to be {phase}"),
            PATIENCE,
            || async move {
                Ok(match pods.get_opt(name).await? {
                    Some(pod) if pod_status::phase(&pod) == phase => Seen::Done(pod),
                    Some(pod) => Seen::NotYet(pod_status::phase(&pod).to_owned()),
                    None => Seen::NotYet("no such pod".to_owned()),
                })
            },
        )
        .await
    }
}

/// What a kubelet does to the API.
#[derive(Clone)]
struct Node {
    pods: Api<Pod>,
}

impl Node {
    async fn serve(self, script: Arc<Script>) {
        let events = watcher(self.pods.clone(), watcher::Config::default());
        let events = events.default_backoff().applied_objects();
        pin_mut!(events);
        let (mut begun, mut ended) = (HashSet::new(), HashSet::new());
        while let Some(event) = events.next().await {
            // The watcher tries again by itself: an apiserver's outage is no end.
            let Ok(pod) = event else { continue };
            let Some(uid) = pod.uid() else { continue };
            if pod.metadata.deletion_timestamp.is_some() {
                if ended.insert(uid) {
                    self.clone()
                        .attempt(|node| async move { node.finish(&pod).await });
                }
            } else if !pod_status::is_over(&pod) && begun.insert(uid) {
                let behaviour = script(&pod.name_any(), pod.labels());
                self.clone()
                    .attempt(move |node| async move { node.play(&pod, behaviour).await });
            }
        }
    }

    /// Runs a piece of work beside the others and tells of its failure.
    fn attempt<F>(self, work: impl FnOnce(Self) -> F)
    where
        F: Future<Output = Result<()>> + Send + 'static,
    {
        let work = work(self);
        tokio::spawn(async move {
            match work.await {
                Err(error) if !is_answer(&error) => eprintln!("scripted kubelet: {error:#}"),
                _ => {}
            }
        });
    }

    async fn play(&self, pod: &Pod, behaviour: Behaviour) -> Result<()> {
        if behaviour == Behaviour::Pending {
            return Ok(());
        }
        if pod_status::phase(pod) == "Pending" {
            self.start(pod).await?;
        }
        if let Behaviour::RunThenExit { after, code } = behaviour {
            loop {
                sleep(after).await;
                // The status has changed since, but of the same pod only.
                let now = self.pods.get(&pod.name_any()).await?;
                if now.uid() != pod.uid() || self.exit(&now, code).await? == Exit::Over {
                    break;
                }
            }
        }
        Ok(())
    }

    async fn start(&self, pod: &Pod) -> Result<()> {
        if pod_status::node(pod).is_none() {
            let binding = json!({
                "apiVersion": "v1",
                "kind": "Binding",
                "metadata": {"name": pod.name_any(), "uid": pod.uid()},
                "target": {"kind": "Node", "name": NODE},
            });
            let (name, plain) = (pod.name_any(), PostParams::default());
            let bound = self
                .pods
                .create_subresource("binding", &name, &plain, &binding);
            let _status: Value = bound
                .await
                .with_context(|| format!("cannot bind the pod {name}"))?;
        }
        self.patch(pod, pod_status::running(pod)).await.map(drop)
    }

    async fn exit(&self, pod: &Pod, code: i32) -> Result<Exit> {
        let (exit, status) = pod_status::exited(pod, code);
        self.patch(pod, status).await?;
        Ok(exit)
    }

    async fn finish(&self, pod: &Pod) -> Result<()> {
        if pod_status::node(pod).is_none() {
            return Ok(());
        }
        if !pod_status::is_over(pod) {
            self.patch(pod, pod_status::terminated(pod)).await?;
        }
        let now = DeleteParams {
            preconditions: Some(Preconditions {
                uid: pod.uid(),
                resource_version: None,
            }),
            ..DeleteParams::default().grace_period(0)
        };
        self.pods.delete(&pod.name_any(), &now).await?;
        Ok(())
    }

    /// Writes a status; of this very pod, not of a successor with the same name.
    async fn patch(&self, pod: &Pod, status: Value) -> Result<Pod> {
        let name = pod.name_any();
        let patch = json!({"metadata": {"uid": pod.uid()}, "status": status});
        let patch = Patch::Merge(patch);
        let plain = PatchParams::default();
        let patched = self.pods.patch_status(&name, &plain, &patch);
        patched
            .await
            .with_context(|| format!("cannot write the status of the pod {name}"))
    }
}

/// The pod has gone, or another has its name: answers that a kubelet expects.
fn is_answer(error: &anyhow::Error) -> bool {
    matches!(
        error.downcast_ref::<kube::Error>(),
        Some(kube::Error::Api(status)) if matches!(status.code, 404 | 409)
    )
}
