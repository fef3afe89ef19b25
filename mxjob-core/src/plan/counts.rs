//! Counts by role, and the fields that kubectl's columns show.

use std::collections::BTreeMap;

use super::draft::Draft;
use super::memory::Memory;
use super::{PodPhase, PodView, conditions, failure, finish, indexes, rescale};
use crate::api::v1::ConditionType;
use crate::job::{Replica, Spec};

/// Writes counts and columns. `current` are the pods of this life that are to stay.
pub(super) fn write(
    draft: &mut Draft<'_>,
    spec: &Spec,
    memory: &Memory,
    current: &BTreeMap<Replica, &PodView>,
) {
    memory.store(spec, &mut draft.status);
    rescale::note(spec, &mut draft.status);
    let mut all_ready = 0;
    for role in &spec.roles {
        let status = draft
            .status
            .replica_statuses
            .entry(role.role.name.to_owned())
            .or_default();
        let completed = memory
            .role(role.id)
            .map_or(0, |memory| memory.completed.len());
        let count = |test: &dyn Fn(&PodView) -> bool| {
            let pods = current.iter().filter(|(replica, pod)| {
                let goes_on = !pod.deleting && !memory.has_completed(**replica);
                replica.role == role.id && goes_on && test(pod)
            });
            i32::try_from(pods.count()).unwrap_or(i32::MAX)
        };
        let has_failed = |pod: &PodView| failure::has_failed(spec, role, pod);
        let runs = |pod: &PodView| pod.phase == PodPhase::Running && !has_failed(pod);
        status.active = count(&runs);
        status.ready = count(&|pod| runs(pod) && pod.ready);
        status.failed = count(&has_failed);
        status.succeeded = i32::try_from(completed).unwrap_or(i32::MAX);
        all_ready += status.ready;
    }
    draft.status.ready = Some(format!("{all_ready}/{}", spec.wanted()));
    draft.status.chief = chief(draft, spec, memory, current);
    columns(draft);
}

/// Writes what has become of the replicas since the job has ended. One whose pod has gone is as it was, or,
/// if it went on until then, nobody knows. Who comes and goes would have it written without end: less
/// are active and ready, never more.
pub(super) fn settle(
    draft: &mut Draft<'_>,
    spec: &Spec,
    mut memory: Memory,
    current: &BTreeMap<Replica, &PodView>,
) {
    let mut all_ready = 0;
    for role in &spec.roles {
        let (mut active, mut ready, mut failed) = (0, 0, 0);
        let pods = current
            .iter()
            .filter(|(replica, pod)| replica.role == role.id && !pod.deleting);
        for (replica, pod) in pods {
            let is_done = failure::is_done_in_place(spec, role, pod);
            if memory.has_completed(*replica) || is_done || pod.phase == PodPhase::Succeeded {
                memory.role_mut(role.id).completed.insert(replica.index);
            } else if failure::has_failed(spec, role, pod) || finish::tries_again(pod) {
                failed += 1;
            } else if pod.phase == PodPhase::Running {
                active += 1;
                ready += i32::from(pod.ready);
            }
        }
        let completed = memory.role(role.id).map(|memory| &memory.completed);
        let completed = completed.cloned().unwrap_or_default();
        let known = draft.status.replica_statuses.get_mut(role.role.name);
        if let Some(status) = known {
            status.succeeded = i32::try_from(completed.len()).unwrap_or(i32::MAX);
            status.completed_indexes = indexes::render(&completed);
            let size = status.replicas.unwrap_or(0);
            let active = active.min(status.active);
            let left = size.saturating_sub(status.succeeded.saturating_add(active));
            status.failed = status.failed.max(failed).min(left.max(0));
            status.active = active;
            status.ready = ready.min(status.ready);
            all_ready += status.ready;
        }
    }
    draft.status.ready = Some(format!("{all_ready}/{}", spec.wanted()));
}

/// Writes the columns that follow from the conditions.
pub(super) fn columns(draft: &mut Draft<'_>) {
    let newest = conditions::newest(&draft.status);
    let phase = newest.map(|one| one.kind.clone());
    let stalled = draft
        .status
        .condition(ConditionType::Stalled)
        .filter(|one| one.is_true());
    let reason = stalled.or(newest).and_then(|one| one.reason.clone());
    draft.status.phase = phase;
    draft.status.reason = reason;
}

/// `Scheduler/0 Running`: the first chief replica and its pod's phase.
fn chief(
    draft: &Draft<'_>,
    spec: &Spec,
    memory: &Memory,
    current: &BTreeMap<Replica, &PodView>,
) -> Option<String> {
    let chief = spec.chiefs().next()?;
    let phase = match current.get(&chief) {
        Some(pod) => pod.phase,
        None if memory.has_completed(chief) => PodPhase::Succeeded,
        None => PodPhase::Pending,
    };
    let role = draft.job.table.role(chief.role).name;
    Some(format!("{role}/{} {}", chief.index, phase.name()))
}
