//! Ports: a replica's port may be taken by somebody else.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests"
)]

mod run;

use std::net::TcpListener;

use run::{Job, Machine};

#[test]
fn a_port_that_somebody_else_took_is_named() {
    let machine = Machine::new();
    let script = "echo port $DMLC_PS_ROOT_PORT; while [ ! -e go ]; do sleep 0.01; done; echo bind failed; exit 1";
    let job = Job::named("taken")
        .role("Scheduler", 1, script)
        .role("Worker", 1, "exec sleep 600");
    let mut started = machine.run(&job);
    let port: u16 = started.word_after("| port ").parse().unwrap();
    let other = TcpListener::bind(("127.0.0.1", port)).unwrap();
    machine.file("go", "");
    let ended = started.end().assert_code(1);
    ended
        .assert_row("scheduler-0", ["Failed", "1", "0"])
        .assert_err(&format!(
            "mxjob: port {port}, which scheduler-0 was given, is in use by another program\n"
        ));
    drop(other);
}

#[test]
fn a_port_that_is_taken_before_a_restart_is_named() {
    let machine = Machine::new();
    let script = "echo port $DMLC_PS_ROOT_PORT; while [ ! -e go ]; do sleep 0.01; done; exit 1";
    let job =
        Job::named("retaken")
            .role("Scheduler", 1, script)
            .role("Worker", 1, "exec sleep 600");
    let mut started = machine.run(&job.with("/spec/failurePolicy/maxRestarts", 1));
    let port: u16 = started.word_after("| port ").parse().unwrap();
    let other = TcpListener::bind(("127.0.0.1", port)).unwrap();
    machine.file("go", "");
    let ended = started.end().assert_code(1);
    ended
        .assert_row("scheduler-0", ["Failed", "128", "1"])
        .assert_err(&format!("scheduler-0 could not be started: port {port} of 127.0.0.1 is in use by another program"));
    drop(other);
}
