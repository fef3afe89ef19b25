//! The guard: a tiny process that outlives mxjob for a moment and ends what it left behind.
//!
//! A parent-death signal reaches a replica, not the replica's own children. So mxjob tells the guard
//! of every process group it makes; when mxjob dies, in whatever way, the pipe between them ends and
//! the guard kills the groups that are left, and whatever carries the run's mark.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeSet, HashSet};
use std::ffi::OsString;
use std::io::{self, BufRead, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitCode, Stdio};

use rustix::process::{Pid, Signal, kill_process_group};

use super::exec::own_program;
use super::orphans;
use super::strays::{self, Mark};

/// First argument of the guard.
pub(super) const ENTRY: &str = "__guard";

/// The guard of this run.
#[derive(Debug)]
pub(super) struct Guard {
    process: Child,
    run: Mark,
    starts: Cell<u64>,
    groups: RefCell<HashSet<Pid>>,
}

impl Guard {
    /// Starts the guard of a run of that mark.
    pub(super) fn start(run: Mark) -> io::Result<Self> {
        let process = Command::new(own_program()?)
            .arg0("mxjob")
            .arg(ENTRY)
            .arg(run.as_str())
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()?;
        Ok(Self {
            process,
            run,
            starts: Cell::new(0),
            groups: RefCell::default(),
        })
    }

    /// The mark for the next child of this run.
    pub(super) fn next_mark(&self) -> Mark {
        self.starts.set(self.starts.get() + 1);
        self.run.start(self.starts.get())
    }

    /// Children of this process that nobody here has started: orphans that it took in.
    pub(super) fn orphans(&self) -> Vec<Pid> {
        let own = i32::try_from(self.process.id())
            .ok()
            .and_then(Pid::from_raw);
        let groups = self.groups.borrow();
        let mut children = orphans::children();
        children.retain(|id| Some(*id) != own && !groups.contains(id));
        children
    }

    /// From now on `group` ends with this process.
    pub(super) fn add(&self, group: Pid) {
        self.groups.borrow_mut().insert(group);
        self.tell('+', group);
    }

    /// `group` has ended; its number may come to mean something else.
    pub(super) fn remove(&self, group: Pid) {
        self.groups.borrow_mut().remove(&group);
        self.tell('-', group);
    }

    /// A guard that somebody killed cannot be told; the parent-death signal is still there.
    fn tell(&self, what: char, group: Pid) {
        if let Some(mut pipe) = self.process.stdin.as_ref() {
            let _ = pipe.write_all(format!("{what}{}\n", group.as_raw_nonzero()).as_bytes());
        }
    }
}

impl Drop for Guard {
    /// Lets the guard end what is left and go.
    fn drop(&mut self) {
        drop(self.process.stdin.take());
        let _ = self.process.wait();
    }
}

/// Watches over the process that holds the other end of standard input.
pub(super) fn enter(mut args: impl Iterator<Item = OsString>) -> ExitCode {
    // So that `pkill mxjob` and `killall mxjob` miss it: it is there for just that moment.
    #[cfg(target_os = "linux")]
    let _ = rustix::thread::set_name(c"run-guard");
    let mark = args.next().and_then(|text| Mark::parse(text.to_str()?));
    let mut groups = BTreeSet::new();
    for line in io::stdin().lock().lines().map_while(Result::ok) {
        follow(&mut groups, &line);
    }
    for group in groups.into_iter().filter_map(Pid::from_raw) {
        let _ = kill_process_group(group, Signal::KILL);
    }
    if let Some(mark) = mark {
        strays::kill(&mark, strays::everywhere);
    }
    ExitCode::SUCCESS
}

fn follow(groups: &mut BTreeSet<i32>, line: &str) {
    let group = |digits: &str| digits.parse::<i32>().ok().filter(|group| *group > 1);
    if let Some(group) = line.strip_prefix('+').and_then(group) {
        groups.insert(group);
    } else if let Some(group) = line.strip_prefix('-').and_then(group) {
        groups.remove(&group);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_the_groups_that_are_left() {
        let mut groups = BTreeSet::new();
        for line in ["+10", "+11", "-10", "+x", "", "+1", "+0", "+-5", "-12"] {
            follow(&mut groups, line);
        }
        assert_eq!(groups, BTreeSet::from([11]));
    }
}
