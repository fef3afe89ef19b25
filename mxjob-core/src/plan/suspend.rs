//! A job that is to have no pods for now, and its way back.

use super::draft::Draft;
use super::memory::Memory;
use super::world::World;
use super::{Event, accept, conditions, counts, look};
use crate::api::v1::ConditionType;
use crate::job::Spec;

/// Deletes pods and services, whatever cleanPodPolicy says.
pub(super) fn suspend(draft: &mut Draft<'_>, world: &World<'_>, spec: &Spec) {
    accept::accept(draft, spec);
    let why = (draft.reason("Suspended"), message(draft, "suspended"));
    let mut memory = Memory::load(spec, &draft.status);
    if !draft.status.is(ConditionType::Suspended) {
        draft.event(Event::normal(why.0.clone(), why.1.clone()));
        look::restarts(world, spec, &mut memory);
    }
    memory.forget_life();
    let over = [ConditionType::Stalled, ConditionType::Restarting].map(ConditionType::name);
    let conditions = &mut draft.status.conditions;
    conditions.retain(|one| !over.contains(&one.kind.as_str()));
    // A job that was created suspended has not started.
    if draft.status.start_time.is_some() {
        conditions::add_false(draft, ConditionType::Running, &why);
    }
    conditions::set_true(
        draft,
        ConditionType::Suspended,
        why.0.clone(),
        why.1.clone(),
    );
    conditions::set_false(draft, ConditionType::Running, Some(why));
    world.own_pods().for_each(|pod| draft.delete_pod(pod));
    draft.delete_addresses(world);
    counts::write(draft, spec, &memory, &std::collections::BTreeMap::new());
}

/// Ends a suspension once the old pods are gone; false: not yet.
pub(super) fn resume(draft: &mut Draft<'_>, world: &World<'_>) -> bool {
    if !draft.status.is(ConditionType::Suspended) {
        return true;
    }
    if world.own_pods().next().is_some() {
        world.own_pods().for_each(|pod| draft.delete_pod(pod));
        return false;
    }
    let why = (draft.reason("Resumed"), message(draft, "resumed"));
    draft.event(Event::normal(why.0.clone(), why.1.clone()));
    conditions::set_false(draft, ConditionType::Suspended, Some(why));
    draft.status.start_time = Some(draft.stamp());
    true
}

fn message(draft: &Draft<'_>, word: &str) -> String {
    format!(
        "{} {} is {word}.",
        draft.job.table.crd.kind, draft.job.meta.name
    )
}
