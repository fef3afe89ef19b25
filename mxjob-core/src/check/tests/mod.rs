//! Wrong and odd jobs, and what is said about them.

mod rules;
mod structure;
mod warnings;

use serde_json::{Value, json};

use super::*;
use crate::{MxRole, ReplicaRole};

/// A training job without faults.
fn job() -> Value {
    let role = |replicas: u32| {
        json!({
            "replicas": replicas,
            "template": {"spec": {"containers": [{"name": "mxnet", "image": "mxnet"}]}},
        })
    };
    json!({
        "apiVersion": "kubeflow.org/v1",
        "kind": "MXJob",
        "metadata": {"name": "demo"},
        "spec": {"mxReplicaSpecs": {"Scheduler": role(1), "Server": role(2), "Worker": role(2)}},
    })
}

/// The job with another value at a JSON pointer; its last step may be new.
fn with(pointer: &str, value: Value) -> Value {
    let mut job = job();
    let (above, key) = pointer.rsplit_once('/').unwrap();
    job.pointer_mut(above).unwrap()[key] = value;
    job
}

fn lines(problems: &[Problem]) -> Vec<String> {
    let word = |problem: &Problem| {
        if problem.is_error() {
            "error"
        } else {
            "warning"
        }
    };
    problems
        .iter()
        .map(|problem| format!("{}: {problem}", word(problem)))
        .collect()
}

#[track_caller]
fn assert_structure(pointer: &str, value: Value, wanted: &[&str]) {
    assert_eq!(
        lines(&structure(MxRole::TABLE, &with(pointer, value))),
        wanted
    );
}

fn spec(object: &Value) -> JobSpec {
    serde_json::from_value(object["spec"].clone()).unwrap()
}

#[track_caller]
fn assert_rules(pointer: &str, value: Value, wanted: &[&str]) {
    let object = with(pointer, value);
    let name = object["metadata"]["name"].as_str().unwrap();
    assert_eq!(lines(&rules(MxRole::TABLE, name, &spec(&object))), wanted);
}

#[track_caller]
fn assert_warnings(pointer: &str, value: Value, wanted: &[&str]) {
    assert_eq!(
        lines(&warnings(MxRole::TABLE, &spec(&with(pointer, value)))),
        wanted
    );
}

const WORKER: &str = "/spec/mxReplicaSpecs/Worker";
const CONTAINER: &str = "/spec/mxReplicaSpecs/Worker/template/spec/containers/0";

#[test]
fn a_good_job_has_no_problems() {
    let job = job();
    assert_eq!(structure(MxRole::TABLE, &job), []);
    assert_eq!(rules(MxRole::TABLE, "demo", &spec(&job)), []);
    assert_eq!(warnings(MxRole::TABLE, &spec(&job)), []);
}
