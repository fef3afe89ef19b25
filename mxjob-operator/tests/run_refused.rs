//! Jobs that cannot be run here: exit code 2, nothing was started.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests"
)]

mod run;

use run::{Job, Machine};
use serde_json::json;

#[track_caller]
fn refused(job: Job, why: &str) {
    let job = job.role("Scheduler", 1, "echo started");
    let ended = Machine::new()
        .run(&job)
        .end()
        .assert_code(2)
        .assert_err(why);
    assert!(!ended.out.contains("started"), "{ended:#?}");
}

#[test]
fn a_command_that_is_not_there() {
    let job = Job::named("lost").role_with("Worker", 1, json!({"command": ["pythn", "train.py"]}));
    refused(
        job,
        "error: worker-0: command `pythn` is not there: no directory of PATH has it",
    );
}

#[test]
fn a_file_that_is_not_there() {
    let job = Job::named("lost").role_with("Worker", 1, json!({"command": ["./train.sh"]}));
    refused(
        job,
        "error: worker-0: command `./train.sh` is not there: no such file\nnothing was started\n",
    );
}

#[test]
fn a_container_without_a_command() {
    let job = Job::named("image").role_with("Worker", 1, json!({}));
    refused(
        job,
        "error: worker-0: container mxnet has no command: `mxjob run` does not use images",
    );
}

#[test]
fn a_variable_from_the_cluster() {
    let source = json!({"secretKeyRef": {"name": "keys", "key": "token"}});
    let container = json!({"command": ["true"], "env": [{"name": "TOKEN", "valueFrom": source}]});
    let job = Job::named("secret").role_with("Worker", 1, container);
    refused(
        job,
        "variable TOKEN of container mxnet: secret \"keys\" is only in a cluster",
    );
}

#[test]
fn a_suspended_job() {
    let job = Job::named("later")
        .role("Worker", 1, "true")
        .with("/spec/runPolicy/suspend", true);
    refused(
        job,
        "error: job later is suspended: set spec.runPolicy.suspend to false to run it",
    );
}

#[test]
fn somebody_elses_job() {
    let job = Job::named("theirs")
        .role("Worker", 1, "true")
        .with("/spec/runPolicy/managedBy", "example.com/other");
    refused(job, "error: job theirs is managed by another controller");
}

#[test]
fn an_invalid_job() {
    refused(
        Job::named("wrong")
            .role("Worker", 1, "true")
            .role("Tuner", 1, "true"),
        "Tuner",
    );
}

#[test]
fn a_manifest_that_is_not_there() {
    let machine = Machine::new();
    let ended = run::Started::new(machine.mxjob(&["run", "gone.yaml"]), &machine).end();
    ended.assert_code(2).assert_err("gone.yaml");
}
