//! The objects of jobs that were made at v1alpha1: names, labels, services and environment of their
//! first operator.

use std::fs;

use crate::lists::{entry, objects};
use mxjob_core::api::Version;
use mxjob_core::conversion::convert;
use mxjob_core::job::Spec;
use mxjob_core::wiring::names;
use mxjob_core::{Job, MxRole, ReplicaRole};
use serde_json::{Value, json};

fn read(manifest: &Value) -> Job {
    let stored = convert(MxRole::TABLE, manifest.clone(), Version::V1).unwrap();
    Job::read(MxRole::TABLE, &stored)
}

fn list(spec: Value) -> Value {
    json!({
        "apiVersion": "kubeflow.org/v1alpha1", "kind": "MXJob",
        "metadata": {"name": "example", "namespace": "lab", "uid": "u-1"}, "spec": spec,
    })
}

/// The published manifest of the first operator, as the API server stores it.
fn published() -> Job {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/data/kubeflow-v1alpha1-dist.yaml"
    );
    let text = fs::read_to_string(path).unwrap();
    let mut manifest: Value = serde_saphyr::from_str(&text).unwrap();
    manifest["metadata"] = json!({"name": "example", "namespace": "lab", "uid": "u-1"});
    read(&manifest)
}

// contract: 12.14, 12.15
// promise: P10, P12, P19, P72, P73, P75
#[test]
fn objects_of_the_published_manifest() {
    let (pods, services) = objects(&published());
    insta::assert_yaml_snapshot!("pods_dist", pods);
    insta::assert_yaml_snapshot!("services_dist", services);
}

// contract: 12.15
// defect: D6
#[test]
fn objects_of_a_local_job() {
    let mut worker = entry("WORKER", 1);
    worker["template"]["metadata"] = json!({
        "labels": {"app": "digits", "team": "a"}, "annotations": {"note": "kept"},
    });
    worker["template"]["spec"]["restartPolicy"] = json!("OnFailure");
    let manifest = list(json!({"jobMode": "local", "RuntimeId": "ab12", "replicaSpecs": [worker]}));
    let (pods, services) = objects(&read(&manifest));
    insta::assert_yaml_snapshot!("pods_local", pods);
    insta::assert_yaml_snapshot!("services_local", services);
    let text = json!(pods).to_string();
    assert!(!text.contains("DMLC_"), "{text}");
}

// contract: 12.14
// defect: D15
#[test]
fn a_name_stands_for_a_replica_of_that_run_alone() {
    let job = published();
    let spec: &Spec = job.spec.as_ref().unwrap();
    for replica in spec.replicas() {
        let name = names::replica(&job, replica);
        assert!(name.contains("-e9c9-"), "{name}");
        assert_eq!(names::parse(&job, &name), Some(replica));
    }
    for other in [
        "example-worker-0",
        "example-worker-ab12-0",
        "example-worker-e9c9-00",
        "example-worker-e9c9-x-0",
        "example-e9c9-worker-0",
        "example-Worker-e9c9-0",
    ] {
        assert_eq!(names::parse(&job, other), None, "{other}");
    }
    let newer = Job::read(MxRole::TABLE, &json!({"metadata": {"name": "example"}}));
    assert_eq!(names::parse(&newer, "example-worker-e9c9-0"), None);
}

/// What is wrong with the job.
fn problems(manifest: &Value) -> String {
    let problems = read(manifest).spec.unwrap_err();
    let lines: Vec<_> = problems.iter().map(ToString::to_string).collect();
    lines.join("\n")
}

// contract: 12.14
#[test]
fn a_runtime_id_that_was_stored_before_there_was_a_rule_is_kept_where_it_can_stand_in_names() {
    let with = |id: Value| list(json!({"RuntimeId": id, "replicaSpecs": [entry("WORKER", 1)]}));
    let run = |id: &str| read(&with(json!(id))).meta.run;
    assert_eq!(run("0abc").as_deref(), Some("0abc"));
    assert_eq!(run("longer1").as_deref(), Some("longer1"));
    assert_eq!(run("").as_deref(), Some("e9c9"));
    for (id, told) in [
        (json!("Ab12"), "\"Ab12\""),
        (json!("a_b2"), "\"a_b2\""),
        (json!(7), "7"),
    ] {
        let wanted = format!(
            "spec.RuntimeId: {told} cannot stand in names: it must be lower-case letters and digits"
        );
        assert_eq!(problems(&with(id)), wanted);
    }
}

// defect: D2
#[test]
fn a_name_that_the_runtime_id_makes_too_long_is_refused() {
    // Worker pods of such a name fit without the id.
    let mut manifest = list(json!({"RuntimeId": "ab12", "replicaSpecs": [entry("WORKER", 11)]}));
    manifest["metadata"]["name"] = json!("n".repeat(48));
    assert!(read(&manifest).spec.is_ok());
    let long = "n".repeat(49);
    manifest["metadata"]["name"] = json!(long);
    let wanted = format!(
        "metadata.name: the name of the last pod of Worker, {long}-worker-ab12-10, is longer than 63 \
         characters: shorten metadata.name"
    );
    assert_eq!(problems(&manifest), wanted);
}

#[test]
fn what_cannot_be_a_label_is_left_out() {
    let mut job = published();
    job.meta.name = "n".repeat(64);
    let (pods, services) = objects(&job);
    for object in pods.iter().chain(&services) {
        let labels = &object["metadata"]["labels"];
        assert_eq!(labels["mx_job_name"], Value::Null, "{object}");
        assert_eq!(labels["runtime_id"], "e9c9", "{object}");
    }
}

// contract: 12.8
// promise: P15
#[test]
fn a_mistake_is_told_where_it_stands_in_the_list() {
    let mut entries = [entry("WORKER", 2), entry("SCHEDULER", 1)];
    let side = json!({"name": "side", "image": "i", "ports": [{"containerPort": 9091}]});
    let containers = &mut entries[0]["template"]["spec"]["containers"];
    containers.as_array_mut().unwrap().push(side);
    let wanted = "spec.replicaSpecs[0].template.spec.containers[1].ports[0]: port 9091/TCP is also a port of \
                  container mxnet: containers of a pod share its ports";
    assert_eq!(problems(&list(json!({"replicaSpecs": entries}))), wanted);
}

// contract: 12.16
// defect: D22
#[test]
fn a_chief_that_is_not_there_is_refused() {
    let with = |policy: Value| {
        let entries = [
            entry("SCHEDULER", 1),
            entry("SERVER", 1),
            entry("WORKER", 2),
        ];
        list(json!({"terminationPolicy": policy, "replicaSpecs": entries}))
    };
    let chief = |name: &str, index: i32| {
        with(json!({"chief": {"replicaName": name, "replicaIndex": index}}))
    };
    let index_of = |manifest: &Value| {
        let spec = read(manifest).spec.unwrap();
        let chiefs = spec
            .chiefs()
            .map(|one| (MxRole::TABLE.role(one.role).name, one.index));
        chiefs.collect::<Vec<_>>()
    };
    assert_eq!(index_of(&chief("WORKER", 1)), [("Worker", 1)]);
    assert_eq!(index_of(&with(Value::Null)), [("Scheduler", 0)]);
    let of = |index: i32| {
        format!("WORKER: replicaIndex is not below its replicas: {index} of 2, counted from 0")
    };
    for (name, index, why) in [
        ("WORKER", 2, of(2)),
        ("WORKER", -1, of(-1)),
        ("TUNER", 0, "TUNER".to_owned()),
        ("BOSS", 0, "BOSS".to_owned()),
    ] {
        let wanted = format!("spec.terminationPolicy.chief: Missing ReplicaSpec for chief: {why}");
        assert_eq!(problems(&chief(name, index)), wanted, "{name} {index}");
    }
    let nobody = "spec.terminationPolicy: invalid termination policy: it names no chief";
    assert_eq!(problems(&with(json!({}))), nobody);
}
