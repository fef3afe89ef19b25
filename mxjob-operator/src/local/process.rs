//! A child: a program in a process group of its own that cannot outlive mxjob.

use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Child, ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use tokio::net::unix::pipe::Receiver;
use tokio::signal::unix::{SignalKind, signal};

use super::exec;
use super::guard::Guard;
use super::orphans;
use super::strays::{self, Mark};

/// What to start. The program is a path: nobody looks it up again.
#[derive(Clone, Debug)]
pub(super) struct Launch {
    /// The program's file.
    pub(super) program: PathBuf,
    /// Its arguments.
    pub(super) args: Vec<OsString>,
    /// Its whole environment.
    pub(super) env: Vec<(OsString, OsString)>,
    /// Its working directory.
    pub(super) dir: PathBuf,
}

/// A running child. Dropping it kills its group.
#[derive(Debug)]
pub(super) struct Process {
    child: Child,
    group: Pid,
    mark: Mark,
    reaped: bool,
}

/// What a child prints.
#[derive(Debug)]
pub(super) struct Streams {
    /// Standard output.
    pub(super) out: Receiver,
    /// Standard error.
    pub(super) err: Receiver,
}

impl Process {
    /// Starts a child that `guard` watches.
    pub(super) fn start(launch: &Launch, guard: &Guard) -> io::Result<(Self, Streams)> {
        let mark = guard.next_mark();
        let mut command = exec::command(&launch.program)?;
        command
            .args(&launch.args)
            .env_clear()
            .envs(launch.env.iter().map(|(name, value)| (name, value)))
            .env(strays::VARIABLE, mark.as_str())
            .current_dir(&launch.dir)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn()?;
        let group = i32::try_from(child.id())
            .ok()
            .and_then(Pid::from_raw)
            .ok_or(io::ErrorKind::InvalidData)?;
        guard.add(group);
        let streams = (
            child.stdout.take().map(OwnedFd::from),
            child.stderr.take().map(OwnedFd::from),
        );
        let process = Self {
            child,
            group,
            mark,
            reaped: false,
        };
        let (Some(out), Some(err)) = streams else {
            return Err(io::ErrorKind::BrokenPipe.into());
        };
        Ok((
            process,
            Streams {
                out: Receiver::from_owned_fd(out)?,
                err: Receiver::from_owned_fd(err)?,
            },
        ))
    }

    /// The id of the process, and of its group.
    pub(super) fn id(&self) -> Pid {
        self.group
    }

    /// Sends a signal to the whole group.
    pub(super) fn signal(&self, signal: Signal) {
        if !self.reaped {
            let _ = kill_process_group(self.group, signal);
        }
    }

    /// Ends the rest of the group, as a container ends with its first process, then reaps it all.
    /// To be called when [`ended`] says so; it blocks otherwise.
    ///
    /// The order matters: until the child is reaped its number cannot be another group's.
    pub(super) fn finish(&mut self, guard: &Guard) -> io::Result<ExitStatus> {
        let status = self.end(|| guard.orphans());
        guard.remove(self.group);
        status
    }

    fn end(&mut self, orphans: impl Fn() -> Vec<Pid>) -> io::Result<ExitStatus> {
        self.signal(Signal::KILL);
        let status = self.child.wait();
        self.reaped = true;
        orphans::reap_group(self.group);
        strays::kill(&self.mark, orphans);
        status
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if !self.reaped {
            let _ = self.end(orphans::children);
        }
    }
}

/// The exit code as a container runtime gives it: 128 + n after signal n.
pub(super) fn exit_code(status: ExitStatus) -> i32 {
    status
        .code()
        .unwrap_or_else(|| 128 + status.signal().unwrap_or(0))
}

/// Returns when the child of that id has ended. It is not reaped.
pub(super) async fn ended(id: Pid) {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
    // Listen first, then look: an end in between is not missed.
    let mut children = signal(SignalKind::child()).ok();
    while let Ok(None) = waitid(WaitId::Pid(id), options) {
        match &mut children {
            Some(children) => drop(children.recv().await),
            // All that is left where the system has no room for another listener.
            None => tokio::time::sleep(Duration::from_millis(20)).await,
        }
    }
}
