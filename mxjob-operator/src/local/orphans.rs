//! Processes whose parent has ended: mxjob takes them in, so that it can tell when they are gone, and
//! reaps them. Process 1 of a container often does not.

use std::time::Duration;

use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};

/// How long a killed process may take to be gone.
const PATIENCE: Duration = Duration::from_millis(200);

/// Between two looks.
const PAUSE: Duration = Duration::from_millis(1);

/// From now on a descendant whose parent ends becomes a child of this process.
pub(super) fn adopt() {
    // Where there is no such thing orphans go to process 1 and everything else is as it was.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
}

/// Reaps what is left of a killed group. When this returns they hold no port any more.
pub(super) fn reap_group(group: Pid) {
    wait(&|| WaitId::Pgid(Some(group)), true);
}

/// Reaps a killed process, if it is a child.
pub(super) fn reap(id: Pid) {
    wait(&|| WaitId::Pid(id), false);
}

/// Reaps those of these children that have ended.
pub(super) fn reap_ended(children: Vec<Pid>) {
    for child in children {
        let _ = waitid(
            WaitId::Pid(child),
            WaitIdOptions::EXITED | WaitIdOptions::NOHANG,
        );
    }
}

/// The children of this process.
pub(super) fn children() -> Vec<Pid> {
    let children = super::memory::children(std::path::Path::new("/proc/self"));
    children.into_iter().filter_map(Pid::from_raw).collect()
}

fn wait(whom: &dyn Fn() -> WaitId<'static>, all: bool) {
    let mut left = PATIENCE.as_millis() / PAUSE.as_millis();
    while left > 0 {
        match waitid(whom(), WaitIdOptions::EXITED | WaitIdOptions::NOHANG) {
            Ok(Some(_)) if all => {}
            Ok(None) => {
                std::thread::sleep(PAUSE);
                left -= 1;
            }
            // Nobody is left, or nobody of ours.
            Ok(Some(_)) | Err(_) => return,
        }
    }
}
