//! What keeps a job from going on, from outside.

use super::draft::Draft;
use super::world::World;
use super::{Action, PodView, Wave, conditions, create};
use crate::api::v1::ConditionType;
use crate::job::{Attempt, Replica, Spec};
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

/// What keeps a job from going on.
struct Cause {
    reason: String,
    message: String,
    /// What cannot be created, when nobody else tells that.
    untold: Option<Action>,
}

/// Keeps condition Stalled right.
pub(super) fn judge(draft: &mut Draft<'_>, world: &World<'_>, spec: &Spec) {
    let Some(cause) = cause(draft, world, spec) else {
        draft
            .status
            .conditions
            .retain(|one| one.kind != ConditionType::Stalled.name());
        return;
    };
    let known = draft.status.condition(ConditionType::Stalled);
    let is_news = known.is_none_or(|known| known.reason.as_ref() != Some(&cause.reason));
    if let Some(action) = cause.untold.filter(|_| is_news) {
        let mut wave = Wave::default();
        let said = wave.add(draft.job, &action, Err(&cause.message));
        said.into_iter()
            .chain(wave.end())
            .for_each(|event| draft.event(event));
    }
    conditions::set_true(draft, ConditionType::Stalled, cause.reason, cause.message);
}

/// The first cause, in the order of roles and indexes.
fn cause(draft: &mut Draft<'_>, world: &World<'_>, spec: &Spec) -> Option<Cause> {
    if !world.foreign_services.is_empty() {
        for (name, create) in create::services(draft.job, spec) {
            let service = world.foreign_services.get(name.as_str());
            if let Some(theirs) = service.filter(|one| is_taken(draft, one.owner_name.as_ref())) {
                return Some(name_taken("service", &name, theirs.claimed, create));
            }
        }
    }
    let config_map = world
        .foreign_config_map
        .filter(|_| is_long(draft.job, spec));
    if let Some(theirs) = config_map.filter(|one| is_taken(draft, one.owner_name.as_ref())) {
        let create = Action::CreateConfigMap;
        return Some(name_taken(
            "config map",
            &theirs.name,
            theirs.claimed,
            create,
        ));
    }
    for replica in spec.replicas() {
        let foreign = world.foreign.get(&replica);
        if let Some(pod) = foreign.filter(|pod| is_taken(draft, pod.owner_name.as_ref())) {
            let create = Action::CreatePod(replica, Attempt::default());
            return Some(name_taken(
                draft.job.table.children().word(),
                &pod.name,
                pod.claimed,
                create,
            ));
        }
        if let Some(found) = world
            .pods
            .get(&replica)
            .and_then(|pod| waits(draft, replica, pod))
        {
            return Some(found);
        }
    }
    let refused = |reason: &str, message: String| Cause {
        reason: reason.to_owned(),
        message,
        untold: None,
    };
    let size = spec.kept.as_ref();
    let size = size.map(|why| refused("SizeRefused", format!("the job keeps its size: {why}")));
    let name = spec.closed.as_ref();
    size.or_else(|| {
        name.map(|why| refused("NameTooLong", format!("the job gets no other pods: {why}")))
    })
}

/// What a job of the same name owned the garbage collector is about to delete; anything else stays.
fn is_taken(draft: &mut Draft<'_>, owner: Option<&String>) -> bool {
    let start = draft.status.start_time.clone();
    owner != Some(&labels::name_as_owner(draft.job))
        || start.is_none_or(|start| draft.passed(start.0, PATIENCE))
}

fn name_taken(kind: &str, name: &str, claimed: bool, create: Action) -> Cause {
    Cause {
        reason: "NameTaken".to_owned(),
        message: format!("{kind} {name} belongs to somebody else: delete or rename it"),
        untold: claimed.then_some(create),
    }
}

fn waits(draft: &mut Draft<'_>, replica: Replica, pod: &PodView) -> Option<Cause> {
    let reason = pod.waiting.as_deref().filter(|_| !pod.deleting)?;
    let (told, since) = match pod.ran_until {
        Some(end) => ("ran until", end),
        None => ("created at", pod.created_at?),
    };
    let role = draft.job.table.role(replica.role).name;
    let message = format!(
        "{role}/{} waits: {reason}, {} {} {told} {since}",
        replica.index,
        draft.job.table.children().word(),
        pod.name
    );
    draft.passed(since, PATIENCE).then(|| Cause {
        reason: reason.to_owned(),
        message,
        untold: None,
    })
}
