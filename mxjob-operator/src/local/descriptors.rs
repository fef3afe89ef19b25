//! Open files: each replica takes two pipes, and many systems allow a process only 1024.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Open files that a run needs besides those of its replicas, with some to spare.
const BASE: u64 = 100;

/// Allows this process as many open files as that many replicas take, as far as the system lets it.
/// Replicas inherit what is allowed, so it is left alone when it is enough.
pub(super) fn allow(replicas: u32) {
    let wanted = BASE + 4 * u64::from(replicas);
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    if current.is_some_and(|current| current < wanted) {
        let raised = maximum.map_or(wanted, |maximum| maximum.min(wanted));
        // Refused: starting the replicas will say what is wrong.
        let _ = setrlimit(
            Resource::Nofile,
            Rlimit {
                current: Some(raised),
                maximum,
            },
        );
    }
}
