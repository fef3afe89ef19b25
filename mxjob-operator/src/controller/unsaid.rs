//! What is still to be said about jobs: counts that wait to be written, sums of events. All of it
//! can be lost: the next operator reads the counts from the pods again.

use std::collections::HashMap;

use mxjob_core::plan::{Debounce, Wave};

use super::key::JobKey;

/// What is still to be said about one job.
#[derive(Debug, Default)]
pub(super) struct Unsaid {
    /// In its status.
    pub(super) debounce: Debounce,
    /// In its events.
    pub(super) wave: Wave,
}

/// What is still to be said, by job.
#[derive(Debug, Default)]
pub(super) struct AllUnsaid(HashMap<JobKey, Unsaid>);

impl AllUnsaid {
    /// Takes what there is about a job; only one worker at a time has it.
    pub(super) fn take(&mut self, key: &JobKey) -> Unsaid {
        self.0.remove(key).unwrap_or_default()
    }

    /// Keeps it until the next look at the job.
    pub(super) fn keep(&mut self, key: &JobKey, unsaid: Unsaid) {
        if !unsaid.debounce.is_empty() || !unsaid.wave.is_empty() {
            self.0.insert(key.clone(), unsaid);
        }
    }
}
