//! What becomes of a job, and how it is told: exit code, logs, table, last words.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests"
)]

mod run;

use run::{Job, Machine};
use serde_json::json;

// contract: 11.1
#[test]
fn a_job_that_succeeds_ends_with_0_and_a_table() {
    let job = Job::named("good")
        .role("Scheduler", 1, "echo deciding")
        .role("Server", 1, "exec sleep 600")
        .role(
            "Worker",
            2,
            "echo working as $DMLC_WORKER_ID; echo no progress >&2",
        );
    let ended = Machine::new().run(&job).end().assert_code(0);
    let ended = ended
        .assert_out("scheduler-0 | deciding\n")
        .assert_out("worker-1    | working as 1\n")
        .assert_out("worker-0    | no progress\n")
        .assert_err("mxjob: good is Running (4/4 ready)\n")
        .assert_err("good Succeeded in ");
    ended
        .assert_row("scheduler-0", ["Succeeded", "0", "0"])
        .assert_row("server-0", ["Stopped", "143", "0"])
        .assert_row("worker-0", ["Succeeded", "0", "0"])
        .assert_row("worker-1", ["Succeeded", "0", "0"]);
}

// contract: 11.1
#[test]
fn a_replica_that_fails_fails_the_job_and_the_rest_is_stopped() {
    let job = Job::named("bad")
        .role("Scheduler", 1, "exec sleep 600")
        .role(
            "Worker",
            2,
            "if [ $DMLC_WORKER_ID = 1 ]; then echo out of luck; exit 3; fi; exec sleep 600",
        );
    let ended = Machine::new().run(&job).end().assert_code(1);
    ended
        .assert_row("scheduler-0", ["Stopped", "143", "0"])
        .assert_row("worker-0", ["Stopped", "143", "0"])
        .assert_row("worker-1", ["Failed", "3", "0"])
        .assert_err("bad Failed after ")
        .assert_err(": mxjob bad is failed because 1 Worker replica(s) failed.\n")
        .assert_err("worker-1 ended with exit code 3; it last printed:\n  out of luck\n");
}

#[test]
fn a_replica_that_a_signal_ends_has_its_code() {
    let job = Job::named("killed").role("Worker", 1, "kill -9 $$$$");
    let ended = Machine::new().run(&job).end().assert_code(1);
    ended
        .assert_row("worker-0", ["Failed", "137", "0"])
        .assert_err("exit code 137 (SIGKILL) and had printed nothing\n");
}

#[test]
fn a_failure_policy_restarts_the_whole_job() {
    let machine = Machine::new();
    let worker = "echo life; touch here-$DMLC_WORKER_ID; [ -e failed ] && exit 0; \
                  [ $DMLC_WORKER_ID = 1 ] && exec sleep 600; \
                  while [ ! -e here-1 ]; do sleep 0.01; done; touch failed; exit 1";
    let job = Job::named("again")
        .role(
            "Scheduler",
            1,
            "while [ ! -e failed ]; do sleep 0.01; done; sleep 0.2",
        )
        .role("Worker", 2, worker)
        .with("/spec/failurePolicy/maxRestarts", 1);
    let ended = machine.run(&job).end().assert_code(0);
    assert_eq!(ended.out.matches("| life").count(), 4, "{ended:#?}");
    ended
        .assert_err("mxjob: again is Restarting: mxjob again is restarting because 1 Worker replica(s) failed.\n")
        .assert_row("worker-0", ["Succeeded", "0", "1"])
        .assert_row("worker-1", ["Succeeded", "0", "1"])
        .assert_row("scheduler-0", ["Succeeded", "0", "1"]);
}

#[test]
fn past_its_restarts_the_job_fails() {
    let job = Job::named("enough")
        .role("Worker", 1, "exit 7")
        .with("/spec/failurePolicy/maxRestarts", 1);
    let ended = Machine::new().run(&job).end().assert_code(1);
    ended
        .assert_row("worker-0", ["Failed", "7", "1"])
        .assert_err("Job enough has failed because it has reached maxRestarts (1)");
}

#[test]
fn a_container_is_restarted_in_place() {
    let job = Job::named("stay")
        .role("Worker", 1, "[ -e here ] && exit 0; touch here; exit 1")
        .with("/spec/mxReplicaSpecs/Worker/restartPolicy", "OnFailure");
    Machine::new()
        .run(&job)
        .end()
        .assert_code(0)
        .assert_row("worker-0", ["Succeeded", "0", "1"]);
}

#[test]
fn a_deadline_ends_the_job() {
    let job = Job::named("late")
        .role("Worker", 1, "exec sleep 600")
        .with("/spec/runPolicy/activeDeadlineSeconds", 1);
    let ended = Machine::new().run(&job).end().assert_code(1);
    ended
        .assert_row("worker-0", ["Stopped", "143", "0"])
        .assert_err("Job late has failed because it was active longer than specified deadline");
}

#[test]
fn nothing_is_left_of_a_job_that_keeps_its_pods() {
    let job = Job::named("kept")
        .role("Scheduler", 1, "true")
        .role("Server", 1, "exec sleep 600")
        .role("Worker", 1, "true")
        .with(
            "/spec/runPolicy",
            json!({"cleanPodPolicy": "None", "ttlSecondsAfterFinished": 0}),
        );
    Machine::new()
        .run(&job)
        .end()
        .assert_code(0)
        .assert_row("server-0", ["Stopped", "143", "0"]);
}

#[test]
fn replicas_meet_on_loopback() {
    let script = "echo config $MX_CONFIG; echo at $DMLC_PS_ROOT_URI $DMLC_NODE_HOST $DMLC_INTERFACE; echo port=$PORT.";
    let machine = Machine::new()
        .with("PORT", "8080")
        .with("DMLC_ROLE", "elsewhere");
    let job =
        Job::named("near")
            .role("Scheduler", 1, script)
            .role("Worker", 1, "echo role $DMLC_ROLE");
    let ended = machine.run(&job).end().assert_code(0);
    ended
        .assert_out("at 127.0.0.1 127.0.0.1 lo\n")
        .assert_out("port=.\n")
        .assert_out("role worker\n")
        .assert_out(r#"config {"cluster":{"scheduler":[{"url":"127.0.0.1","port":"#);
}

#[test]
fn what_a_single_machine_does_not_do_is_said_once() {
    let container = json!({
        "command": ["sh", "-c", "pwd"],
        "workingDir": "/not/here",
        "volumeMounts": [{"name": "data", "mountPath": "/data"}],
    });
    let job = Job::named("partly")
        .role_with("Worker", 2, container)
        .with(
            "/spec/mxReplicaSpecs/Worker/template/spec/volumes",
            json!([{"name": "data", "emptyDir": {}}]),
        )
        .with(
            "/spec/mxReplicaSpecs/Worker/template/spec/initContainers",
            json!([{"name": "fetch", "image": "none", "command": ["false"]}]),
        );
    let machine = Machine::new();
    let folder = machine.path("").canonicalize().unwrap();
    let ended = machine.run(&job).end().assert_code(0);
    ended
        .assert_out(&format!("worker-0 | {}\n", folder.display()))
        .assert_err("mxjob: on this machine volumes are not mounted (Worker)\n")
        .assert_err("mxjob: on this machine init containers are not run (Worker)\n")
        .assert_err("mxjob: workingDir is not on this machine: running in ");
}
