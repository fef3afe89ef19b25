//! What the conversion of one object costs, with a status and every role of the set:
//! `cargo bench -p mxjob-core --bench conversion`.

use std::hint::black_box;

use mxjob_core::api::Version;
use mxjob_core::conversion::convert;
use mxjob_core::{MxRole, ReplicaRole};
use serde_json::{Map, Value, json};

const WAYS: [(Version, Version); 6] = [
    (Version::V1, Version::V1Beta1),
    (Version::V1, Version::V1Alpha1),
    (Version::V1Beta1, Version::V1),
    (Version::V1Alpha1, Version::V1),
    (Version::V1Beta1, Version::V1Alpha1),
    (Version::V1Alpha1, Version::V1Beta1),
];

/// An object with all roles, at that version.
fn object(version: Version) -> Value {
    let container = json!({
        "name": "mxnet", "image": "some/image", "command": ["python3", "train.py"],
        "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}],
        "resources": {"limits": {"nvidia.com/gpu": 1}},
        "volumeMounts": [{"name": "data", "mountPath": "/data"}],
    });
    let role = json!({
        "replicas": 2, "restartPolicy": "OnFailure",
        "template": {"spec": {
            "containers": [container], "volumes": [{"name": "data", "emptyDir": {}}]}},
    });
    let count = json!({"active": 2, "ready": 2, "restarts": 1, "startedIndexes": "0-1"});
    let of_all = |value: &Value| -> Map<String, Value> {
        let names = MxRole::TABLE.roles.iter().map(|role| role.name.to_owned());
        names.map(|name| (name, value.clone())).collect()
    };
    let time = "2026-01-01T00:00:00Z";
    let condition = |kind: &str| {
        json!({"type": kind, "status": "True", "reason": "r", "message": "m",
            "lastUpdateTime": time, "lastTransitionTime": time})
    };
    let v1 = json!({
        "apiVersion": "kubeflow.org/v1", "kind": "MXJob",
        "metadata": {"name": "bench", "namespace": "lab", "uid": "u"},
        "spec": {
            "mxReplicaSpecs": of_all(&role),
            "runPolicy": {"backoffLimit": 3, "ttlSecondsAfterFinished": 60},
        },
        "status": {
            "conditions": [condition("Created"), condition("Running")],
            "replicaStatuses": of_all(&count), "startTime": time, "phase": "Running",
        },
    });
    convert(MxRole::TABLE, v1, version).unwrap_or_default()
}

#[divan::bench(args = WAYS.map(|(from, to)| format!("{from} to {to}")))]
fn one(bencher: divan::Bencher<'_, '_>, way: &str) {
    let known = WAYS
        .into_iter()
        .find(|(from, to)| format!("{from} to {to}") == way);
    let (from, to) = known.unwrap_or((Version::V1, Version::V1Alpha1));
    let object = object(from);
    bencher
        .with_inputs(|| object.clone())
        .bench_local_values(|object| convert(MxRole::TABLE, black_box(object), to));
}

/// What an API server lists at once, with its JSON; the most of it are 10 MB.
#[divan::bench(args = [25, 250, 2_500], sample_count = 20)]
fn review(bencher: divan::Bencher<'_, '_>, objects: usize) {
    let bytes = serde_json::to_vec(&json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview",
        "request": {
            "uid": "u", "desiredAPIVersion": "kubeflow.org/v1beta1",
            "objects": vec![object(Version::V1); objects],
        },
    }));
    let bytes = bytes.unwrap_or_default();
    bencher
        .counter(divan::counter::BytesCount::new(bytes.len()))
        .bench_local(|| {
            let request: Value = serde_json::from_slice(black_box(&bytes)).unwrap_or_default();
            serde_json::to_vec(&mxjob_core::conversion::review(MxRole::TABLE, &request))
        });
}

fn main() {
    divan::main();
}
