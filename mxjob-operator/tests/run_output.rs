//! What replicas print, and who reads it.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests"
)]

mod run;

use std::process::Stdio;
use std::thread;
use std::time::Duration;

use run::{Job, Machine, Started};
use rustix::process::Signal;

#[test]
fn when_nobody_reads_any_more_the_job_is_stopped_quietly() {
    let machine = Machine::new();
    let job = Job::named("head").role("Worker", 1, "while :; do echo line; sleep 0.01; done");
    machine.file("job.yaml", &job.0.to_string());
    let mut command = machine.mxjob(&["run", "job.yaml"]);
    let (reader, writer) = std::io::pipe().unwrap();
    command.stdout(writer);
    let mut started = Started::new(command, &machine);
    started.wait_for("head is Running");
    drop(reader);
    let ended = started.end().assert_code(130);
    assert!(
        !ended.err.contains("rror") && !ended.err.contains("anic"),
        "{ended:#?}"
    );
}

#[test]
fn a_reader_that_does_not_read_holds_up_replicas_but_not_ctrl_c() {
    let machine = Machine::new();
    let job = Job::named("less").role("Worker", 1, "yes filling the pipe");
    machine.file("job.yaml", &job.0.to_string());
    let mut command = machine.mxjob(&["run", "job.yaml"]);
    let (reader, writer) = std::io::pipe().unwrap();
    command.stdout(writer);
    let mut started = Started::new(command, &machine);
    started.wait_for("less is Running");
    // Long enough to fill every buffer; that it is not yet full would only make the test easier.
    thread::sleep(Duration::from_millis(500));
    started.signal(Signal::INT);
    started
        .end()
        .assert_code(130)
        .assert_err("less was interrupted by Ctrl-C");
    drop(reader);
}

#[test]
fn lines_come_whole_also_the_last_one() {
    let job = Job::named("odd").role(
        "Worker",
        1,
        "printf 'one\\ntwo'; printf 'a\\377b\\n' >&2; printf '\\r10\\r99\\n'",
    );
    let ended = Machine::new().run(&job).end().assert_code(0);
    ended
        .assert_out("worker-0 | one\n")
        .assert_out("worker-0 | a\u{fffd}b\n")
        .assert_out("99\n");
}

#[test]
fn a_flood_arrives_complete() {
    let job = Job::named("flood").role(
        "Worker",
        2,
        "i=0; while [ $i -lt 20000 ]; do echo line $i; i=$((i+1)); done",
    );
    let ended = Machine::new().run(&job).end().assert_code(0);
    assert_eq!(ended.out.matches("| line ").count(), 40_000);
}

#[test]
fn standard_input_is_empty() {
    let machine = Machine::new();
    machine.file(
        "job.yaml",
        &Job::named("deaf")
            .role("Worker", 1, "cat; echo end")
            .0
            .to_string(),
    );
    let mut command = machine.mxjob(&["run", "job.yaml"]);
    let (reader, writer) = std::io::pipe().unwrap();
    command.stdin(Stdio::from(reader));
    Started::new(command, &machine)
        .end()
        .assert_code(0)
        .assert_out("worker-0 | end\n");
    drop(writer);
}
