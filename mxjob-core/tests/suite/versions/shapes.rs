//! JSON of any shape.

use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

/// Keys that mean something somewhere, so that random shapes meet the code that reads them.
const KEYS: [&str; 26] = [
    "spec",
    "status",
    "metadata",
    "annotations",
    "mxReplicaSpecs",
    "replicaSpecs",
    "runPolicy",
    "Worker",
    "worker",
    "mxReplicaType",
    "PsRootPort",
    "replicas",
    "template",
    "containers",
    "ports",
    "name",
    "containerPort",
    "cleanPodPolicy",
    "cleanupPodPolicy",
    "conditions",
    "type",
    "replicaStatuses",
    "terminationPolicy",
    "schedulerName",
    "mxImage",
    "jobMode",
];

/// Any value.
pub(crate) fn any_shape() -> BoxedStrategy<Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        select(vec![
            "",
            "mxnet",
            "WORKER",
            "worker",
            "dist",
            "All",
            "mxjob-port",
            "\u{0}"
        ])
        .prop_map(Value::from),
    ];
    let key = select(KEYS.to_vec()).prop_map(str::to_owned);
    leaf.prop_recursive(4, 40, 5, move |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            btree_map(key.clone(), inner, 0..5).prop_map(|fields| json!(fields)),
        ]
    })
    .boxed()
}

/// `good` with some of its values replaced.
pub(crate) fn mangled(good: BoxedStrategy<Value>) -> BoxedStrategy<Value> {
    let edits = vec((any::<prop::sample::Index>(), any_shape()), 1..4);
    (good, edits)
        .prop_map(|(mut object, edits)| {
            for (index, value) in edits {
                let mut paths = Vec::new();
                for section in ["spec", "status"] {
                    collect(&object[section], format!("/{section}"), &mut paths);
                }
                let path = index.get(&paths);
                if let Some(place) = object.pointer_mut(path) {
                    *place = value;
                }
            }
            object
        })
        .boxed()
}

fn collect(value: &Value, path: String, paths: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                collect(value, format!("{path}/{key}"), paths);
            }
        }
        Value::Array(items) => {
            for (at, value) in items.iter().enumerate() {
                collect(value, format!("{path}/{at}"), paths);
            }
        }
        _ => {}
    }
    paths.push(path);
}
