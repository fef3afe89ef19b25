//! What replicas print, and who reads it.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests"
)]

mod run;

use std::io::PipeWriter;
use std::process::Stdio;
use std::time::{Duration, Instant};
use std::{fs, thread};

use run::{Job, Machine, Started};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
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
    command.stdout(writer.try_clone().unwrap());
    let mut started = Started::new(command, &machine);
    started.wait_for("less is Running");
    wait_until_all_is_full(&started, &writer, machine.patience);
    started.signal(Signal::INT);
    started
        .end()
        .assert_code(130)
        .assert_err("less was interrupted by Ctrl-C");
    drop(reader);
}

/// Waits until the pipe that nobody reads takes nothing more, and then, for the buffers before it,
/// until the replica that prints without end has not got rid of anything for a while.
fn wait_until_all_is_full(started: &Started, pipe: &PipeWriter, patience: Duration) {
    const LOOKS: u32 = 8;
    let deadline = Instant::now() + patience;
    let (mut printed, mut same) = (0, 0);
    while same < LOOKS {
        assert!(
            Instant::now() < deadline,
            "the replica still prints, {printed} bytes so far"
        );
        // Between looks, longer than mxjob waits before it tries to write again.
        thread::sleep(Duration::from_millis(25));
        let now = bytes_written(started, "yes filling");
        same = if is_full(pipe) && now == printed && now > 0 {
            same + 1
        } else {
            0
        };
        printed = now;
    }
}

/// True when a write would have to wait.
fn is_full(pipe: &PipeWriter) -> bool {
    let at_once = Timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    poll(&mut [PollFd::new(pipe, PollFlags::OUT)], Some(&at_once)).unwrap() == 0
}

/// What the living processes with this in their command line have written so far.
fn bytes_written(started: &Started, command: &str) -> u64 {
    let processes = started.processes_like(command).into_iter();
    processes
        .filter_map(|process| {
            let numbers = fs::read_to_string(format!("/proc/{}/io", process.id)).ok()?;
            let line = numbers
                .lines()
                .find_map(|line| line.strip_prefix("wchar: "))?;
            line.parse::<u64>().ok()
        })
        .sum()
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
