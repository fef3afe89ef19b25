//! No process is ever left, however mxjob or a replica ends.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests"
)]

mod run;

use run::{Job, Machine};
use rustix::process::Signal;

/// A replica with a child, an orphan, and one that has left its session as daemons do.
const FAMILY: &str = "sleep 601 & (sleep 602 &) ; setsid sleep 603 & echo up; wait";

fn family() -> Job {
    Job::named("family")
        .role("Scheduler", 1, FAMILY)
        .role("Worker", 2, FAMILY)
}

// contract: 11.1
#[test]
fn mxjob_is_killed_and_so_is_all_that_it_started() {
    let mut started = Machine::new().run(&family());
    started.wait_for_count("| up", 3);
    for sleep in ["sleep 601", "sleep 602", "sleep 603"] {
        // The shells have forked them but they may not yet be what they are to be.
        started.wait_for_processes(&format!("{sleep} "), 3);
    }
    started.signal(Signal::KILL);
    started.end_and_gone();
}

/// Without its guard mxjob still takes its replicas with it: the kernel sends them SIGKILL.
#[test]
fn replicas_die_with_mxjob_also_when_the_guard_was_killed_first() {
    let job = Job::named("alone").role("Worker", 2, "echo up; exec sleep 604");
    let mut started = Machine::new().run(&job);
    started.wait_for_count("| up", 2);
    for guard in started.processes_like("__guard") {
        guard.signal(Signal::KILL);
    }
    started.wait_for_processes("sleep 604 ", 2);
    started.signal(Signal::KILL);
    started.end_and_gone();
}

#[test]
fn what_a_replica_leaves_ends_with_it() {
    let job = Job::named("leaving")
        .role(
            "Scheduler",
            1,
            "echo up; while [ ! -e go ]; do sleep 0.01; done",
        )
        .role(
            "Worker",
            1,
            "sleep 605 & (sleep 606 &); setsid sleep 607 & sleep 0.1; exit 0",
        );
    let machine = Machine::new();
    let mut started = machine.run(&job);
    started.wait_for("worker-0 Succeeded");
    assert_eq!(started.processes_like("sleep 60"), []);
    machine.file("go", "");
    started.end().assert_code(0);
}

#[test]
fn an_interrupted_job_leaves_nothing() {
    let mut started = Machine::new().run(&family());
    started.wait_for_count("| up", 3).signal(Signal::INT);
    started.end().assert_code(130);
}

/// Nobody waits for the last words of a process that has left and holds the output open.
#[test]
fn a_pipe_that_is_held_open_does_not_hold_up_the_job() {
    let job = Job::named("open").role("Worker", 1, "env -u MXJOB_RUN_ID setsid sleep 2 & echo up");
    let started = Machine::new().run(&job);
    let ended = started.end_and_gone().assert_code(0);
    ended
        .assert_out("| up")
        .assert_row("worker-0", ["Succeeded", "0", "0"]);
}
