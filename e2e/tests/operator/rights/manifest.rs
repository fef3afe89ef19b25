//! The jobs that live.

use serde_json::{Value, json};

use crate::bench::{training, with};

/// The run of a job whose names have one.
pub(super) const RUN: &str = "ab12";

/// A job of a scheduler, a server and these workers.
pub(super) fn manifest(api: &str, name: &str, workers: u32) -> Value {
    if api == "kubeflow.org" {
        let more = json!({
            "failurePolicy": {"maxRestarts": 3}, "runPolicy": {"ttlSecondsAfterFinished": 1},
        });
        return with(training(name, 1, workers), more);
    }
    let entry = |role: &str, replicas: u32| {
        json!({
            "mxReplicaType": role, "replicas": replicas,
            "template": {"spec": {
                "restartPolicy": "Never",
                "containers": [{"name": "mxnet", "image": "example.com/mxnet:1"}],
            }},
        })
    };
    let entries = [
        entry("SCHEDULER", 1),
        entry("SERVER", 1),
        entry("WORKER", workers),
    ];
    let mut manifest = json!({
        "apiVersion": format!("{api}/v1alpha1"), "kind": "MXJob",
        "metadata": {"name": name},
        "spec": {"RuntimeId": RUN, "replicaSpecs": entries},
    });
    if api == "mxnet.mlkube.io" {
        manifest["apiVersion"] = json!("mxnet.mlkube.io/v1beta1");
        manifest["kind"] = json!("MxJob");
        manifest["spec"]["jobMode"] = json!("dist");
    }
    manifest
}
