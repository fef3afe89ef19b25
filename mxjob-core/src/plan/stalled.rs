//! What keeps a job from going on, from outside.

use super::draft::Draft;
use super::world::World;
use super::{PodView, conditions, create};
use crate::api::v1::ConditionType;
use crate::job::{Replica, Spec};
use crate::wiring::{is_long, labels};

/// Reasons of waiting pods that a person has to look into.
pub(super) const CAUSES: [&str; 5] = [
    "Unschedulable",
    "ImagePullBackOff",
    "ErrImagePull",
    "CreateContainerConfigError",
    "CrashLoopBackOff",
];
/// How long a pod may wait for such a reason before it is said, in seconds.
const PATIENCE: i64 = 30;

/// Keeps condition Stalled right.
pub(super) fn judge(draft: &mut Draft<'_>, world: &World<'_>, spec: &Spec) {
    match cause(draft, world, spec) {
        Some((reason, message)) => {
            conditions::set_true(draft, ConditionType::Stalled, reason, message);
        }
        None => draft
            .status
            .conditions
            .retain(|one| one.kind != ConditionType::Stalled.name()),
    }
}

/// The first cause, in the order of roles and indexes.
fn cause(draft: &mut Draft<'_>, world: &World<'_>, spec: &Spec) -> Option<(String, String)> {
    if !world.foreign_services.is_empty() {
        for (name, _) in create::services(draft.job, spec) {
            let service = world.foreign_services.get(name.as_str());
            if service.is_some_and(|service| is_taken(draft, service.owner_name.as_ref())) {
                return Some(name_taken("service", &name));
            }
        }
    }
    let config_map = world
        .foreign_config_map
        .filter(|_| is_long(draft.job, spec));
    if let Some(theirs) = config_map.filter(|one| is_taken(draft, one.owner_name.as_ref())) {
        return Some(name_taken("config map", &theirs.name));
    }
    for replica in spec.replicas() {
        let foreign = world.foreign.get(&replica);
        if let Some(pod) = foreign.filter(|pod| is_taken(draft, pod.owner_name.as_ref())) {
            return Some(name_taken("pod", &pod.name));
        }
        if let Some(found) = world
            .pods
            .get(&replica)
            .and_then(|pod| waits(draft, replica, pod))
        {
            return Some(found);
        }
    }
    None
}

/// What a job of the same name owned the garbage collector is about to delete; anything else stays.
fn is_taken(draft: &mut Draft<'_>, owner: Option<&String>) -> bool {
    let start = draft.status.start_time.clone();
    owner != Some(&labels::name_as_owner(draft.job))
        || start.is_none_or(|start| draft.passed(start.0, PATIENCE))
}

fn name_taken(kind: &str, name: &str) -> (String, String) {
    let message = format!("{kind} {name} belongs to somebody else: delete or rename it");
    ("NameTaken".to_owned(), message)
}

fn waits(draft: &mut Draft<'_>, replica: Replica, pod: &PodView) -> Option<(String, String)> {
    let reason = pod.waiting.as_deref().filter(|_| !pod.deleting)?;
    let (told, since) = match pod.ran_until {
        Some(end) => ("ran until", end),
        None => ("created at", pod.created_at?),
    };
    let role = draft.job.table.role(replica.role).name;
    let message = format!(
        "{role}/{} waits: {reason}, pod {} {told} {since}",
        replica.index, pod.name
    );
    draft
        .passed(since, PATIENCE)
        .then(|| (reason.to_owned(), message))
}
