//! Processes of this machine, by what is known of them.

use std::fs;
use std::path::PathBuf;

use rustix::process::{Pid, Signal, kill_process};

/// A process, as a failing test shows it.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Process {
    pub id: i32,
    pub command: String,
    pub environment: String,
}

impl std::fmt::Debug for Process {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{} {}", self.id, self.command)
    }
}

impl Process {
    /// Sends it a signal.
    pub(crate) fn signal(&self, signal: Signal) {
        let _ = kill_process(Pid::from_raw(self.id).unwrap(), signal);
    }
}

/// The living processes that carry the mark, and the guards of those among `runs`.
pub(crate) fn of(mark: &str, runs: &[u32]) -> Vec<Process> {
    let marked = format!("{}={mark}", super::machine::MARK);
    let guards: Vec<_> = runs.iter().map(|id| format!("__guard {id}-")).collect();
    let all = fs::read_dir("/proc").unwrap().flatten();
    let ids = all.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    ids.filter(|id| *id != i32::try_from(std::process::id()).unwrap())
        .filter_map(|id| {
            let command = text(id, "cmdline")?.replace('\0', " ");
            let environment = text(id, "environ")?;
            let ours = environment.split('\0').any(|entry| entry == marked);
            let guard = guards.iter().any(|guard| command.contains(guard.as_str()));
            ((ours || guard) && is_alive(id)).then_some(Process {
                id,
                command,
                environment,
            })
        })
        .collect()
}

/// True for one that has not ended: one that nobody has reaped yet has.
pub(crate) fn is_alive(id: i32) -> bool {
    let stat = text(id, "stat").unwrap_or_default();
    stat.rsplit_once(')')
        .is_some_and(|(_, rest)| !rest.trim_start().starts_with(['Z', 'X']))
}

fn text(id: i32, file: &str) -> Option<String> {
    let path = PathBuf::from(format!("/proc/{id}/{file}"));
    fs::read(path)
        .ok()
        .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}
