//! The end of a job: its last conditions, what goes, and when the job itself goes.

use std::collections::BTreeMap;

use super::draft::Draft;
use super::memory::Memory;
use super::world::World;
use super::{Action, Event, PodPhase, PodView, conditions, counts, failure, look};
use crate::api::v1::{CleanPodPolicy, ConditionType};
use crate::job::{Replica, RoleSpec, Spec};
use crate::problem::Problem;
use crate::role::Children;

/// How a job ends.
pub(super) enum End {
    Succeeded,
    Failed { message: String },
}

/// Ends the job: the final status in one write, then the cleanup.
pub(super) fn finish(
    draft: &mut Draft<'_>,
    world: &World<'_>,
    spec: &Spec,
    memory: &Memory,
    current: &BTreeMap<Replica, &PodView>,
    end: End,
) {
    conclude(draft, end);
    let counted = counted(draft, spec, current);
    counts::write(draft, spec, memory, &counted);
    look_after(draft, world, spec);
}

/// Looks after a job that has ended: what has become of the replicas that went on, and what is left to
/// delete.
pub(super) fn look_after(draft: &mut Draft<'_>, world: &World<'_>, spec: &Spec) {
    // Edited since, the job that is counted is another one.
    let is_same = |role: &RoleSpec| {
        let size = draft.status.size_of(role.role.name);
        size == i32::try_from(role.replicas).ok()
    };
    if spec.roles.iter().all(is_same) {
        let memory = Memory::load(spec, &draft.status);
        let (current, _) = look::sort(world, spec, &memory);
        let counted = counted(draft, spec, &current);
        counts::settle(draft, spec, memory, &counted);
    }
    clean_up(draft, world, spec.clean, draft.job.meta.ttl);
}

/// The pods that are counted at the end: those that stay. How a pod ended is told, also when it goes.
fn counted<'a>(
    draft: &Draft<'_>,
    spec: &Spec,
    current: &BTreeMap<Replica, &'a PodView>,
) -> BTreeMap<Replica, &'a PodView> {
    let failed = draft.status.is(ConditionType::Failed);
    let has_ended = |replica: &Replica, pod: &PodView| {
        let role = spec.role(replica.role);
        let has_failed = || role.is_some_and(|role| failure::has_failed(spec, role, pod));
        pod.phase.is_final() || tries_again(pod) || has_failed()
    };
    current
        .iter()
        .filter(|(replica, pod)| has_ended(replica, pod) || !goes(spec.clean, failed, pod))
        .map(|(replica, pod)| (*replica, *pod))
        .collect()
}

/// What the first operators said before the mistake of a job that never was valid.
const INVALID: &str = "invalid job spec: ";

/// Ends a job that is not valid: no pods, no retries.
pub(super) fn refuse(draft: &mut Draft<'_>, world: &World<'_>, problems: &[Problem]) {
    let reason = draft.job.table.crd.invalid_reason();
    let known = &draft.job.status;
    let failed = known.condition(ConditionType::Failed);
    let was_refused = failed.is_some_and(|one| one.reason.as_ref() == Some(&reason));
    // Of a job that never was valid nothing else tells what is wrong with it.
    let was_valid = known.is_finished() && !was_refused;
    let ttl = draft.job.meta.ttl.filter(|_| was_valid);
    if !draft.job.status.is_finished() {
        let first = if draft.job.meta.listed { INVALID } else { "" };
        let message = format!("{first}{}", Problem::in_one_line(problems));
        draft.status.observed_generation =
            Some(draft.job.meta.generation).filter(|generation| *generation > 0);
        draft.event(Event::warning(reason.clone(), message.clone()));
        end(draft, ConditionType::Failed, reason, message);
        counts::columns(draft);
    }
    clean_up(draft, world, CleanPodPolicy::Running, ttl);
}

/// Deletes what a finished job leaves, and the job itself when its time has come.
pub(super) fn clean_up(
    draft: &mut Draft<'_>,
    world: &World<'_>,
    policy: CleanPodPolicy,
    ttl: Option<i64>,
) {
    let failed = draft.status.is(ConditionType::Failed);
    let stays = policy != CleanPodPolicy::All && draft.job.table.children() == Children::Jobs;
    for pod in world.own_pods().filter(|pod| goes(policy, failed, pod)) {
        // Deleted, it would take the pod with it that failed, and its log.
        if stays && !pod.left_over {
            draft.stop_pod(pod);
        } else {
            draft.delete_pod(pod);
        }
    }
    if stays {
        // A job that has succeeded lets none go on that fail for want of the others.
        let in_vain = world.own_pods().filter(|pod| !failed && tries_again(pod));
        in_vain.for_each(|pod| draft.stop_pod(pod));
    }
    // Where replicas are Jobs everything stays, as their first operator had it.
    if !stays || policy != CleanPodPolicy::None {
        draft.delete_addresses(world);
    }
    if let (Some(ttl), Some(end)) = (ttl, draft.status.completion_time.clone())
        && draft.passed(end.0, ttl)
    {
        draft.actions.push(Action::DeleteJob);
    }
}

/// True when a pod goes at the job's end. The rest of a failed job would hang on its devices.
fn goes(policy: CleanPodPolicy, failed: bool, pod: &PodView) -> bool {
    match policy {
        CleanPodPolicy::All => true,
        CleanPodPolicy::Running => !pod.phase.is_final(),
        CleanPodPolicy::None => failed && !pod.phase.is_final(),
    }
}

/// It has failed, and its Job makes another pod, unless the job has ended.
pub(super) fn tries_again(pod: &PodView) -> bool {
    pod.phase == PodPhase::Pending && pod.exit().is_some()
}

fn conclude(draft: &mut Draft<'_>, how: End) {
    match how {
        End::Succeeded => {
            let reason = draft.reason("Succeeded");
            let kind = draft.job.table.crd.kind;
            let message = format!("{kind} {} is successfully completed.", draft.job.meta.name);
            draft.event(Event::normal(reason.clone(), message.clone()));
            end(draft, ConditionType::Succeeded, reason, message);
        }
        End::Failed { message } => {
            let reason = draft.reason("Failed");
            draft.event(Event::warning(reason.clone(), message.clone()));
            end(draft, ConditionType::Failed, reason, message);
        }
    }
}

fn end(draft: &mut Draft<'_>, kind: ConditionType, reason: String, message: String) {
    draft.status.completion_time = Some(draft.stamp());
    draft.status.conditions.retain(|one| {
        one.kind != ConditionType::Stalled.name() && one.kind != ConditionType::Restarting.name()
    });
    conditions::set_false(draft, ConditionType::Running, None);
    conditions::set_true(draft, kind, reason, message);
}
