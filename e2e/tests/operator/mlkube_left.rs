//! Jobs of the oldest group as their first operator left them.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, ensure};
use e2e::deadline::{Seen, until};
use k8s_openapi::api::core::v1::Service;
use kube::ResourceExt as _;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::core::DynamicObject;
use serde_json::{Value, json};

use crate::bench::PATIENCE;
use crate::mlkube::{apply, sample};
use crate::mlkube_life::{DIST, Life};

/// What the first operator left of the published manifest: Jobs and one service, nobody's.
async fn left(life: &Life, manifest: &Value) -> Result<BTreeMap<String, String>> {
    let old = |role: &str, index: u64| {
        json!({
            "mxnet.mlkube.io": "", "job_type": role, "runtime_id": "ab12",
            "task_index": index.to_string(),
        })
    };
    for entry in manifest["spec"]["replicaSpecs"]
        .as_array()
        .context("roles")?
    {
        let role = entry["mxReplicaType"].as_str().context("a role")?;
        for index in 0..entry["replicas"].as_u64().context("a number")? {
            let labels = old(role, index);
            let name = format!("{DIST}-{}-ab12-{index}", role.to_lowercase());
            let job = json!({
                "metadata": {"name": name, "labels": labels},
                "spec": {"completions": 1, "parallelism": 1, "template": {
                    "metadata": {"labels": labels}, "spec": entry["template"]["spec"],
                }},
            });
            let job = serde_json::from_value(job)?;
            life.batch.create(&PostParams::default(), &job).await?;
        }
    }
    let labels = old("SCHEDULER", 0);
    let service = json!({
        "metadata": {"name": format!("{DIST}-scheduler-ab12-0"), "labels": labels},
        "spec": {"selector": labels, "ports": [{"name": "ps-root-port", "port": 9091}]},
    });
    let service: Service = serde_json::from_value(service)?;
    life.bench
        .services
        .create(&PostParams::default(), &service)
        .await?;
    life.uids().await
}

/// Names of the Jobs whose pods the service finds.
async fn found_by(life: &Life, service: &Service) -> Result<Vec<String>> {
    let selector = service.spec.as_ref().and_then(|spec| spec.selector.clone());
    let selector = selector.context("a selector")?;
    let labels = selector.iter().map(|(key, value)| format!("{key}={value}"));
    let labels = labels.collect::<Vec<_>>().join(",");
    let pods = life
        .bench
        .pods
        .list(&ListParams::default().labels(&labels))
        .await?;
    let owners = pods.iter().flat_map(kube::ResourceExt::owner_references);
    Ok(owners.map(|owner| owner.name.clone()).collect())
}

/// One that is paused has its own all the same: they go when it is deleted.
// contract: 12.28, 12.40
#[tokio::test]
async fn what_the_first_operator_left_of_a_paused_job_goes_with_it() -> Result<()> {
    let (life, plane) = Life::new("mlkube-left-paused").await?;
    let mut manifest = sample("mlkube-v1beta1-dist.yaml")?;
    manifest["spec"]["RuntimeId"] = json!("ab12");
    apply(&life.jobs, &manifest).await?;
    let status = json!({"status": {"phase": "Running", "state": "Running", "controlPaused": true}});
    let how = PatchParams::default();
    let status = Patch::Merge(status);
    let job = life.jobs.patch_status(DIST, &how, &status).await?;
    let before = left(&life, &manifest).await?;
    let _operator = life.serve(plane)?;
    until("all of it to be the job's", PATIENCE, || async {
        let batch = life.batch.list(&ListParams::default()).await?;
        let services = life.bench.services.list(&ListParams::default()).await?;
        let all = batch.iter().map(|one| &one.metadata);
        let mut all = all.chain(services.iter().map(|one| &one.metadata));
        Ok(all.all(|meta| {
            let owner = meta.owner_references.iter().flatten().next();
            owner.map(|owner| &owner.uid) == job.metadata.uid.as_ref()
        }))
    })
    .await?;
    ensure!(life.uids().await? == before, "other Jobs");
    let now = life.jobs.get(DIST).await?;
    ensure!(
        now.data["status"] == job.data["status"],
        "{}",
        now.data["status"]
    );
    life.jobs.delete(DIST, &DeleteParams::default()).await?;
    life.only(&[]).await?;
    life.bench.nothing().await
}

// contract: 12.40
// promise: P70
#[tokio::test]
async fn what_the_first_operator_left_goes_on_under_this_one() -> Result<()> {
    let (life, plane) = Life::new("mlkube-left").await?;
    let mut manifest = sample("mlkube-v1beta1-dist.yaml")?;
    manifest["spec"]["RuntimeId"] = json!("ab12");
    apply(&life.jobs, &manifest).await?;
    let status = json!({"status": {"phase": "Running", "state": "Running", "reason": ""}});
    let how = PatchParams::default();
    life.jobs
        .patch_status(DIST, &how, &Patch::Merge(status))
        .await?;
    let before = left(&life, &manifest).await?;
    for name in before.keys() {
        life.pod(name).await?;
    }
    let _operator = life.serve(plane)?;
    let owned = |meta: &kube::core::ObjectMeta, job: &DynamicObject| {
        let owner = meta.owner_references.iter().flatten().next();
        owner.map(|owner| &owner.uid) == job.metadata.uid.as_ref()
    };
    let job = until("all of it to be the job's", PATIENCE, || async {
        let job = life.jobs.get(DIST).await?;
        let batch = life.batch.list(&ListParams::default()).await?;
        let services = life.bench.services.list(&ListParams::default()).await?;
        let all = batch.iter().map(|one| &one.metadata);
        let mut all = all.chain(services.iter().map(|one| &one.metadata));
        let there = services.items.len() == before.len() && all.all(|meta| owned(meta, &job));
        Ok(if there {
            Seen::Done(job)
        } else {
            Seen::NotYet(job.data["status"].to_string())
        })
    })
    .await?;
    ensure!(life.uids().await? == before, "other Jobs");
    // The Jobs give their pods the labels of then; services look for those of now.
    until("each service to find its pod", PATIENCE, || async {
        for service in life.bench.services.list(&ListParams::default()).await? {
            let name = service.name_any();
            let found = found_by(&life, &service).await?;
            if found != [name.clone()] {
                return Ok(Seen::NotYet(format!("{name}: {found:?}")));
            }
        }
        Ok(Seen::Done(()))
    })
    .await?;
    for name in before
        .keys()
        .rev()
        .filter(|name| !name.contains("-server-"))
    {
        life.exit(name, 0).await?;
    }
    life.phase(DIST, "Done", "Succeeded").await?;
    ensure!(life.uids().await? == before, "other Jobs");
    ensure!(job.data["spec"]["RuntimeId"] == "ab12");
    life.jobs.delete(DIST, &DeleteParams::default()).await?;
    life.only(&[]).await
}
