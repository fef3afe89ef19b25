//! How much memory a replica takes: its process and all that come from it.

use std::fs;
use std::path::Path;

use rustix::process::Pid;

/// Peak resident memory of the process and of its living descendants, in bytes; `None` when the
/// system does not say. Pages that a fork shares with its parent are counted twice.
pub(super) fn peak(id: Pid) -> Option<u64> {
    let mut total = None;
    let mut waiting = vec![id.as_raw_nonzero().get()];
    while let Some(id) = waiting.pop() {
        let process = Path::new("/proc").join(id.to_string());
        if let Some(bytes) = fs::read_to_string(process.join("status"))
            .ok()
            .as_deref()
            .and_then(high_water_mark)
        {
            total = Some(total.unwrap_or(0) + bytes);
            waiting.extend(children(&process));
        }
    }
    total
}

/// `VmHWM` of a `/proc/…/status`, in bytes. A process that has ended has none.
fn high_water_mark(status: &str) -> Option<u64> {
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024)
}

/// The children of a process. Each thread has its own list.
pub(super) fn children(process: &Path) -> Vec<i32> {
    let threads = fs::read_dir(process.join("task"))
        .into_iter()
        .flatten()
        .flatten();
    let lists =
        threads.filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    lists
        .flat_map(|list| {
            list.split_whitespace()
                .filter_map(|id| id.parse().ok())
                .collect::<Vec<_>>()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_high_water_mark() {
        assert_eq!(
            high_water_mark("Name:\tpython\nVmHWM:\t  112344 kB\nVmRSS:\t 1 kB\n"),
            Some(112_344 * 1024)
        );
        assert_eq!(high_water_mark("Name:\tpython\nState:\tZ (zombie)\n"), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn this_process_takes_some() {
        assert!(peak(rustix::process::getpid()).unwrap() > 100_000);
    }
}
