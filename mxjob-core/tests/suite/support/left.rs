//! What the older operators left of a job: pods with a random end to their names, services, and no
//! label of this one.

use k8s_openapi::api::core::v1::{Pod, Service};
use mxjob_core::Job;
use mxjob_core::job::Replica;
use serde_json::{Value, json};

/// The most that they left of a job's name.
const CUT: usize = 40;

/// Name of what they made for a replica; a pod's has a random end.
pub(crate) fn name(job: &Job, replica: Replica) -> String {
    let name = &job.meta.name;
    let cut = name.get(..CUT).unwrap_or(name);
    let role = job.table.role(replica.role).name.to_lowercase();
    let run = job.meta.run.as_deref().unwrap_or_default();
    format!("{cut}-{role}-{run}-{}", replica.index)
}

fn metadata(job: &Job, replica: Replica, name: String) -> Value {
    let crd = &job.table.crd;
    let role = job.table.role(replica.role).name.to_uppercase();
    json!({
        "name": name,
        "namespace": job.meta.namespace,
        "labels": {
            crd.group: "", "job_type": role, "runtime_id": job.meta.run,
            "mx_job_name": job.meta.name, "task_index": replica.index.to_string(),
        },
        "ownerReferences": [{
            "apiVersion": format!("{}/v1alpha1", crd.group), "kind": crd.kind,
            "name": job.meta.name, "uid": job.meta.uid,
            "controller": true, "blockOwnerDeletion": true,
        }],
    })
}

/// The pod of a replica, with that random end to its name.
pub(crate) fn pod(job: &Job, replica: Replica, random: &str) -> Pod {
    let root = format!("{}-scheduler-ab12-0", job.meta.name);
    let name = format!("{}-{random}", name(job, replica));
    let pod = json!({
        "metadata": metadata(job, replica, name),
        "spec": {"restartPolicy": "Never", "containers": [{
            "name": "mxnet", "image": "some/image",
            "env": [{"name": "DMLC_PS_ROOT_URI", "value": root}],
        }]},
    });
    serde_json::from_value(pod).unwrap()
}

/// The service of a replica.
pub(crate) fn service(job: &Job, replica: Replica) -> Service {
    let metadata = metadata(job, replica, name(job, replica));
    let service = json!({
        "spec": {"selector": metadata["labels"], "ports": [{"name": "mx-port", "port": 9000}]},
        "metadata": metadata,
    });
    serde_json::from_value(service).unwrap()
}
