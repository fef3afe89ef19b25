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
    let done = |role: &RoleSpec| role.replicas().all(|replica| memory.has_completed(replica));
    let workers_done = spec.workers().all(done);
    if spec.success == SuccessPolicy::AllWorkers && spec.workers().next().is_some() {
        return workers_done;
    }
    let Some(chief) = spec.chief().filter(|chief| done(chief)) else {
        return false;
    };
    workers_done || time_is_up(draft, chief, current)
}

/// The chief is done and workers are not: has their time passed?
fn time_is_up(
    draft: &mut Draft<'_>,
    chief: &RoleSpec,
    current: &BTreeMap<Replica, &PodView>,
) -> bool {
    let ends: Vec<Option<Timestamp>> = chief
        .replicas()
        .map(|replica| current.get(&replica).and_then(|pod| pod.finished_at))
        .collect();
    // A chief pod that is gone says nothing any more: nothing is left to wait by.
    let Some(last) = ends
        .into_iter()
        .collect::<Option<Vec<_>>>()
        .and_then(|ends| ends.into_iter().max())
    else {
        return true;
    };
    draft.passed(last, WORKERS_MAY_GO_ON)
}
