//! What has really happened to a job, whoever saw it: what its status is held against.

use std::collections::BTreeSet;

use mxjob_core::api::v1::{ConditionType, JobStatus};
use mxjob_core::job::Replica;

/// What has happened to one job since it was created, or since its status was wiped.
#[derive(Clone, Debug, Default)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "independent facts, not states"
)]
pub(crate) struct History {
    /// Uid of the job.
    pub(crate) uid: String,
    /// Containers that ended, whatever the code, under a policy that restarts in place or not.
    pub(crate) exits: i32,
    /// Those that ended with an error.
    pub(crate) errors: i32,
    /// Pods that somebody else deleted or drained.
    pub(crate) lost: i32,
    /// A pod has lost the operator's label: no watch shows it, who needs its name meets it.
    pub(crate) hidden: bool,
    /// There are two leaders.
    pub(crate) rivals: bool,
    /// Edits of the number of replicas.
    pub(crate) rescales: i32,
    /// Changes of the runtime id.
    pub(crate) renames: i32,
    /// The answer to the creation of a pod was lost, or is too old to be believed: nobody knows of it until
    /// the watch tells.
    pub(crate) unheard: bool,
    /// Replicas that ended well at some time.
    pub(crate) succeeded: BTreeSet<Replica>,
    /// The user wiped the status: what was counted before is gone.
    pub(crate) wiped: bool,
    /// Limits that were in force at some time.
    pub(crate) backoff_limit: bool,
    pub(crate) deadline: bool,
    /// The status seen last.
    pub(crate) last: JobStatus,
}

impl History {
    /// Things that may have to be replaced or restarted.
    pub(crate) fn mishaps(&self) -> i32 {
        self.errors + self.lost
    }

    /// Pods may come to light that the job does not know to be over, or go that it does not know to go.
    fn has_blind_spot(&self, status: &JobStatus) -> bool {
        self.wiped
            // Of two leaders one has not heard of the new names.
            || ((self.hidden || self.rivals) && self.renames > 0)
            || ((self.hidden || self.rivals)
                && status.condition(ConditionType::Suspended).is_some())
    }
}

/// Everything that may only grow.
fn counters(status: &JobStatus) -> [i32; 4] {
    let mut roles = [0, 0];
    for role in status.replica_statuses.values() {
        let present: i32 = role.container_restarts.values().sum();
        roles[0] += role.restarts;
        roles[1] += role.in_place_restarts + present;
    }
    [
        status.restarts.unwrap_or_default(),
        status.counted_restarts.unwrap_or_default(),
        roles[0],
        roles[1],
    ]
}

/// How a status may follow another one.
pub(crate) fn follows(history: &History, new: &JobStatus) -> Result<(), String> {
    let old = &history.last;
    let (before, after) = (counters(old), counters(new));
    // Who remembers the status that was wiped puts it back, over what the other has counted meanwhile.
    let put_back = history.wiped && history.rivals;
    if !put_back && before.iter().zip(&after).any(|(old, new)| new < old) {
        return Err(format!("a counter fell: {before:?} to {after:?}"));
    }
    if old.is_finished()
        && (old.conditions != new.conditions || old.completion_time != new.completion_time)
    {
        return Err(format!("a final condition changed: {old:?} to {new:?}"));
    }
    if new.is_finished() != new.completion_time.is_some() {
        return Err(format!("completionTime does not go with the end: {new:?}"));
    }
    counted_once(history, new, after)
}

/// Nothing is counted that has not happened, and nothing twice.
fn counted_once(history: &History, new: &JobStatus, counters: [i32; 4]) -> Result<(), String> {
    let [restarts, counted, replaced, in_place] = counters;
    let mishaps = history.mishaps();
    // Of a wiped status the pods that are still there are judged once more.
    let all_well = history.has_blind_spot(new)
        || (restarts <= mishaps + history.rescales + history.renames
            && counted <= mishaps
            && replaced <= mishaps
            && in_place <= history.exits);
    if all_well {
        return Ok(());
    }
    Err(format!("counted {counters:?} of {history:?}"))
}

/// Why a job may have ended as it has.
pub(crate) fn is_justified(history: &History, status: &JobStatus) -> Result<(), String> {
    let Some(failed) = status
        .condition(ConditionType::Failed)
        .filter(|one| one.is_true())
    else {
        return Ok(());
    };
    let message = failed.message.as_deref().unwrap_or_default();
    let justified = if history.has_blind_spot(status) {
        // Pods that were deleted at an end that nobody remembers look as if somebody had lost them.
        true
    } else if message.contains("replica(s) failed") {
        history.mishaps() > 0
    } else if message.contains("backoff limit") {
        history.backoff_limit && history.exits + history.lost > 0
    } else if message.contains("maxRestarts") {
        history.mishaps() > 0
    } else if message.contains("deadline") {
        history.deadline
    } else {
        false
    };
    if justified {
        return Ok(());
    }
    Err(format!("failed for no reason: {message}, {history:?}"))
}
