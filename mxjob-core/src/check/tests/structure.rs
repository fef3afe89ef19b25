//! Types, bounds and names of fields.

use serde_json::json;

use super::{CONTAINER, WORKER, assert_structure};

#[test]
fn another_kind_or_version_is_an_error_but_a_list_item_without_is_not() {
    let wrong =
        r#"error: apiVersion: "kubeflow.org/v2" is not supported: must be "kubeflow.org/v1""#;
    assert_structure("/apiVersion", json!("kubeflow.org/v2"), &[wrong]);
    assert_structure(
        "/kind",
        json!("TFJob"),
        &[r#"error: kind: "TFJob" is not supported: must be "MXJob""#],
    );
    assert_structure("/kind", json!(null), &[]);
}

#[test]
fn types_are_checked_and_the_fix_is_named() {
    let replicas = &format!("{WORKER}/replicas");
    let path = "error: spec.mxReplicaSpecs.Worker.replicas:";
    assert_structure(
        replicas,
        json!("2"),
        &[&format!(r#"{path} must be an integer, not the string "2""#)],
    );
    assert_structure(
        replicas,
        json!(1.5),
        &[&format!("{path} must be an integer, not 1.5")],
    );
    assert_structure(
        replicas,
        json!([1]),
        &[&format!("{path} must be an integer, not a list")],
    );
    let image = &format!("{CONTAINER}/image");
    let path = "error: spec.mxReplicaSpecs.Worker.template.spec.containers[0].image:";
    assert_structure(
        image,
        json!(2),
        &[&format!("{path} must be a string, not 2: put it in quotes")],
    );
    assert_structure(
        "/spec",
        json!([]),
        &["error: spec: must be a map, not a list"],
    );
    assert_structure(
        "/spec/mxReplicaSpecs",
        json!(1),
        &["error: spec.mxReplicaSpecs: must be a map, not 1"],
    );
}

// contract: 2.6, 3.9
#[test]
fn bounds_are_checked() {
    let replicas = &format!("{WORKER}/replicas");
    let path = "error: spec.mxReplicaSpecs.Worker.replicas:";
    assert_structure(
        replicas,
        json!(-1),
        &[&format!("{path} must be 0 or more, not -1")],
    );
    let huge = format!("{path} must be at most 2147483647, not 3000000000");
    assert_structure(replicas, json!(3_000_000_000_u32), &[&huge]);
    assert_structure(
        "/spec/mxReplicaSpecs",
        json!({}),
        &["error: spec.mxReplicaSpecs: must not be empty"],
    );
    let containers = vec![json!({"name": "mxnet"}); 65];
    let path = "spec.mxReplicaSpecs.Worker.template.spec.containers";
    let many = format!("error: {path}: must have at most 64 items, not 65");
    assert_structure(
        &format!("{WORKER}/template/spec/containers"),
        json!(containers),
        &[&many],
    );
}

#[test]
fn what_must_be_there_is_asked_for() {
    assert_structure("/spec", json!(null), &["error: spec: is required"]);
    assert_structure(
        "/spec",
        json!({}),
        &["error: spec.mxReplicaSpecs: is required"],
    );
    assert_structure(
        WORKER,
        json!({}),
        &["error: spec.mxReplicaSpecs.Worker.template: is required"],
    );
    let spec = "error: spec.mxReplicaSpecs.Worker.template.spec: is required";
    assert_structure(
        &format!("{WORKER}/template"),
        json!({"metadata": {}}),
        &[spec],
    );
}

#[test]
fn names_are_suggested() {
    let wrong = "error: spec.jobMode: must be one of MXTrain, MXTune, not \"MXTrian\"; did you mean MXTrain?";
    assert_structure("/spec/jobMode", json!("MXTrian"), &[wrong]);
    let unknown =
        "warning: spec.runPolicies: unknown field, it is ignored: did you mean runPolicy?";
    assert_structure("/spec/runPolicies", json!({}), &[unknown]);
    for (field, name) in [
        ("runpolicy", "runPolicy"),
        ("cleanupPodPolicy", "cleanPodPolicy"),
    ] {
        let told = "unknown field, the API server drops it: write";
        let spelled = format!("error: spec.{field}: {told} {name}");
        assert_structure(&format!("/spec/{field}"), json!({}), &[&spelled]);
    }
    let far = "warning: spec.hello: unknown field, it is ignored";
    assert_structure("/spec/hello", json!(1), &[far]);
    let meta = "warning: metadata.lables: unknown field, it is ignored: did you mean labels?";
    assert_structure("/metadata/lables", json!({}), &[meta]);
}

#[test]
fn null_is_absent_as_the_api_server_has_it() {
    assert_structure(&format!("{WORKER}/replicas"), json!(null), &[]);
    assert_structure("/spec/runPolicy", json!(null), &[]);
}

// contract: 12.43
#[test]
fn an_entry_of_a_map_that_is_null_is_told() {
    let told = "null: the API server drops the entry: say what it is, or leave it out";
    let server = format!("error: spec.mxReplicaSpecs.Server: {told}");
    assert_structure("/spec/mxReplicaSpecs/Server", json!(null), &[&server]);
    let resources = "spec.mxReplicaSpecs.Worker.template.spec.containers[0].resources";
    let limit = format!("warning: {resources}.limits.cpu: {told}");
    let limits = json!({"limits": {"cpu": null}, "requests": null});
    assert_structure(&format!("{CONTAINER}/resources"), limits, &[&limit]);
    let label = format!("warning: metadata.labels.team: {told}");
    assert_structure("/metadata/labels", json!({"team": null}), &[&label]);
}

#[test]
fn quantities_are_numbers_or_strings() {
    let limits = &format!("{CONTAINER}/resources");
    assert_structure(
        limits,
        json!({"limits": {"nvidia.com/gpu": 1, "cpu": "500m"}}),
        &[],
    );
    let path = "spec.mxReplicaSpecs.Worker.template.spec.containers[0].resources.limits";
    let float = format!(r#"error: {path}.cpu: must be an integer or a string: write "0.5""#);
    assert_structure(limits, json!({"limits": {"cpu": 0.5}}), &[&float]);
    let list = format!("error: {path}[nvidia.com/gpu]: must be an integer or a string, not a list");
    assert_structure(limits, json!({"limits": {"nvidia.com/gpu": []}}), &[&list]);
}

#[test]
fn the_status_is_nobodys_mistake() {
    assert_structure("/status", json!({"conditions": "x"}), &[]);
}
