//! Restarting the whole job, and replacing single replicas.

use super::draft::Draft;
use super::failure::Failure;
use super::memory::Memory;
use super::world::World;
use super::{Event, conditions};
use crate::api::v1::ConditionType;
use crate::job::{RoleSpec, Spec};

/// A replica that ran this long has its waits start over, in seconds.
const LONG_RUN: i64 = 600;

/// Waits before the next restart after `earlier` ones: 0, 10, 20, 40 … 300 seconds.
pub(super) fn wait(earlier: i32) -> i64 {
    match u32::try_from(earlier).unwrap_or(0) {
        0 => 0,
        n => 10_i64.checked_shl(n.min(6) - 1).unwrap_or(300).min(300),
    }
}

/// True when a run of so many seconds lets the waits start over.
pub(super) fn was_long(seconds: i64) -> bool {
    seconds >= LONG_RUN
}

/// True when the wait after the failure is over, `earlier` ones before it.
pub(super) fn is_due(draft: &mut Draft<'_>, failure: &Failure<'_>, earlier: i32) -> bool {
    failure
        .at(draft)
        .is_none_or(|at| draft.passed(at, wait(earlier)))
}

/// Begins the next life of the job: everything of this one is deleted.
pub(super) fn restart_job(
    draft: &mut Draft<'_>,
    world: &World<'_>,
    memory: &mut Memory,
    failed: &[Failure<'_>],
    counts: bool,
) {
    restarting(draft, failed);
    world.own_pods().for_each(|pod| draft.delete_pod(pod));
    memory.restart();
    if counts {
        let counted = draft.status.counted_restarts.unwrap_or(0);
        draft.status.counted_restarts = Some(counted.saturating_add(1));
    }
}

/// Replaces one replica: its pod is deleted, and created again once it is gone.
pub(super) fn replace(
    draft: &mut Draft<'_>,
    memory: &mut Memory,
    failure: &Failure<'_>,
    counts: bool,
) {
    memory.replace(failure.replica, counts);
    if let Some(pod) = failure.pod {
        draft.delete_pod(pod);
    }
}

/// Says that the job is restarting because replicas failed.
pub(super) fn restarting(draft: &mut Draft<'_>, failed: &[Failure<'_>]) {
    let Some((role, count)) = worst(failed) else {
        return;
    };
    let crd = draft.job.table.crd;
    let name = &draft.job.meta.name;
    let message = format!(
        "{} {name} is restarting because {count} {} replica(s) failed.",
        crd.singular, role.role.name
    );
    let reason = draft.reason("Restarting");
    draft.event(Event::normal(reason.clone(), message.clone()));
    conditions::set_true(draft, ConditionType::Restarting, reason, message);
}

/// The first role, in the order of the table, that has failures, and how many.
pub(super) fn worst<'a>(failed: &[Failure<'a>]) -> Option<(&'a RoleSpec, usize)> {
    let role = failed
        .iter()
        .map(|failure| failure.role)
        .min_by_key(|role| role.id)?;
    Some((
        role,
        failed
            .iter()
            .filter(|failure| failure.role.id == role.id)
            .count(),
    ))
}

/// True when in-place restarts alone have reached the limit.
pub(super) fn in_place_limit_reached(spec: &Spec, in_place: i32) -> bool {
    spec.backoff_limit
        .is_some_and(|limit| in_place >= limit.max(1))
}
