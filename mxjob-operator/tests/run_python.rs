//! The Python of a run: looked for, made once, and what is said when that fails. The Pythons here are
//! shell scripts.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests"
)]

mod run;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use run::{Job, Machine, Started};
use rustix::process::Signal;

const PYTHON: &str = include_str!("fixtures/fake-python.sh");

/// A machine without a real Python.
fn machine() -> Machine {
    let machine = Machine::bare();
    let calls = machine.file("calls", "");
    machine.file("requirements.txt", "mxnet==1.9.1\n");
    machine.with("CALLS", calls)
}

/// A machine with fake Pythons: a folder of PATH for each, with the program's name and what it is.
fn machine_with(pythons: &[(&str, &str)]) -> Machine {
    let machine = machine();
    let mut path = machine.path("bin").into_os_string();
    for (number, (name, what)) in pythons.iter().enumerate() {
        let folder = machine.path(&format!("python{number}"));
        install(&folder, name, what);
        path.push(":");
        path.push(folder);
    }
    machine.with("PATH", path)
}

fn install(folder: &Path, name: &str, what: &str) {
    fs::create_dir_all(folder).unwrap();
    fs::write(folder.join(name), PYTHON).unwrap();
    fs::write(folder.join("fake"), what).unwrap();
    fs::set_permissions(folder.join(name), PermissionsExt::from_mode(0o755)).unwrap();
}

fn job() -> Job {
    Job::named("needy")
        .role("Worker", 1, "echo env $VIRTUAL_ENV; python train.py")
        .requiring("requirements.txt")
}

fn calls(machine: &Machine) -> String {
    fs::read_to_string(machine.path("calls")).unwrap()
}

#[test]
fn the_environment_is_made_once_and_then_takes_no_python() {
    let machine = machine_with(&[("python3.11", "version=3.11.7\n")]);
    let ended = machine.run(&job()).end().assert_code(0);
    ended
        .assert_err("mxjob: preparing Python: making an environment with Python 3.11.7\n")
        .assert_err("mxjob: preparing Python: downloading mxnet 1.9.1 (49.1 MB)\n")
        .assert_err("mxjob: preparing Python: installing mxnet\n")
        .assert_out("worker-0 | fake python: train.py\n")
        .assert_out("| env /")
        .assert_out("/home/.cache/mxjob/venvs/");
    fs::write(machine.path("calls"), "").unwrap();
    let ended = machine.run(&job()).end().assert_code(0);
    assert!(!ended.err.contains("preparing"), "{ended:#?}");
    assert_eq!(calls(&machine), "python train.py\n");
}

#[test]
fn other_requirements_make_another_environment() {
    let machine = machine_with(&[("python3.11", "version=3.11.7\n")]);
    let first = machine.run(&job()).end().assert_code(0);
    machine.file("requirements.txt", "mxnet==1.9.0\n");
    let second = machine
        .run(&job())
        .end()
        .assert_code(0)
        .assert_err("preparing Python: installing mxnet");
    let env = |out: &str| {
        out.lines()
            .find_map(|line| line.split_once("| env "))
            .unwrap()
            .1
            .to_owned()
    };
    assert_ne!(env(&first.out), env(&second.out));
}

#[test]
fn the_first_usable_python_is_taken() {
    let machine = machine_with(&[
        ("python3", "version=3.13.0\n"),
        ("python3.11", "says=pyenv: python3.11: command not found\n"),
        ("python3.11", "version=3.11.2\nensurepip=no\n"),
        ("python3.12", "version=3.12.1\n"),
        ("python3.9", "version=3.9.18\n"),
    ]);
    machine
        .run(&job())
        .end()
        .assert_code(0)
        .assert_err("making an environment with Python 3.9.18\n");
}

#[test]
fn pyenvs_own_pythons_come_after_those_of_path() {
    let machine = machine();
    for version in ["3.12.1", "3.10.13", "3.13.0"] {
        let folder = machine
            .path("home/.pyenv/versions")
            .join(version)
            .join("bin");
        install(&folder, "python", &format!("version={version}\n"));
    }
    machine
        .run(&job())
        .end()
        .assert_code(0)
        .assert_err("making an environment with Python 3.10.13\n");
}

#[test]
fn uv_is_taken_when_there_is_no_python() {
    let machine = machine();
    let uv = "#!/bin/sh\necho \"uv $*\" >> \"$CALLS\"\nif [ $1 = venv ]; then mkdir -p \"$4/bin\"; \
              cp \"$0\" \"$4/bin/python\"; chmod +x \"$4/bin/python\"; fi\n";
    machine.program("bin/uv", uv);
    machine
        .run(&job())
        .end()
        .assert_code(0)
        .assert_err("making an environment with Python 3.11\n");
    let calls = calls(&machine);
    let calls: Vec<_> = calls.lines().collect();
    assert!(calls[0].starts_with("uv venv --python 3.11 /"), "{calls:?}");
    assert!(
        calls[1].starts_with("uv pip install --python /")
            && calls[1].ends_with("/requirements.txt"),
        "{calls:?}"
    );
}

#[test]
fn no_usable_python_says_what_was_looked_at() {
    let machine = machine_with(&[
        ("python3", "version=3.13.0\n"),
        ("python3.8", "says=pyenv: python3.8: command not found\n"),
        ("python3.11", "version=3.11.2\nensurepip=no\n"),
    ]);
    let ended = machine.run(&job()).end().assert_code(2);
    ended
        .assert_err(
            "error: no usable Python: it must be 3.8 to 3.12 and have venv and pip; looked at\n",
        )
        .assert_err("python3.10  ")
        .assert_err("not in PATH\n")
        .assert_err("is Python 3.13.0: it must be 3.8 to 3.12\n")
        .assert_err("pyenv: python3.8: command not found\n")
        .assert_err(
            "is Python 3.11.2 without venv and ensurepip (Debian: apt install python3-venv)\n",
        )
        .assert_err("or name one with --python\nnothing was started\n");
}

#[test]
fn a_named_python_decides() {
    let machine = machine_with(&[
        ("python3.11", "version=3.11.7\n"),
        ("snake", "version=3.8.18\n"),
    ]);
    let ended = machine
        .run_with(&job(), &["--python", "snake"])
        .end()
        .assert_code(0);
    ended.assert_err("making an environment with Python 3.8.18\n");
    let ended = machine
        .run_with(&job(), &["--python", "./none"])
        .end()
        .assert_code(2);
    ended.assert_err(
        "error: --python ./none: `./none` is not there: no such file\nnothing was started\n",
    );
    install(&machine.path("new"), "python3", "version=3.13.0\n");
    let ended = machine
        .run_with(&job(), &["--python", "new/python3"])
        .end()
        .assert_code(2);
    ended.assert_err("error: --python new/python3: is Python 3.13.0: it must be 3.8 to 3.12\n");
}

#[track_caller]
fn failing(pip: &str, cause: &str) {
    let machine = machine();
    let said = machine.file("pip-says", pip);
    let what = format!("version=3.11.7\npip={}\n", said.display());
    install(&machine.path("bin"), "python3.11", &what);
    let ended = machine.run(&job()).end().assert_code(2);
    ended
        .assert_err("error: pip could not install ")
        .assert_err(cause)
        .assert_err(&format!("  {}\n", pip.trim()));
    // Nothing half-made is taken for an environment.
    fs::write(machine.path("bin/fake"), "version=3.11.7\n").unwrap();
    machine
        .run(&job())
        .end()
        .assert_code(0)
        .assert_err("preparing Python: installing mxnet");
}

#[test]
fn pip_without_a_network() {
    let said = "WARNING: Retrying (Retry(total=0)) after connection broken by 'NewConnectionError(': Failed to establish \
                a new connection: [Errno -3] Temporary failure in name resolution')': /simple/mxnet/\n";
    failing(
        said,
        "no connection to the package index; check the network",
    );
}

#[test]
fn pip_on_a_full_disk() {
    failing(
        "ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device\n",
        "the disk is full",
    );
}

#[test]
fn pip_that_fails_in_a_new_way() {
    failing("ERROR: something new\n", "its last lines say why");
}

#[test]
fn requirements_that_are_not_there() {
    let machine = machine_with(&[("python3.11", "version=3.11.7\n")]);
    fs::remove_file(machine.path("requirements.txt")).unwrap();
    let ended = machine.run(&job()).end().assert_code(2);
    ended
        .assert_err("requirements.txt: No such file or directory")
        .assert_err("mxjob.kubeflow.org/requirements");
}

#[test]
fn a_program_that_the_requirements_do_not_bring_is_missed_before_anything_starts() {
    let machine = machine_with(&[("python3.11", "version=3.11.7\n")]);
    let job = Job::named("short")
        .role_with("Worker", 1, serde_json::json!({"command": ["gunicorn"]}))
        .requiring("requirements.txt");
    machine
        .run(&job)
        .end()
        .assert_code(2)
        .assert_err("worker-0: command `gunicorn` is not there");
}

fn slow() -> Machine {
    machine_with(&[("python3.11", "version=3.11.7\npip=slow\n")])
}

#[track_caller]
fn interrupted(signal: Signal, name: &str) {
    let machine = slow();
    let mut started = machine.run(&job());
    started.wait_for("downloading mxnet");
    started.wait_for_processes("sleep 608 ", 1);
    started.signal(signal);
    started
        .end()
        .assert_code(130)
        .assert_err(&format!("interrupted by {name}; nothing was started\n"));
    fs::write(machine.path("python0/fake"), "version=3.11.7\n").unwrap();
    machine
        .run(&job())
        .end()
        .assert_code(0)
        .assert_err("preparing Python: installing mxnet");
}

#[test]
fn ctrl_c_ends_pip_and_the_next_run_begins_anew() {
    interrupted(Signal::INT, "Ctrl-C");
}

#[test]
fn sigterm_ends_pip_and_the_next_run_begins_anew() {
    interrupted(Signal::TERM, "SIGTERM");
}

#[test]
fn pip_dies_with_mxjob() {
    let mut started = slow().run(&job());
    started.wait_for("downloading mxnet");
    started.wait_for_processes("sleep 608 ", 1);
    started.signal(Signal::KILL);
    started.end_and_gone();
}

#[test]
fn two_runs_at_once_make_it_once() {
    let machine = slow();
    let mut first = machine.run(&job());
    first.wait_for("downloading mxnet");
    first.wait_for_processes("sleep 608 ", 1);
    let mut second = Started::new(machine.mxjob(&["run", "job.yaml"]), &machine);
    second.wait_for("preparing Python: waiting for another mxjob that makes the same environment");
    for sleep in first.processes_like("sleep 608") {
        sleep.signal(Signal::TERM);
    }
    // Each sees the other's processes until both have ended.
    first.end_and_gone().assert_code(0);
    second.end_and_gone().assert_code(0);
    assert_eq!(calls(&machine).matches("pip install").count(), 1);
}

#[test]
fn python_without_requirements_has_no_effect_and_that_is_said() {
    let started = Machine::new().run_with(
        &Job::named("plain").role("Worker", 1, "true"),
        &["--python", "python3"],
    );
    started
        .end()
        .assert_code(0)
        .assert_err("mxjob: --python python3: not used, as no annotation");
}
