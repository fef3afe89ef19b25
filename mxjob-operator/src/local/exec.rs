//! The shim in front of every child: `mxjob __exec PARENT PROGRAM ARG…` ties its life to its
//! parent's and then becomes PROGRAM.
//!
//! The kernel keeps a parent-death signal across `execve`, and asking for it needs no `unsafe` in a
//! process of one's own; between `fork` and `exec` it would.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

use rustix::process::Pid;

/// First argument of the shim.
pub(super) const ENTRY: &str = "__exec";

/// A command that runs `program` through the shim, in a process group of its own.
pub(super) fn command(program: &std::path::Path) -> io::Result<Command> {
    let mut command = Command::new(own_program()?);
    command
        .arg0("mxjob")
        .arg(ENTRY)
        .arg(rustix::process::getpid().as_raw_nonzero().to_string())
        .arg(program)
        .process_group(0);
    Ok(command)
}

/// The running program, also when its file was replaced since it started.
pub(super) fn own_program() -> io::Result<std::path::PathBuf> {
    if cfg!(target_os = "linux") {
        Ok("/proc/self/exe".into())
    } else {
        std::env::current_exe()
    }
}

/// Becomes the program; returns only when that cannot be done.
pub(super) fn enter(mut args: impl Iterator<Item = OsString>) -> ExitCode {
    let parent = args
        .next()
        .and_then(|text| text.to_str()?.parse().ok())
        .and_then(Pid::from_raw);
    let Some((parent, program)) = parent.zip(args.next()) else {
        eprintln!("mxjob: {ENTRY} is not for people: it starts the replicas of `mxjob run`");
        return ExitCode::from(2);
    };
    die_with_parent();
    // The parent may have died before it could be tied to.
    if rustix::process::getppid() != Some(parent) {
        return ExitCode::from(137);
    }
    let error = Command::new(&program).args(args).exec();
    eprintln!("mxjob: cannot run {}: {error}", program.display());
    // As a shell says it: 127 not found, 126 found and no program.
    ExitCode::from(if error.kind() == io::ErrorKind::NotFound {
        127
    } else {
        126
    })
}

#[cfg(any(target_os = "linux", target_os = "android"))]
fn die_with_parent() {
    use rustix::process::{Signal, set_parent_process_death_signal};
    if let Err(error) = set_parent_process_death_signal(Some(Signal::KILL)) {
        eprintln!("mxjob: cannot tie a child to its parent's life: {error}");
    }
}

/// Other systems have no such signal; the guard does it alone.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn die_with_parent() {}
