//! Writing a status less often: a change of counts alone waits a little for the next one, and the
//! first status of a small job for its objects.
//!
//! What may wait is what the pods themselves still tell: how many run, are ready and have ended, and
//! which have started and succeeded. Who restarts forgets what waits and reads it from the pods
//! again. Everything that a decision hangs on and no pod tells, and every condition, is written at
//! once, and what waits with it; until then decisions see what waits as if it were written.

use jiff::{SignedDuration, Timestamp};

use super::{Action, Event, Missing, Observed, Plan, look, plan};
use crate::api::v1::{JobStatus, ReplicaStatus};
use crate::job::Job;

/// Without another change for this long, counts are written.
const QUIET: SignedDuration = SignedDuration::from_secs(1);
/// Counts that change all the time are written this often.
const LONGEST: SignedDuration = SignedDuration::from_secs(5);
/// The first status of a job of no more objects than that comes after them. It costs the API server
/// as much as several pods (CEL looks at the whole job), so it is a large part of what a small job
/// costs, and none of what a large one does, whose user wants to see it meanwhile.
const FEW: usize = 64;
/// An older job has its status first: its objects are refused, or this view of it may be an old one.
const NEW: SignedDuration = SignedDuration::from_secs(5);

/// What waits to be written about one job, between two looks at it.
#[derive(Clone, Debug, Default)]
pub struct Debounce {
    held: Option<Box<Held>>,
    trusting: bool,
}

#[derive(Clone, Debug)]
struct Held {
    /// Another job of the same name may have the same status.
    uid: String,
    /// The stored status that it is a change of.
    base: JobStatus,
    status: JobStatus,
    events: Vec<Event>,
    since: Timestamp,
    changed: Timestamp,
}

impl Debounce {
    /// Says whether the server is known to keep statuses of the job's API as they are written, and has refused
    /// nothing of this job. Where it does not, nothing is made for a job, so its first status tries it before
    /// anything is made.
    pub fn trust(&mut self, trusting: bool) {
        self.trusting = trusting;
    }

    /// True when nothing waits.
    pub fn is_empty(&self) -> bool {
        self.held.is_none()
    }

    /// What of the job is not there as far as is known. It is to be looked for, and what is found is to be
    /// shown to [`Debounce::plan`], which takes the rest for gone.
    pub fn missing(&self, observed: &Observed<'_>) -> Missing {
        let held = self.held.as_ref();
        let Some(held) = held.filter(|held| held.is_of(observed.job)) else {
            return look::missing(observed);
        };
        let job = &held.applied(observed.job);
        look::missing(&Observed { job, ..*observed })
    }

    /// What to do next about a job, as [`plan`] says, but that a status may wait. The same value must
    /// be asked each time; whoever cannot write a status just asks again.
    pub fn plan(&mut self, observed: &Observed<'_>, now: Timestamp) -> Plan {
        let held = self.held.take();
        let held = held.filter(|held| held.is_of(observed.job));
        let Some(held) = held else {
            let plan = plan(observed, now);
            return self.hold(observed.job, None, &observed.job.status, plan, now);
        };
        let job = held.applied(observed.job);
        let plan = plan(
            &Observed {
                job: &job,
                ..*observed
            },
            now,
        );
        self.hold(observed.job, Some(held), &job.status, plan, now)
    }

    /// Keeps the plan's status back when it may wait.
    fn hold(
        &mut self,
        job: &Job,
        held: Option<Box<Held>>,
        known: &JobStatus,
        mut plan: Plan,
        now: Timestamp,
    ) -> Plan {
        let held = match (held, plan.status.take()) {
            (None, None) => return plan,
            (Some(held), None) => held,
            (held, Some(status)) => {
                let urgent = job.wiped || settled(known.clone()) != settled(status.clone());
                let since = held.as_ref().map_or(now, |held| held.since);
                let mut events = held.map_or_else(Vec::new, |held| held.events);
                events.append(&mut plan.events);
                let objects_first = objects_first(job, &plan, now).filter(|_| self.trusting);
                if let Some(due) = objects_first.filter(|_| urgent) {
                    // What it would say is found out anew.
                    plan.wake_at = Some(plan.wake_at.map_or(due, |sooner| sooner.min(due)));
                    return plan;
                }
                if urgent {
                    plan.status = Some(status);
                    plan.events = events;
                    return plan;
                }
                Box::new(Held {
                    uid: job.meta.uid.clone(),
                    base: job.status.clone(),
                    status,
                    events,
                    since,
                    changed: now,
                })
            }
        };
        let due = held.due();
        if due > now && held.changed <= now {
            plan.wake_at = Some(plan.wake_at.map_or(due, |sooner| sooner.min(due)));
            self.held = Some(held);
            return plan;
        }
        plan.status = (held.status != held.base).then_some(held.status);
        plan.events.splice(0..0, held.events);
        plan
    }
}

impl Held {
    /// True when it is a change of the job as it is stored now.
    fn is_of(&self, job: &Job) -> bool {
        self.uid == job.meta.uid && self.base == job.status
    }

    /// The job as if its status had been written.
    fn applied(&self, job: &Job) -> Job {
        Job {
            status: self.status.clone(),
            ..job.clone()
        }
    }

    fn due(&self) -> Timestamp {
        let after = |start: Timestamp, wait| start.checked_add(wait).unwrap_or(start);
        after(self.changed, QUIET).min(after(self.since, LONGEST))
    }
}

/// Until when the first status of a new job waits while its objects are made; `None`: it does not.
fn objects_first(job: &Job, plan: &Plan, now: Timestamp) -> Option<Timestamp> {
    let makes = |action: &Action| action.comes_first() || matches!(action, Action::CreatePod(..));
    let few = (1..=FEW).contains(&plan.actions.len()) && plan.actions.iter().all(makes);
    let first = job.status == JobStatus::default() && !job.wiped;
    let created = job
        .meta
        .created_at
        .filter(|at| few && first && *at <= now)?;
    let due = created.checked_add(NEW).ok()?;
    (now < due).then_some(due)
}

/// A status without what the pods themselves still tell.
fn settled(mut status: JobStatus) -> JobStatus {
    status.ready = None;
    status.chief = None;
    for role in status.replica_statuses.values_mut() {
        *role = ReplicaStatus {
            active: 0,
            succeeded: 0,
            failed: 0,
            ready: 0,
            started_indexes: None,
            completed_indexes: None,
            ..std::mem::take(role)
        };
    }
    status
}
