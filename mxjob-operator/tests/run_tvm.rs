//! Real tuning with real TVM, from `examples/tune`. The first of these tests makes the Python
//! environment, which takes a network and half a minute.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests"
)]

mod run;

use run::processes::Process;
use run::{Job, Machine, Started};
use rustix::process::Signal;
use serde_json::Value;

/// The example's job with another program for the tuner.
fn tuner(machine: &Machine, program: &str) -> Job {
    machine.file("program.py", program);
    let mut job = Job::of_example("tune/matmul.yaml");
    for role in ["TunerTracker", "TunerServer", "Tuner"] {
        let pointer = format!("/spec/mxReplicaSpecs/{role}/template/spec/containers/0/command");
        let command = job.0.pointer_mut(&pointer).unwrap();
        *command = Value::from(["python3", "start.py", "program.py"].as_slice());
    }
    job
}

/// The milliseconds between two words of the tuner's output.
#[track_caller]
fn milliseconds(out: &str, before: &str) -> f64 {
    let text = out.split_once(&format!("tuner-0        | {before} "));
    let number = text.and_then(|(_, rest)| rest.split_once(" ms"));
    let number = number.and_then(|(number, _)| number.parse().ok());
    number.unwrap_or_else(|| panic!("no {before} time in {out}"))
}

// promise: P26, P78, P80
#[test]
fn a_matmul_is_tuned_by_three_processes() {
    let machine = Machine::with_example("tune");
    let ended = machine
        .run(&Job::of_example("tune/matmul.yaml"))
        .end()
        .assert_code(0);
    let (untuned, tuned) = (
        milliseconds(&ended.out, "untuned"),
        milliseconds(&ended.out, "tuned"),
    );
    assert!(0.0 < tuned && 2.0 * tuned < untuned, "{ended:#?}");
    let best = std::fs::read_to_string(machine.path("out/best.py")).unwrap();
    assert!(best.contains("def apply_trace("), "{best}");
    let trials = std::fs::read_to_string(machine.path("out/database_tuning_record.json")).unwrap();
    assert_eq!(trials.lines().count(), 32, "{trials}");
    ended
        .assert_err("mxjob: matmul is Running (3/3 ready)\n")
        .assert_row("tuner-0", ["Succeeded", "0", "0"])
        .assert_row("tunertracker-0", ["Stopped", "143", "0"])
        .assert_row("tunerserver-0", ["Stopped", "143", "0"])
        .assert_err("matmul Succeeded in ");
}

#[test]
fn the_tuners_exit_code_is_the_replicas_and_fails_the_job() {
    let machine = Machine::with_example("tune");
    let program = "from matmul import connect\n\
                   print('threads', connect().get_function('runtime.NumThreads')())\n\
                   raise SystemExit(3)\n";
    machine
        .run(&tuner(&machine, program))
        .end()
        .assert_code(1)
        .assert_out("tuner-0        | threads ")
        .assert_row("tuner-0", ["Failed", "3", "0"])
        .assert_row("tunertracker-0", ["Stopped", "143", "0"])
        .assert_row("tunerserver-0", ["Stopped", "143", "0"])
        .assert_err("mxjob matmul is failed because 1 Tuner replica(s) failed.");
}

/// TVM's own server would stay and serve nobody, and the tuner would wait for ever.
#[test]
fn a_server_that_a_candidate_crashes_is_replaced() {
    let machine = Machine::with_example("tune");
    let program = "\
        import tvm\n\
        from matmul import build, connect, tar\n\
        abort = tvm.te.compute((1,), lambda _: tvm.tirx.call_pure_extern('int32', 'abort'))\n\
        module = tvm.IRModule({'main': tvm.te.create_prim_func([abort])})\n\
        build(module, 'llvm').export_library('abort.tar', fcompile=tar.tar)\n\
        session = connect()\n\
        session.upload('abort.tar')\n\
        function = session.load_module('abort.tar')\n\
        try:\n\
        \x20   function['main'](tvm.runtime.empty((1,), 'int32', session.cpu()))\n\
        except tvm.error.InternalError: print('crashed')\n\
        del function, session\n\
        print('threads', connect().get_function('runtime.NumThreads')())\n";
    machine
        .run(&tuner(&machine, program))
        .end()
        .assert_code(0)
        .assert_out("tuner-0        | crashed\n")
        .assert_out("tuner-0        | threads ")
        .assert_err("mxjob: tunerserver-0 ended with exit code 138 after ")
        .assert_row("tunerserver-0", ["Stopped", "143", "1"])
        .assert_row("tuner-0", ["Succeeded", "0", "0"]);
}

/// The replica's own process, not those that TVM starts from it.
#[track_caller]
fn tracker(started: &Started) -> Process {
    let mut all = started.processes_like("start.py");
    all.retain(|process| {
        process
            .environment
            .contains(r#""task":{"type":"tunertracker""#)
    });
    let [tracker] = all.try_into().unwrap();
    tracker
}

/// The tracker's port is held by a child that TVM forks.
#[test]
fn a_killed_tracker_fails_the_job_and_the_others_are_stopped() {
    let mut started = Machine::with_example("tune").run(&Job::of_example("tune/matmul.yaml"));
    started.wait_for("tuner-0        | untuned ");
    tracker(&started).signal(Signal::KILL);
    started
        .end()
        .assert_code(1)
        .assert_row("tunertracker-0", ["Failed", "137", "0"])
        .assert_row("tunerserver-0", ["Stopped", "143", "0"])
        .assert_err("mxjob matmul is failed because 1 TunerTracker replica(s) failed.");
}

#[test]
fn killing_mxjob_ends_the_tuning() {
    let mut started = Machine::with_example("tune").run(&Job::of_example("tune/matmul.yaml"));
    started
        .wait_for("tuner-0        | untuned ")
        .signal(Signal::KILL);
    started.end_and_gone();
}

#[test]
fn without_a_device_key_the_replicas_say_what_is_missing() {
    let job =
        Job::of_example("tune/matmul.yaml").with("/spec/mxReplicaSpecs/TunerServer/label", "");
    Machine::with_example("tune")
        .run(&job)
        .end()
        .assert_code(1)
        .assert_err("no device key: give the role TunerServer a `label` in the manifest");
}
