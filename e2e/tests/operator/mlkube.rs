//! The definition of the oldest group, as the API server takes it.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use e2e::deadline::{Seen, until};
use kube::api::{Api, Patch, PatchParams, PostParams};
use kube::core::{ApiResource, DynamicObject, GroupVersionKind};
use mxjob_core::role::apis;
use mxjob_core::{MxRole, schema};
use serde_json::{Value, json};

use crate::bench::{Bench, PATIENCE};

/// Jobs of the group in a namespace of the shared control plane, which knows all groups.
pub(crate) async fn jobs(prefix: &str) -> Result<(Bench, Api<DynamicObject>)> {
    let (bench, plane) = Bench::shared(prefix).await?;
    let definitions: Vec<_> = apis::<MxRole>().map(schema::crd).collect();
    plane.install_crds(&definitions).await?;
    let kind = GroupVersionKind::gvk("mxnet.mlkube.io", "v1beta1", "MxJob");
    let resource = ApiResource::from_gvk_with_plural(&kind, "mxjobs");
    let jobs = Api::namespaced_with(bench.client.clone(), &bench.namespace, &resource);
    Ok((bench, jobs))
}

/// A published manifest, as it is.
pub(crate) fn sample(name: &str) -> Result<Value> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../mxjob-core/tests/data");
    let text = fs::read_to_string(folder.join(name))?;
    Ok(serde_saphyr::from_str(&text)?)
}

pub(crate) async fn apply(jobs: &Api<DynamicObject>, manifest: &Value) -> Result<DynamicObject> {
    let name = manifest["metadata"]["name"].as_str().context("a name")?;
    let how = PatchParams::apply("e2e");
    Ok(jobs.patch(name, &how, &Patch::Apply(manifest)).await?)
}

// contract: 12.25, 12.27
// promise: P9
#[tokio::test]
async fn published_manifests_are_stored_as_they_are_with_the_status_that_is_written() -> Result<()>
{
    let (_bench, jobs) = jobs("mlkube-stored").await?;
    for file in ["mlkube-v1beta1-dist.yaml", "mlkube-v1beta1-local.yaml"] {
        let manifest = sample(file)?;
        let stored = apply(&jobs, &manifest).await?;
        ensure!(
            stored.data["spec"] == manifest["spec"],
            "{}",
            stored.data["spec"]
        );
        let status = json!({
            "phase": "Running", "state": "Running", "reason": "", "controlPaused": true,
            "replicaStatuses": [
                {"Mx_replica_type": "WORKER", "state": "Running", "ReplicasStates": {"Running": 1}},
            ],
            "conditions": [
                {"type": "Ready", "transitionTime": "2026-01-31T12:00:00Z"},
                {"type": "RemovingDeadMember", "reason": "why", "transitionTime": "2026-01-31T12:00:00Z"},
            ],
        });
        let name = stored.metadata.name.as_deref().context("a name")?;
        let patch = Patch::Merge(json!({ "status": status }));
        let written = jobs
            .patch_status(name, &PatchParams::default(), &patch)
            .await?;
        ensure!(
            written.data["status"] == status,
            "{}",
            written.data["status"]
        );
    }
    Ok(())
}

// contract: 12.25, 12.26
// promise: P23
#[tokio::test]
async fn the_api_server_refuses_in_the_words_of_the_first_operator() -> Result<()> {
    let (_bench, jobs) = jobs("mlkube-rules").await?;
    // A definition that has just been updated is not in force at once.
    until("the rules to be in force", PATIENCE, || async {
        let mut job = sample("mlkube-v1beta1-local.yaml")?;
        job["spec"]["jobMode"] = json!("both");
        let job = serde_json::from_value(job)?;
        let how = PostParams {
            dry_run: true,
            ..PostParams::default()
        };
        let answer = jobs.create(&how, &job).await;
        Ok(match answer {
            Ok(_) => Seen::NotYet("accepted".to_owned()),
            Err(error) => Seen::Done(error),
        })
    })
    .await?;
    let mut worker = sample("mlkube-v1beta1-local.yaml")?["spec"]["replicaSpecs"][0].take();
    worker["replicas"] = json!(2);
    for (path, value, wanted) in [
        (
            "/spec/jobMode",
            json!("both"),
            "unkonw job mode both: must be dist or local",
        ),
        ("/spec/jobMode", Value::Null, "unkonw job mode"),
        (
            "/spec/jobMode",
            json!("local"),
            "job mode is local, but its replicas set have replicas type other than worker",
        ),
        (
            "/spec",
            json!({"jobMode": "local", "replicaSpecs": [worker]}),
            "job mode is local, but it has more than 1 worker",
        ),
        (
            "/spec",
            json!({"jobMode": "local", "replicaSpecs": []}),
            "Missing ReplicaSpec for chief: WORKER",
        ),
        (
            "/spec",
            json!({"jobMode": "dist", "replicaSpecs": [worker]}),
            "dist job mode without replica type SCHEDULER",
        ),
        (
            "/spec/replicaSpecs/1/mxReplicaType",
            json!("BOSS"),
            "MxReplicaSpec.MxReplicaType is BOSS but must be one of [SCHEDULER SERVER WORKER]",
        ),
        (
            "/spec/replicaSpecs/1/template/spec/containers/0/name",
            json!("train"),
            "Replica type SERVER is missing a container for mxnet",
        ),
        (
            "/spec/replicaSpecs/1/template/spec/restartPolicy",
            json!("Always"),
            "restartPolicy must be OnFailure or Never: the replica is a Job of batch/v1, which ends",
        ),
        (
            "/spec/replicaSpecs/0/replicas",
            json!(2),
            "The SCHEDULER must have Replicas = 1",
        ),
        (
            "/spec/replicaSpecs/0",
            Value::Null,
            "must be of type object: \"null\"",
        ),
        (
            "/spec/replicaSpecs/1/template",
            Value::Null,
            "spec.replicaSpecs[1].template",
        ),
        (
            "/spec/replicaSpecs/2/mxReplicaType",
            json!("SERVER"),
            "two entries of one mxReplicaType: keep one",
        ),
        (
            "/spec/replicaSpecs/1/template/spec/containers/0/image",
            Value::Null,
            "image is required: name the image that the container runs",
        ),
    ] {
        let mut job = sample("mlkube-v1beta1-dist.yaml")?;
        *job.pointer_mut(path).context(path)? = value;
        let job = serde_json::from_value(job)?;
        let answer = jobs.create(&PostParams::default(), &job).await;
        let error = answer.err().context(format!("{path}: accepted"))?;
        let text = error.to_string();
        ensure!(text.contains(wanted), "{path}: {text}");
    }
    Ok(())
}

// contract: 12.25
#[tokio::test]
async fn templates_stay_until_the_job_has_ended() -> Result<()> {
    let (_bench, jobs) = jobs("mlkube-edits").await?;
    let mut manifest = sample("mlkube-v1beta1-dist.yaml")?;
    apply(&jobs, &manifest).await?;
    manifest["spec"]["replicaSpecs"][1]["template"]["spec"]["containers"][0]["image"] =
        json!("newer");
    let error = apply(&jobs, &manifest).await.err().context("accepted")?;
    let wanted =
        "the template of a role and its PsRootPort can be edited only when the job has ended";
    ensure!(error.to_string().contains(wanted), "{error}");
    let name = manifest["metadata"]["name"].as_str().context("a name")?;
    let ended = Patch::Merge(json!({"status": {"phase": "Done", "state": "Failed"}}));
    jobs.patch_status(name, &PatchParams::default(), &ended)
        .await?;
    apply(&jobs, &manifest).await?;
    Ok(())
}
