//! Processes that left their process group: found by a mark in their environment, as build servers do.

use std::fmt;
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::process::Pid;

/// Variable that every process of a run carries.
pub(super) const VARIABLE: &str = "MXJOB_RUN_ID";

/// The mark of a run (`4711-18c9a2`), or of one start of a replica in it (`4711-18c9a2.3`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mark(String);

impl Mark {
    /// A mark that no other run on this machine has.
    pub(super) fn of_this_run() -> Self {
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        Self(format!("{}-{:x}", std::process::id(), now.as_nanos()))
    }

    /// The mark of the `number`-th start in this run.
    pub(super) fn start(&self, number: u64) -> Self {
        Self(format!("{self}.{number}"))
    }

    /// Reads what [`Mark::as_str`] gave.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let valid = !text.is_empty()
            && text
                .bytes()
                .all(|byte| byte.is_ascii_hexdigit() || b"-.".contains(&byte));
        valid.then(|| Self(text.to_owned()))
    }

    /// The value of [`VARIABLE`].
    pub(super) fn as_str(&self) -> &str {
        &self.0
    }

    /// True for an environment block of a process of this run or start.
    #[cfg_attr(
        not(target_os = "linux"),
        allow(dead_code, reason = "only Linux shows environments")
    )]
    fn is_on(&self, environment: &[u8]) -> bool {
        let value = |entry: &[u8]| {
            Some(
                entry
                    .strip_prefix(VARIABLE.as_bytes())?
                    .strip_prefix(b"=")?
                    .to_owned(),
            )
        };
        let ours = |value: Vec<u8>| match value.strip_prefix(self.0.as_bytes()) {
            Some(rest) => rest.is_empty() || rest.starts_with(b"."),
            None => false,
        };
        environment
            .split(|byte| *byte == 0)
            .filter_map(value)
            .any(ours)
    }
}

impl fmt::Display for Mark {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

/// Kills those `among` the processes of these ids that carry the mark, until none is left.
pub(super) fn kill(mark: &Mark, among: impl Fn() -> Vec<Pid>) {
    // A process may fork while the list is read; each round finds what the last one missed.
    for _ in 0..10 {
        let killed = among().into_iter().filter(|id| kill_marked(mark, *id));
        if killed.count() == 0 {
            return;
        }
    }
}

/// Every process of this machine.
pub(super) fn everywhere() -> Vec<Pid> {
    let all = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    all.filter_map(|entry| Pid::from_raw(entry.file_name().to_str()?.parse().ok()?))
        .collect()
}

/// The handle is opened before the mark is read, so a process that takes over the number is safe.
#[cfg(target_os = "linux")]
fn kill_marked(mark: &Mark, id: Pid) -> bool {
    use rustix::process::{PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
    let environment =
        || std::fs::read(format!("/proc/{}/environ", id.as_raw_nonzero())).unwrap_or_default();
    if id == rustix::process::getpid() || !mark.is_on(&environment()) {
        return false;
    }
    let Ok(handle) = pidfd_open(id, PidfdFlags::empty()) else {
        return false;
    };
    let killed = mark.is_on(&environment()) && pidfd_send_signal(handle, Signal::KILL).is_ok();
    if killed {
        super::orphans::reap(id);
    }
    killed
}

/// Other systems do not show environments.
#[cfg(not(target_os = "linux"))]
fn kill_marked(_mark: &Mark, _id: Pid) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_owns_its_starts_and_no_others() {
        let run = Mark::parse("12-ab").unwrap();
        for ours in ["MXJOB_RUN_ID=12-ab", "A=b\0MXJOB_RUN_ID=12-ab.3\0C=d"] {
            assert!(run.is_on(ours.as_bytes()), "{ours:?}");
        }
        for other in [
            "",
            "MXJOB_RUN_ID=12-abc",
            "XMXJOB_RUN_ID=12-ab",
            "A=MXJOB_RUN_ID=12-ab",
        ] {
            assert!(!run.is_on(other.as_bytes()), "{other:?}");
        }
        assert!(!run.start(1).is_on(b"MXJOB_RUN_ID=12-ab.10"));
        assert!(run.start(1).is_on(b"MXJOB_RUN_ID=12-ab.1"));
    }
}
