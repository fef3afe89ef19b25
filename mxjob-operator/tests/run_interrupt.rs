//! Ctrl-C, SIGTERM, SIGHUP: the job is stopped, exit code 130.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests"
)]

mod run;

use run::{Job, Machine, Started};
use rustix::process::Signal;

fn waiting() -> Job {
    Job::named("waiting")
        .role("Scheduler", 1, "echo up; sleep 600")
        .role("Worker", 2, "echo up; sleep 600 & wait")
}

#[track_caller]
fn interrupted(signal: Signal, name: &str) {
    let mut started = Machine::new().run(&waiting());
    started.wait_for_count("| up", 3).signal(signal);
    let ended = started.end().assert_code(130);
    ended
        .assert_err(&format!("mxjob: {name}: stopping"))
        .assert_err(&format!("waiting was interrupted by {name} after "))
        .assert_row("scheduler-0", ["Stopped", "143", "0"])
        .assert_row("worker-1", ["Stopped", "143", "0"]);
}

// contract: 11.1
#[test]
fn ctrl_c_stops_the_job() {
    interrupted(Signal::INT, "Ctrl-C");
}

#[test]
fn sigterm_stops_the_job() {
    interrupted(Signal::TERM, "SIGTERM");
}

#[test]
fn a_closed_terminal_stops_the_job() {
    interrupted(Signal::HUP, "SIGHUP");
}

/// The script says that it is up, and goes on whatever asks it to end.
const STUBBORN: &str = "trap 'echo no' TERM; echo up; while :; do sleep 0.05; done";

#[test]
fn who_ignores_sigterm_is_killed_and_it_is_said() {
    let job = Job::named("stubborn").role("Worker", 1, STUBBORN).with(
        "/spec/mxReplicaSpecs/Worker/template/spec/terminationGracePeriodSeconds",
        1,
    );
    let mut started = Machine::new().run(&job);
    started
        .wait_for("| up")
        .signal(Signal::TERM)
        .wait_for("| no");
    let ended = started.end().assert_code(130);
    ended
        .assert_err("mxjob: worker-0 ignored SIGTERM for 1 s: killed\n")
        .assert_row("worker-0", ["Stopped", "137", "0"]);
}

#[test]
fn a_second_ctrl_c_kills_at_once() {
    let job = Job::named("hurry").role("Worker", 1, STUBBORN).with(
        "/spec/mxReplicaSpecs/Worker/template/spec/terminationGracePeriodSeconds",
        600,
    );
    let mut started = Machine::new().run(&job);
    started
        .wait_for("| up")
        .signal(Signal::INT)
        .wait_for("| no")
        .signal(Signal::INT);
    started
        .end()
        .assert_code(130)
        .assert_row("worker-0", ["Stopped", "137", "0"]);
}

/// `nohup` and the background jobs of scripts start programs that way.
#[test]
fn a_signal_that_was_ignored_from_the_start_stays_ignored() {
    let machine = Machine::new();
    let job = Job::named("steady").role(
        "Worker",
        1,
        "echo up; while [ ! -e go ]; do sleep 0.01; done",
    );
    machine.file("job.yaml", &job.0.to_string());
    let nohup = [
        "-c",
        "trap '' HUP; exec \"$@\"",
        "sh",
        "mxjob",
        "run",
        "job.yaml",
    ];
    let mut started = Started::new(machine.through("sh", &nohup), &machine);
    started.wait_for("| up").signal(Signal::HUP);
    machine.file("go", "");
    started.end().assert_code(0);
}
