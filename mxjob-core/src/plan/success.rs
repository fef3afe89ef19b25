//! When a job has succeeded. The result never depends on an order of maps or events.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::PodView;
use super::draft::Draft;
use super::memory::Memory;
use crate::api::v1::SuccessPolicy;
use crate::job::{Replica, RoleSpec, Spec};

/// How long workers may go on after the chief has ended, in seconds: time to save a model.
const WORKERS_MAY_GO_ON: i64 = 30;

/// True when the job has succeeded.
pub(super) fn is_reached(
    draft: &mut Draft<'_>,
    spec: &Spec,
    memory: &Memory,
    current: &BTreeMap<Replica, &PodView>,
) -> bool {
    let decided = is_decided(spec, memory);
    // What became of the others does not matter once the chief that decides is done.
    let is_over = |replica: Replica| {
        let over = |pod: &&PodView| decided && pod.phase.is_final();
        memory.has_completed(replica) || current.get(&replica).is_some_and(over)
    };
    let workers_over = spec
        .workers()
        .all(|role: &RoleSpec| role.replicas().all(is_over));
    if by_all_workers(spec) {
        return workers_over;
    }
    let mut chiefs = spec.chiefs().peekable();
    if chiefs.peek().is_none() || !chiefs.all(|chief| memory.has_completed(chief)) {
        return false;
    }
    workers_over || time_is_up(draft, spec, memory, current)
}

/// True when the one replica that decides is done: no other can make the job fail any more.
pub(super) fn is_decided(spec: &Spec, memory: &Memory) -> bool {
    let named = spec.profile.chief.filter(|_| !by_all_workers(spec));
    named.is_some_and(|chief| memory.has_completed(chief))
}

fn by_all_workers(spec: &Spec) -> bool {
    spec.success == SuccessPolicy::AllWorkers && spec.workers().next().is_some()
}

/// The chief is done and workers are not: has their time passed?
fn time_is_up(
    draft: &mut Draft<'_>,
    spec: &Spec,
    memory: &Memory,
    current: &BTreeMap<Replica, &PodView>,
) -> bool {
    let end = |chief: Replica| {
        let of_pod = || current.get(&chief)?.ended_at();
        memory.ended_at(chief).or_else(of_pod)
    };
    let ends: Option<Vec<Timestamp>> = spec.chiefs().map(end).collect();
    // A chief pod that is gone says nothing any more: nothing is left to wait by.
    let Some(last) = ends.and_then(|ends| ends.into_iter().max()) else {
        return true;
    };
    draft.passed(last, WORKERS_MAY_GO_ON)
}
