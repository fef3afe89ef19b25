//! Real training with real MXNet, from `examples/train`. The first of these tests makes the Python
//! environment, which takes a network and half a minute.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests"
)]

mod run;

use run::{Job, Machine, Started};
use rustix::process::Signal;

/// Long enough for something to happen in the middle.
const UNHURRIED: [&str; 2] = ["--min-epoch-seconds", "0.2"];

#[track_caller]
fn accuracy(line_start: &str, out: &str) -> f64 {
    let line = out
        .lines()
        .find(|line| line.starts_with(line_start) && line.contains("test accuracy"));
    line.and_then(|line| line.rsplit(' ').next()?.parse().ok())
        .unwrap_or_else(|| panic!("no accuracy in {out}"))
}

// promise: P25, P74
#[test]
fn the_digits_are_learned_by_five_processes() {
    let machine = Machine::with_example("train");
    let ended = machine
        .run(&Job::of_example("train/digits.yaml"))
        .end()
        .assert_code(0);
    for worker in ["worker-0", "worker-1"] {
        assert!(accuracy(worker, &ended.out) >= 0.95, "{ended:#?}");
    }
    assert!(machine.path("out/digits.params").is_file());
    ended
        .assert_err("mxjob: digits is Running (5/5 ready)\n")
        .assert_row("worker-0", ["Succeeded", "0", "0"])
        .assert_row("worker-1", ["Succeeded", "0", "0"])
        .assert_row("scheduler-0", ["Succeeded", "0", "0"])
        .assert_err("digits Succeeded in ");
}

// promise: P99
#[test]
fn the_digits_are_learned_with_the_oldest_mxnet_that_pip_can_install() {
    let machine = Machine::with_example("train");
    let requirements = std::fs::read_to_string(machine.path("requirements.txt")).unwrap();
    assert!(requirements.contains("mxnet==1.9.1"));
    machine.file(
        "requirements.txt",
        &requirements.replace("mxnet==1.9.1", "mxnet==1.5.1"),
    );
    let ended = machine
        .run(&Job::of_example("train/digits.yaml"))
        .end()
        .assert_code(0);
    for worker in ["worker-0", "worker-1"] {
        assert!(accuracy(worker, &ended.out) >= 0.95, "{ended:#?}");
    }
}

#[test]
fn the_digits_are_learned_by_one_process() {
    let ended = Machine::with_example("train")
        .run(&Job::of_example("train/local.yaml"))
        .end()
        .assert_code(0);
    assert!(accuracy("worker-0", &ended.out) >= 0.95, "{ended:#?}");
}

// contract: 12.8
// promise: P25, P74
#[test]
fn the_digits_are_learned_by_a_job_of_v1beta1() {
    let machine = Machine::with_example("train");
    let job = Job::of_example("train/digits.yaml").with("/apiVersion", "kubeflow.org/v1beta1");
    let ended = machine.run(&job).end().assert_code(0);
    for worker in ["worker-0", "worker-1"] {
        assert!(accuracy(worker, &ended.out) >= 0.95, "{ended:#?}");
    }
    assert!(machine.path("out/digits.params").is_file());
    ended
        .assert_row("worker-1", ["Succeeded", "0", "0"])
        .assert_row("scheduler-0", ["Succeeded", "0", "0"]);
}

// contract: 12.8
// promise: P6, P74
#[test]
fn the_digits_are_learned_by_a_dist_job_of_v1alpha1() {
    let machine = Machine::with_example("train");
    let Job(own) = Job::of_example("train/digits.yaml");
    let entry = |role: &str| {
        let own = &own["spec"]["mxReplicaSpecs"][role];
        serde_json::json!({
            "mxReplicaType": role.to_uppercase(),
            "replicas": own["replicas"],
            "template": own["template"],
        })
    };
    let entries = ["Scheduler", "Server", "Worker"].map(entry);
    let job = Job(serde_json::json!({
        "apiVersion": "kubeflow.org/v1alpha1",
        "kind": "MXJob",
        "metadata": own["metadata"],
        "spec": {"jobMode": "dist", "replicaSpecs": entries},
    }));
    let ended = machine.run(&job).end().assert_code(0);
    for worker in ["worker-0", "worker-1"] {
        assert!(accuracy(worker, &ended.out) >= 0.95, "{ended:#?}");
    }
    assert!(machine.path("out/digits.params").is_file());
    ended
        .assert_row("worker-1", ["Succeeded", "0", "0"])
        .assert_row("scheduler-0", ["Succeeded", "0", "0"]);
}

// contract: 12.25
#[test]
fn the_digits_are_learned_by_a_local_job_of_the_oldest_group() {
    let Job(own) = Job::of_example("train/local.yaml");
    let worker = serde_json::json!({
        "replicas": 1,
        "mxReplicaType": "WORKER",
        "template": own["spec"]["mxReplicaSpecs"]["Worker"]["template"],
    });
    let job = Job(serde_json::json!({
        "apiVersion": "mxnet.mlkube.io/v1beta1",
        "kind": "MxJob",
        "metadata": own["metadata"],
        "spec": {"jobMode": "local", "replicaSpecs": [worker]},
    }));
    let ended = Machine::with_example("train")
        .run(&job)
        .end()
        .assert_code(0);
    assert!(accuracy("worker-0", &ended.out) >= 0.95, "{ended:#?}");
    ended.assert_row("worker-0", ["Succeeded", "0", "0"]);
}

#[track_caller]
fn kill_worker_1_in_the_middle(started: &mut Started) {
    started.wait_for("worker-1    | epoch 3/15");
    let [worker] = started
        .processes_with("DMLC_WORKER_ID=1")
        .try_into()
        .unwrap();
    worker.signal(Signal::KILL);
}

/// MXNet itself never notices: without mxjob the other four would hang for ever.
#[test]
fn a_killed_worker_fails_the_job_and_the_hanging_others_are_stopped() {
    let mut started = Machine::with_example("train")
        .run(&Job::of_example("train/digits.yaml").adding(&UNHURRIED));
    kill_worker_1_in_the_middle(&mut started);
    let ended = started.end().assert_code(1);
    for stopped in ["scheduler-0", "server-0", "server-1", "worker-0"] {
        let row = ended
            .out
            .lines()
            .find(|line| line.starts_with(&format!("| {stopped} ")));
        assert!(
            row.is_some_and(|row| row.contains("| Stopped ")),
            "{stopped} in {ended:#?}"
        );
    }
    ended
        .assert_row("worker-1", ["Failed", "137", "0"])
        .assert_err("mxjob digits is failed because 1 Worker replica(s) failed.")
        .assert_err("worker-1 ended with exit code 137 (SIGKILL)");
}

#[test]
fn with_a_failure_policy_a_killed_worker_restarts_the_job_and_it_succeeds() {
    let job = Job::of_example("train/digits.yaml")
        .adding(&UNHURRIED)
        .with("/spec/failurePolicy/maxRestarts", 1);
    let mut started = Machine::with_example("train").run(&job);
    kill_worker_1_in_the_middle(&mut started);
    let ended = started.end().assert_code(0);
    assert!(accuracy("worker-1", &ended.out) >= 0.95, "{ended:#?}");
    ended
        .assert_err("mxjob: digits is Restarting")
        .assert_row("worker-0", ["Succeeded", "0", "1"])
        .assert_row("worker-1", ["Succeeded", "0", "1"]);
}

#[test]
fn killing_mxjob_ends_the_training() {
    let mut started = Machine::with_example("train")
        .run(&Job::of_example("train/digits.yaml").adding(&UNHURRIED));
    started
        .wait_for("worker-1    | epoch 2/15")
        .signal(Signal::KILL);
    started.end_and_gone();
}
