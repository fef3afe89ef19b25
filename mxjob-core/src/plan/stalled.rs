//! What keeps a job from going on, from outside.

use super::draft::Draft;
use super::world::World;
use super::{PodView, conditions};
use crate::api::v1::ConditionType;
use crate::job::{Replica, Spec};

/// Reasons of waiting pods that a person has to look into.
const CAUSES: [&str; 5] = [
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
    for replica in spec.replicas() {
        if let Some(pod) = world
            .foreign
            .get(&replica)
            .filter(|pod| pod.owner.is_none())
        {
            let message = format!(
                "pod {} belongs to somebody else: delete or rename it",
                pod.name
            );
            return Some(("NameTaken".to_owned(), message));
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

fn waits(draft: &mut Draft<'_>, replica: Replica, pod: &PodView) -> Option<(String, String)> {
    let reason = pod
        .waiting
        .as_deref()
        .filter(|reason| CAUSES.contains(reason) && !pod.deleting)?;
    let since = pod.created_at?;
    let role = draft.job.table.role(replica.role).name;
    let message = format!(
        "{role}/{} waits: {reason}, pod {} created at {since}",
        replica.index, pod.name
    );
    draft
        .passed(since, PATIENCE)
        .then(|| (reason.to_owned(), message))
}
