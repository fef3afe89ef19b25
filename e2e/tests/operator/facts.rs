//! What the tests of faults have in common.

use std::collections::BTreeMap;

use anyhow::{Result, ensure};
use e2e::deadline::{Seen, until};
use e2e::{ControlPlane, ScriptedKubelet};
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt as _;
use kube::api::{Api, ListParams, Patch, PatchParams};
use kube::core::{ApiResource, DynamicObject, GroupVersionKind};
use serde_json::{Value, json};

use crate::bench::{Bench, Operator, PATIENCE};

/// The jobs as they are stored, whatever that is.
pub(crate) fn raw(bench: &Bench) -> Api<DynamicObject> {
    let kind = GroupVersionKind::gvk("kubeflow.org", "v1", "MXJob");
    let resource = ApiResource::from_gvk_with_plural(&kind, "mxjobs");
    Api::namespaced_with(bench.client.clone(), &bench.namespace, &resource)
}

/// Replaces the whole status, as `kubectl replace --subresource=status` would.
pub(crate) async fn overwrite_status(bench: &Bench, job: &str, status: Value) -> Result<()> {
    let patch = json!([{"op": "add", "path": "/status", "value": status}]);
    let patch = Patch::Json::<()>(serde_json::from_value(patch)?);
    let jobs = raw(bench);
    let plain = PatchParams::default();
    jobs.patch_status(job, &plain, &patch).await?;
    Ok(())
}

/// How often the operator has made each pod, as the server answered.
pub(crate) fn made(bench: &Bench, plane: &ControlPlane) -> Result<BTreeMap<String, usize>> {
    let mut made = BTreeMap::new();
    for event in plane.audit_log(&bench.namespace)? {
        let object = &event["objectRef"];
        let code = event["responseStatus"]["code"].as_u64();
        if object["namespace"] == *bench.namespace
            && object["resource"] == "pods"
            && object["subresource"].is_null()
            && event["verb"] == "create"
            && event["userAgent"]
                .as_str()
                .is_some_and(|agent| agent.starts_with("mxjob/"))
            && code.is_some_and(|code| code < 300)
        {
            let name = object["name"].as_str().unwrap_or_default();
            *made.entry(name.to_owned()).or_default() += 1;
        }
    }
    Ok(made)
}

/// No pod of the job was made twice.
pub(crate) fn each_pod_once(bench: &Bench, plane: &ControlPlane, job: &str) -> Result<()> {
    let mut made = made(bench, plane)?;
    made.retain(|name, _| name.starts_with(&format!("{job}-")));
    ensure!(
        !made.is_empty() && made.values().all(|times| *times == 1),
        "{made:?}"
    );
    Ok(())
}

/// The lines of the log with that text in them.
pub(crate) fn lines(operator: &Operator, text: &str) -> Result<Vec<String>> {
    let log = operator.log()?;
    let lines = log.lines().filter(|line| line.contains(text));
    Ok(lines.map(str::to_owned).collect())
}

/// The log says so once, and not again.
pub(crate) fn said_once(operator: &Operator, text: &str) -> Result<()> {
    let lines = lines(operator, text)?;
    ensure!(
        lines.len() == 1,
        "{text:?}: {lines:#?}\n{}",
        operator.log()?
    );
    Ok(())
}

/// Waits until all pods of the job run; by name.
pub(crate) async fn all_run(
    bench: &Bench,
    job: &str,
    count: usize,
) -> Result<BTreeMap<String, Pod>> {
    until(
        &format!("{count} pods of {job} to run"),
        PATIENCE,
        || async {
            let pods = bench.pods.list(&ListParams::default()).await?.items;
            let own = pods
                .into_iter()
                .filter(|pod| pod.name_any().starts_with(&format!("{job}-")));
            let pods: BTreeMap<_, _> = own.map(|pod| (pod.name_any(), pod)).collect();
            let runs = |pod: &&Pod| {
                let status = pod.status.as_ref();
                status.and_then(|status| status.phase.as_deref()) == Some("Running")
                    && pod.metadata.deletion_timestamp.is_none()
            };
            Ok(
                if pods.len() == count && pods.values().filter(runs).count() == count {
                    Seen::Done(pods)
                } else {
                    Seen::NotYet(format!("{:?}", pods.keys()))
                },
            )
        },
    )
    .await
}

/// Scheduler and workers end well.
pub(crate) async fn succeed(kubelet: &ScriptedKubelet, job: &str, workers: u32) -> Result<()> {
    for worker in 0..workers {
        kubelet.succeed(&format!("{job}-worker-{worker}")).await?;
    }
    kubelet.succeed(&format!("{job}-scheduler-0")).await
}

/// The field of the stored status.
pub(crate) async fn status_field(bench: &Bench, job: &str, pointer: &str) -> Result<Value> {
    let job = raw(bench).get(job).await?;
    let status = &job.data["status"];
    Ok(status.pointer(pointer).cloned().unwrap_or_default())
}

/// What happened to the job was told once; what happened to pods once in each of its two lives.
pub(crate) async fn told_once(bench: &Bench) -> Result<()> {
    for reason in ["MXJobSucceeded", "MXJobRestarting", "ExitedWithCode"] {
        bench.event(reason).await?;
    }
    for ((reason, note), times) in bench.events().await? {
        let most = if reason.ends_with("Pod") { 2 } else { 1 };
        ensure!(times <= most, "{reason} was said {times} times: {note}");
        ensure!(!reason.starts_with("Failed"), "{reason}: {note}");
    }
    Ok(())
}
