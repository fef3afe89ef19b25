//! How conditions change: one entry a type, newest truth last.

use super::draft::Draft;
use crate::api::v1::{Condition, ConditionType, JobStatus};

/// Makes a condition true. Running and Restarting push each other out.
pub(super) fn set_true(
    draft: &mut Draft<'_>,
    kind: ConditionType,
    reason: String,
    message: String,
) {
    if let Some(opposite) = opposite(kind) {
        draft
            .status
            .conditions
            .retain(|one| one.kind != opposite.name());
    }
    let now = draft.stamp();
    let conditions = &mut draft.status.conditions;
    let Some(at) = conditions.iter().position(|one| one.kind == kind.name()) else {
        conditions.push(condition(kind, "True", reason, message, &now));
        return;
    };
    let mut known = conditions.remove(at);
    if !known.is_true() {
        conditions.push(condition(kind, "True", reason, message, &now));
        return;
    }
    if known.reason.as_deref() != Some(&reason) {
        known.reason = Some(reason);
        known.message = Some(message);
        known.last_update_time = Some(now);
    }
    conditions.insert(at, known);
}

/// Makes a condition that is there false; `None` keeps its reason and message.
pub(super) fn set_false(draft: &mut Draft<'_>, kind: ConditionType, why: Option<(String, String)>) {
    let now = draft.stamp();
    let known = draft
        .status
        .conditions
        .iter_mut()
        .find(|one| one.kind == kind.name() && one.is_true());
    if let Some(known) = known {
        "False".clone_into(&mut known.status);
        known.last_update_time = Some(now.clone());
        known.last_transition_time = Some(now);
        if let Some((reason, message)) = why {
            known.reason = Some(reason);
            known.message = Some(message);
        }
    }
}

/// Adds a condition that is false, where there is none of that type.
pub(super) fn add_false(draft: &mut Draft<'_>, kind: ConditionType, why: &(String, String)) {
    if draft.status.condition(kind).is_none() {
        let (now, (reason, message)) = (draft.stamp(), why.clone());
        let added = condition(kind, "False", reason, message, &now);
        draft.status.conditions.push(added);
    }
}

/// The newest true condition, Stalled aside: what `phase` shows.
pub(super) fn newest(status: &JobStatus) -> Option<&Condition> {
    let stalled = ConditionType::Stalled.name();
    status
        .conditions
        .iter()
        .rev()
        .find(|one| one.is_true() && one.kind != stalled)
}

fn opposite(kind: ConditionType) -> Option<ConditionType> {
    match kind {
        ConditionType::Running => Some(ConditionType::Restarting),
        ConditionType::Restarting => Some(ConditionType::Running),
        _ => None,
    }
}

fn condition(
    kind: ConditionType,
    status: &str,
    reason: String,
    message: String,
    now: &k8s_openapi::apimachinery::pkg::apis::meta::v1::Time,
) -> Condition {
    Condition {
        kind: kind.name().to_owned(),
        status: status.to_owned(),
        reason: Some(reason),
        message: Some(message),
        last_update_time: Some(now.clone()),
        last_transition_time: Some(now.clone()),
    }
}
