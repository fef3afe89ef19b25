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

// contract: 11.1
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

/// A good manifest whose replica would leave a file behind.
const GOOD: &str = "apiVersion: kubeflow.org/v1\nkind: MXJob\nmetadata: {name: good}\nspec:\n  mxReplicaSpecs:\n    \
                    Worker:\n      replicas: 1\n      template: {spec: {containers: [{name: mxnet, image: none, \
                    command: [touch, started]}]}}\n";

#[test]
fn files_that_cannot_be_run_start_nothing() {
    let two = format!("{GOOD}---\n{}", GOOD.replace("Worker", "Wroker"));
    let wrong_type = GOOD.replace("replicas: 1", "replicas: two");
    let huge = GOOD.replace("replicas: 1", "replicas: 2000000");
    let unknown = GOOD.replace("mxReplicaSpecs", "mxReplicaSpec");
    let cases: [(&str, &[u8], &str); 8] = [
        (
            "yaml",
            b"a: [1,\n b: }",
            "job.yaml:1:4: error: not valid YAML",
        ),
        ("empty", b"", "job.yaml: error: is empty"),
        (
            "kind",
            b"apiVersion: v1\nkind: Pod\n",
            "job.yaml:2:1: error: kind: v1 Pod",
        ),
        (
            "two",
            two.as_bytes(),
            "spec.mxReplicaSpecs.Wroker: unknown replica type",
        ),
        (
            "type",
            wrong_type.as_bytes(),
            "job.yaml:7:7: error: spec.mxReplicaSpecs.Worker.replicas",
        ),
        ("huge", huge.as_bytes(), "2000000 replicas"),
        ("field", unknown.as_bytes(), "did you mean mxReplicaSpecs?"),
        (
            "text",
            b"apiVersion: \xff\n",
            "job.yaml:1:13: error: not UTF-8 text",
        ),
    ];
    for (name, content, why) in cases {
        let machine = Machine::new();
        std::fs::write(machine.path("job.yaml"), content).unwrap();
        let output = machine.mxjob(&["run", "job.yaml"]).output().unwrap();
        let err = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{name}: {err}");
        assert!(err.contains(why), "{name}: {err}");
        assert!(!machine.path("started").exists(), "{name} was started");
    }
}

#[test]
fn a_good_file_from_standard_input_is_run() {
    let machine = Machine::new();
    let manifest = std::fs::File::open(machine.file("job.yaml", GOOD)).unwrap();
    let status = machine
        .mxjob(&["run", "-"])
        .stdin(manifest)
        .status()
        .unwrap();
    assert_eq!(status.code(), Some(0));
    assert!(machine.path("started").exists());
}
