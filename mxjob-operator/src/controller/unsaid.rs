//! What is still to be said about jobs: counts that wait to be written, sums of events. All of it
//! can be lost: the next operator reads the counts from the pods again.

use std::collections::HashMap;

use mxjob_core::api::v1::JobStatus;
use mxjob_core::plan::{Debounce, Event, Plan, Wave};

use super::cluster::Refusal;
use super::key::JobKey;

/// What is still to be said about one job.
#[derive(Debug, Default)]
pub(super) struct Unsaid {
    /// In its status.
    pub(super) debounce: Debounce,
    /// In its events.
    pub(super) wave: Wave,
    /// The status code of what went wrong last about the job, reads included, until something goes well: it is
    /// said once, and no object comes before the job's status meanwhile.
    refused: Option<u16>,
    /// Status writes of which nobody knows whether the server did them.
    doubtful: Vec<Doubtful>,
}

/// A status that may have been written, with the events that are to be told if it was.
#[derive(Debug)]
struct Doubtful {
    /// The version of the job that it was to follow.
    after: String,
    status: JobStatus,
    events: Vec<Event>,
}

/// How many writes in a row are kept in mind; of more the first and the last.
const DOUBTS: usize = 8;

impl Unsaid {
    /// Whether the log has to say this; until [`Unsaid::is_well`] the same once is enough.
    pub(super) fn is_news(&mut self, refusal: &Refusal) -> bool {
        self.refused.replace(refusal.code()) != Some(refusal.code())
    }

    /// Whether the last thing that was asked of the server about the job went wrong.
    pub(super) fn is_refused(&self) -> bool {
        self.refused.is_some()
    }

    /// The server does what it is asked for.
    pub(super) fn is_well(&mut self) {
        self.refused = None;
    }

    /// The plan's status may have been written over `version`, or not.
    pub(super) fn doubt(&mut self, version: &str, plan: &Plan) {
        if let Some(status) = plan.status.clone() {
            self.doubtful.truncate(DOUBTS);
            self.doubtful.push(Doubtful {
                after: version.to_owned(),
                status,
                events: plan.events.clone(),
            });
        }
    }

    /// The job is at that version, with that status: what is to be told because it was written.
    pub(super) fn settle(&mut self, version: &str, status: &JobStatus) -> Vec<Event> {
        if self.doubtful.iter().any(|doubt| doubt.after == version) {
            return Vec::new();
        }
        let mut doubtful = std::mem::take(&mut self.doubtful).into_iter();
        let written = doubtful.find(|doubt| doubt.status == *status);
        written.map_or_else(Vec::new, |doubt| doubt.events)
    }

    fn is_empty(&self) -> bool {
        self.debounce.is_empty()
            && self.wave.is_empty()
            && self.refused.is_none()
            && self.doubtful.is_empty()
    }
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
        if !unsaid.is_empty() {
            self.0.insert(key.clone(), unsaid);
        }
    }
}
