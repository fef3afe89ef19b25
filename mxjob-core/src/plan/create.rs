//! Creating what is missing.

use super::Action;
use super::draft::Draft;
use super::memory::Memory;
use super::world::World;
use crate::api::v1::Services;
use crate::job::{Job, Spec};
use crate::wiring::{is_long, labels, names, served};

/// Creates the services, the ConfigMap and the pods that are missing. Pods of an earlier life must all be gone before
/// the first of the next; and while somebody else has the name of a service, replicas could not
/// find each other.
pub(super) fn create(draft: &mut Draft<'_>, world: &World<'_>, spec: &Spec, memory: &Memory) {
    let is_waiting = world.own_pods().any(|pod| pod.attempt.job < memory.life);
    if is_waiting || spec.closed.is_some() {
        return;
    }
    let mut taken = !layout(draft, world, spec);
    for (name, action) in services(draft.job, spec) {
        if world.foreign_services.contains_key(name.as_str()) {
            taken = true;
        } else if !world.services.contains_key(name.as_str()) {
            draft.actions.push(action);
        }
    }
    let missing = spec.replicas().filter(|replica| {
        !world.pods.contains_key(replica)
            && !world.foreign.contains_key(replica)
            && !memory.has_completed(*replica)
            && !memory.has_vanished(*replica)
    });
    if !taken {
        draft
            .actions
            .extend(missing.map(|replica| Action::CreatePod(replica, memory.attempt(replica))));
    }
}

/// Keeps the ConfigMap with the layout as the spec says; false: pods have to wait for it.
fn layout(draft: &mut Draft<'_>, world: &World<'_>, spec: &Spec) -> bool {
    let (wanted, size) = (is_long(draft.job, spec), labels::size(draft.job, spec));
    let name = names::config_map(draft.job);
    let (mut free, mut there) = (true, false);
    for config_map in &world.config_maps {
        let is_it = wanted && config_map.name == name && config_map.size == size;
        free &= config_map.name != name;
        there |= is_it && !config_map.deleting;
        if !is_it {
            draft.delete_config_map(config_map);
        }
    }
    if !wanted || there {
        return true;
    }
    if free && world.foreign_config_map.is_none() {
        draft.actions.push(Action::CreateConfigMap);
        return true;
    }
    false
}

/// The services of a job, by name, and how each is created.
pub(super) fn services(job: &Job, spec: &Spec) -> Vec<(String, Action)> {
    let name = &job.meta.name;
    match spec.services {
        Services::PerJob => vec![(name.clone(), Action::CreateJobService)],
        Services::PerReplica => served(spec)
            .map(|replica| {
                let name = names::replica(job, replica);
                (name, Action::CreateService(replica))
            })
            .collect(),
    }
}
