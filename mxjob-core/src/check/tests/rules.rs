//! The rules of the role set, and what only the operator checks.

use serde_json::{Value, json};

use super::super::edit;
use super::{CONTAINER, WORKER, assert_rules, job, lines, spec, with};
use crate::{MxRole, ReplicaRole};

// contract: 3.1, 3.7
#[test]
fn roles_are_known_and_there_once() {
    let role = job()["spec"]["mxReplicaSpecs"]["Worker"].clone();
    let allowed = "allowed are Scheduler, Server, Worker, TunerTracker, TunerServer, Tuner";
    let unknown = format!(
        r#"error: spec.mxReplicaSpecs.Wroker: unknown replica type "Wroker" (did you mean Worker?): {allowed}"#
    );
    assert_rules("/spec/mxReplicaSpecs/Wroker", role.clone(), &[&unknown]);
    let twice = "error: spec.mxReplicaSpecs.worker: another key names the same replica type in other letter case; \
                 keep one";
    assert_rules("/spec/mxReplicaSpecs/worker", role, &[twice]);
}

// contract: 3.6
#[test]
fn numbers_of_replicas_are_those_of_the_table() {
    let wrong = "error: spec.mxReplicaSpecs.Scheduler.replicas: must be 1 (or absent)";
    let needs = "error: spec.mxReplicaSpecs.Server: Server needs a Scheduler (replicas 1 or more)";
    assert_rules(
        "/spec/mxReplicaSpecs/Scheduler/replicas",
        json!(2),
        &[wrong],
    );
    assert_rules(
        "/spec/mxReplicaSpecs/Scheduler/replicas",
        json!(0),
        &[wrong, needs],
    );
    let many = "error: spec.mxReplicaSpecs: 2000000003 replicas in all: at most 100000, a cluster has no more pods";
    assert_rules(&format!("{WORKER}/replicas"), json!(2_000_000_000), &[many]);
}

// contract: 2.1, 3.2, 3.3, 3.4
#[test]
fn the_mode_has_the_roles_that_it_needs() {
    let role = job()["spec"]["mxReplicaSpecs"]["Worker"].clone();
    let path = "error: spec.mxReplicaSpecs";
    let missing = format!(
        "{path}: MXTune needs TunerTracker, TunerServer and Tuner; missing: TunerTracker TunerServer"
    );
    assert_rules(
        "/spec/mxReplicaSpecs",
        json!({"Tuner": job()["spec"]["mxReplicaSpecs"]["Scheduler"]}),
        &[&missing],
    );
    let nobody = format!("{path}: MXTrain needs a Scheduler or a Worker (replicas 1 or more)");
    let mut idle = role.clone();
    idle["replicas"] = json!(0);
    assert_rules("/spec/mxReplicaSpecs", json!({"Worker": idle}), &[&nobody]);
    let alien = format!(
        "{path}.Worker: Worker is not allowed with jobMode MXTune (TunerTracker, TunerServer, Tuner): it is a role of \
         MXTrain"
    );
    let mut tune = with("/spec/mxReplicaSpecs", json!({"Worker": role}))["spec"].clone();
    tune["jobMode"] = json!("MXTune");
    assert_rules("/spec", tune, &[&alien]);
}

#[test]
fn a_mistake_is_not_followed_by_what_it_seems_to_leave_out() {
    let allowed = "allowed are Scheduler, Server, Worker, TunerTracker, TunerServer, Tuner";
    let roles = job()["spec"]["mxReplicaSpecs"].clone();
    let mut spec = json!({
        "jobMode": "MXTrain",
        "successPolicy": "AllWorkers",
        "mxReplicaSpecs": {"Schedular": roles["Scheduler"], "Server": roles["Server"]},
    });
    let unknown = |name: &str, meant: &str| {
        format!(
            "error: spec.mxReplicaSpecs.{name}: unknown replica type {name:?} (did you mean {meant}?): {allowed}"
        )
    };
    assert_rules("/spec", spec.clone(), &[&unknown("Schedular", "Scheduler")]);

    spec["mxReplicaSpecs"] = json!({"Wroker": roles["Worker"]});
    assert_rules("/spec", spec, &[&unknown("Wroker", "Worker")]);

    let one = &roles["Scheduler"];
    let tuning = json!({"TunerTracker": one, "TunerServer": one, "Server": one});
    let mixed = "error: spec.mxReplicaSpecs: roles of more than one mode in one job: keep those of MXTrain \
                 (Scheduler, Server, Worker) or MXTune (TunerTracker, TunerServer, Tuner)";
    assert_rules("/spec", json!({"mxReplicaSpecs": tuning}), &[mixed]);
}

// contract: 3.5
#[test]
fn all_workers_needs_one() {
    let mut spec = with("/spec/successPolicy", json!("AllWorkers"))["spec"].clone();
    spec["mxReplicaSpecs"]["Worker"]["replicas"] = json!(0);
    assert_rules(
        "/spec",
        spec,
        &[
            "error: spec.successPolicy: AllWorkers needs a Worker (replicas 1 or more): leave successPolicy out in a job without one",
        ],
    );
}

// contract: 3.12
#[test]
fn containers_are_named_and_have_images() {
    let path = "error: spec.mxReplicaSpecs.Worker.template.spec.containers";
    assert_rules(
        &format!("{CONTAINER}/name"),
        json!("main"),
        &[&format!("{path}: needs a container named mxnet")],
    );
    let image = format!("{path}[0].image: is required: name the image that the container runs");
    assert_rules(&format!("{CONTAINER}/image"), json!(""), &[&image]);
}

// contract: 3.12
#[test]
fn ports_do_not_clash_in_a_container_or_a_pod() {
    let path = "error: spec.mxReplicaSpecs.Worker.template.spec.containers";
    let ports = json!([{"containerPort": 80}, {"containerPort": 80, "protocol": "UDP"}, {"containerPort": 80, "protocol": "TCP"}]);
    let twice =
        format!("{path}[0].ports[2]: two ports of one number and protocol (80/TCP): keep one");
    assert_rules(&format!("{CONTAINER}/ports"), ports, &[&twice]);
    let containers = |port: u32| json!([{"name": "side", "image": "i", "ports": [{"containerPort": port}]}, {"name": "mxnet", "image": "i"}]);
    let list = &format!("{WORKER}/template/spec/containers");
    let clash = format!(
        "{path}[0].ports[0]: port 9091/TCP is also a port of container mxnet: containers of a pod share its ports"
    );
    assert_rules(list, containers(9091), &[&clash]);
    assert_rules(list, containers(9092), &[]);
}

// contract: 3.12
#[test]
fn names_make_valid_pod_names() {
    let label = "is not a DNS-1035 label: it must be lower-case letters, digits and -, first a letter, last no -, at \
                 most 63 characters";
    for bad in ["Demo", "1demo", "demo-", "de.mo", "dé"] {
        assert_rules(
            "/metadata/name",
            json!(bad),
            &[&format!("error: metadata.name: {bad:?} {label}")],
        );
    }
    let longer = "d".repeat(64);
    let once = format!("error: metadata.name: {longer:?} {label}");
    assert_rules("/metadata/name", json!(longer), &[&once]);
    let long = "d".repeat(52);
    let pod = format!(
        "error: metadata.name: the name of the last pod of Scheduler, {long}-scheduler-0, is longer than 63 \
         characters: shorten metadata.name"
    );
    assert_rules("/metadata/name", json!(long), &[&pod]);
    assert_rules("/metadata/name", json!("d".repeat(51)), &[]);
}

// contract: 2.9, 3.8
#[test]
fn policies_agree_and_codes_are_codes() {
    let run = json!({"backoffLimit": 1, "retryableExitCodes": ["1-127", "0", "9-3"]});
    let mut spec = with("/spec/runPolicy", run)["spec"].clone();
    spec["backoffLimit"] = json!(2);
    spec["failurePolicy"] = json!({"rules": [{"action": "FailJob", "roles": ["worker", "Boss"]}]});
    let code = r#"must be "N" or "N-M" with 1 <= N <= M <= 255"#;
    let wanted = [
        "error: spec.backoffLimit: backoffLimit and runPolicy.backoffLimit differ: set one of them",
        &format!(r#"error: spec.runPolicy.retryableExitCodes[1]: "0" {code}"#),
        &format!(r#"error: spec.runPolicy.retryableExitCodes[2]: "9-3" {code}"#),
        "error: spec.failurePolicy.rules[0].roles[1]: unknown replica type \"Boss\": allowed are Scheduler, Server, \
         Worker, TunerTracker, TunerServer, Tuner",
    ];
    assert_rules("/spec", spec, &wanted);
}

// contract: 3.10, 3.11
#[test]
fn edits_are_judged_against_what_was() {
    let old = spec(&job());
    let judged = |new: &Value, finished: bool| {
        lines(&edit(MxRole::TABLE, "demo", &old, finished, &spec(new)))
    };
    let image = with(&format!("{CONTAINER}/image"), json!("other"));
    let wanted = "error: spec.mxReplicaSpecs.Worker.template: can be edited only while the job is suspended or \
                  finished: set spec.runPolicy.suspend to true first";
    assert_eq!(judged(&image, false), [wanted]);
    assert_eq!(judged(&image, true), [""; 0]);
    let managed = with("/spec/runPolicy", json!({"managedBy": "example.com/x"}));
    let wanted = "error: spec.runPolicy.managedBy: is immutable: create a new job to hand it to another controller";
    assert_eq!(judged(&managed, false), [wanted]);
    assert_eq!(
        judged(&with("/spec/jobMode", json!("MXTrain")), false),
        [""; 0]
    );
}
