//! What is odd about a job that may run.

use serde_json::json;

use super::{CONTAINER, WORKER, assert_warnings, with};

// contract: 5.2.4
#[test]
fn odd_settings_are_warned_about() {
    let role = "warning: spec.mxReplicaSpecs.Worker";
    let container = format!("{role}.template.spec.containers[0]");
    let env = json!([{"name": "DMLC_ROLE", "value": "x"}, {"name": "DMLC_USE_KUBERNETES", "value": "0"}, {"name": "X"}]);
    let overwritten = format!("{container}.env[0]: DMLC_ROLE is overwritten: the operator sets it");
    assert_warnings(&format!("{CONTAINER}/env"), env, &[&overwritten]);
    let policy = format!(
        "{role}.template.spec.restartPolicy: Always is overwritten by restartPolicy of the role: set that instead"
    );
    assert_warnings(
        &format!("{WORKER}/template/spec/restartPolicy"),
        json!("Always"),
        &[&policy],
    );
    let label = format!("{role}.label: has no effect: Worker has no label");
    assert_warnings(&format!("{WORKER}/label"), json!("x"), &[&label]);
    let restart = format!(
        "{role}.restartPolicy: OnFailure: a restarted Worker cannot rejoin a job of mode MXTrain; at v1, spec.failurePolicy \
         restarts the whole job instead"
    );
    assert_warnings(
        &format!("{WORKER}/restartPolicy"),
        json!("OnFailure"),
        &[&restart],
    );
    let other = "warning: spec.runPolicy.managedBy: \"a.b/c\" runs this job: mxjob leaves it alone (its own name is \
                 \"kubeflow.org/mxjob-controller\")";
    assert_warnings("/spec/runPolicy", json!({"managedBy": "a.b/c"}), &[other]);
}

#[test]
fn accelerators_of_roles_without_use_for_them_are_warned_about() {
    let resources = json!({"limits": {"nvidia.com/gpu": 1, "cpu": 1}});
    let path = "warning: spec.mxReplicaSpecs.Server.template.spec.containers[0].resources.limits[nvidia.com/gpu]";
    let idle =
        format!("{path}: Server does not use accelerators (only Worker): they would be idle");
    assert_warnings(
        "/spec/mxReplicaSpecs/Server/template/spec/containers/0/resources",
        resources.clone(),
        &[&idle],
    );
    assert_warnings(&format!("{CONTAINER}/resources"), resources, &[]);
}

// contract: 7.4.6
#[test]
fn a_failure_policy_makes_restart_policies_idle() {
    let mut spec = with(&format!("{WORKER}/restartPolicy"), json!("ExitCode"))["spec"].clone();
    spec["failurePolicy"] = json!({"rules": [{"action": "RestartJob", "roles": ["Tuner"]}]});
    let wanted = [
        "warning: spec.mxReplicaSpecs.Worker.restartPolicy: has no effect: spec.failurePolicy alone decides about \
         failed replicas",
        "warning: spec.failurePolicy.rules[0].roles[0]: the job has no Tuner: never matches",
    ];
    assert_warnings("/spec", spec, &wanted);
}
