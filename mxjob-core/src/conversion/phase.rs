//! The status of v1alpha1, derived from that of v1 whenever it is read.

use serde_json::{Map, Value, json};

use super::sections::{LISTED, Sections, fields, policy};
use super::v1alpha1::capitals;
use crate::api::v1::{CleanPodPolicy, Condition, ConditionType, JobStatus, ReplicaStatus};
use crate::api::v1alpha1::{self as old, CONDITIONS, PAUSED};
use crate::job::read_status;
use crate::role::{ListForm, RoleId, RoleTable};

const UNKNOWN: &str = "Unknown";
const STARTING: &str = "Starting";
const RUNNING: &str = "Running";
const FAILED: &str = "Failed";
const SUCCEEDED: &str = "Succeeded";
const CREATING: &str = "Creating";
const CLEAN_UP: &str = "CleanUp";
const DONE: &str = "Done";

/// From v1. `content` has the entries of the list.
pub(super) fn down(
    table: &RoleTable,
    form: &ListForm,
    v1: &Sections,
    content: &Sections,
    status: &Value,
) -> Value {
    let status = read_status(status);
    let (phase, state) = phase(table, v1, &status);
    let failed = status.condition(ConditionType::Failed);
    let failed = failed.filter(|failed| failed.is_true());
    let reason = failed.and_then(|failed| failed.message.as_ref().or(failed.reason.as_ref()));
    let listed = fields(content, LISTED);
    let entry = |role: RoleId| {
        let entry = listed?.get(table.role(role).name)?;
        let wanted = entry.get("replicas").and_then(Value::as_i64);
        let wanted = i32::try_from(wanted.unwrap_or(0)).unwrap_or(0);
        Some(replicas(table, role, wanted, &status))
    };
    let shown = old::JobStatus {
        phase: phase.to_owned(),
        reason: reason.cloned().unwrap_or_default(),
        state: state.to_owned(),
        replica_statuses: table.listed_roles().filter_map(entry).collect(),
        conditions: if form.shows(CONDITIONS) {
            status.milestones
        } else {
            Vec::new()
        },
        control_paused: status.paused.filter(|_| form.shows(PAUSED)),
        rest: None,
    };
    let mut shown = json!(shown);
    let entries = shown.get_mut("replicaStatuses");
    let entries = entries.and_then(Value::as_array_mut).into_iter().flatten();
    for entry in entries.filter_map(Value::as_object_mut) {
        let role = entry.remove(old::STATUS_ROLE);
        entry.extend(role.map(|role| (form.legacy.status_role.to_owned(), role)));
    }
    shown
}

fn phase(table: &RoleTable, v1: &Sections, status: &JobStatus) -> (&'static str, &'static str) {
    let is = |kind| status.is(kind);
    if is(ConditionType::Failed) {
        let invalid = table.crd.invalid_reason();
        let reason = status.condition(ConditionType::Failed);
        match reason.and_then(|failed| failed.reason.as_ref()) {
            Some(reason) if *reason == invalid => (FAILED, FAILED),
            _ if active(status) => (CLEAN_UP, FAILED),
            _ => (DONE, FAILED),
        }
    } else if is(ConditionType::Succeeded) {
        let keeps = policy(v1, "cleanPodPolicy") == Some(&json!(CleanPodPolicy::None));
        let phase = if active(status) && !keeps {
            CLEAN_UP
        } else {
            DONE
        };
        (phase, SUCCEEDED)
    } else if is(ConditionType::Running) || is(ConditionType::Restarting) {
        (RUNNING, RUNNING)
    } else if is(ConditionType::Created) {
        (CREATING, RUNNING)
    } else {
        ("", "")
    }
}

/// There are pods that have not ended.
fn active(status: &JobStatus) -> bool {
    status.replica_statuses.values().any(|role| role.active > 0)
}

/// How the replicas of a role go. The counts add up to those wanted: of a role that has become
/// smaller the better news is left out.
fn replicas(
    table: &RoleTable,
    role: RoleId,
    wanted: i32,
    status: &JobStatus,
) -> old::ReplicaStatus {
    let mut known = status.replica_statuses.iter();
    let counts = known.find(|(key, _)| table.find(key) == Some(role));
    let none = ReplicaStatus::default();
    let counts = counts.map_or(&none, |(_, counts)| counts);
    let starts = status.is(ConditionType::Created)
        && !status.is_finished()
        && !status.is(ConditionType::Suspended);
    let rest = if starts { STARTING } else { UNKNOWN };
    let mut left = wanted.max(0);
    let parts = [
        (FAILED, counts.failed),
        (RUNNING, counts.active),
        (SUCCEEDED, counts.succeeded),
        (rest, i32::MAX),
    ];
    let parts = parts.map(|(state, count)| {
        let count = count.clamp(0, left);
        left -= count;
        (state, count)
    });
    let parts: Vec<_> = parts.into_iter().filter(|(_, count)| *count > 0).collect();
    let worst = [FAILED, RUNNING, STARTING, UNKNOWN, SUCCEEDED]
        .into_iter()
        .find(|state| parts.iter().any(|(one, _)| one == state));
    old::ReplicaStatus {
        mx_replica_type: capitals(table, role),
        state: worst.unwrap_or(UNKNOWN).to_owned(),
        replicas_states: parts
            .into_iter()
            .map(|(state, count)| (state.to_owned(), count))
            .collect(),
    }
}

/// What the first operator of batch Jobs said, started again, of a job that it had begun before: that
/// goes on.
const MET_AGAIN: &str = "unexpected MxJob phase";

/// To v1, what the old words say of it: that a job was accepted, and that it has ended. An end is
/// final, whatever the phase; of phase Failed alone it is that of a job that never was valid.
pub(super) fn up(table: &RoleTable, form: &ListForm, status: &Value) -> Value {
    let Some(fields) = status.as_object() else {
        return status.clone();
    };
    let text = |key: &str| fields.get(key).and_then(Value::as_str).unwrap_or_default();
    let own = of_its_own(form, fields);
    let end = match (text("phase"), text("state")) {
        (_, SUCCEEDED) => Some(ConditionType::Succeeded),
        (FAILED, "") if text("reason").starts_with(MET_AGAIN) => None,
        (_, FAILED) | (FAILED, _) => Some(ConditionType::Failed),
        (RUNNING, _) => Some(ConditionType::Running),
        ("", _) => return json!(own),
        _ => None,
    };
    let condition = |kind: ConditionType| Condition {
        kind: kind.name().to_owned(),
        status: "True".to_owned(),
        reason: None,
        message: Some(text("reason").to_owned()).filter(|text| !text.is_empty()),
        last_update_time: None,
        last_transition_time: None,
    };
    let created = Condition {
        message: None,
        ..condition(ConditionType::Created)
    };
    let mut ended = end.map(condition);
    if let Some(failed) = &mut ended
        && text("phase") == FAILED
        && failed.kind == ConditionType::Failed.name()
    {
        failed.reason = Some(table.crd.invalid_reason());
    }
    let phase = end.unwrap_or(ConditionType::Created);
    json!(JobStatus {
        conditions: [created].into_iter().chain(ended).collect(),
        phase: Some(phase.name().to_owned()),
        ..own
    })
}

/// What v1 has no words for, as far as it can be read.
fn of_its_own(form: &ListForm, fields: &Map<String, Value>) -> JobStatus {
    let said = |key: &str| fields.get(key).filter(|_| form.shows(key));
    let known = [("milestones", said(CONDITIONS)), ("paused", said(PAUSED))];
    let known = known
        .into_iter()
        .filter_map(|(key, value)| Some((key.to_owned(), value?.clone())));
    read_status(&Value::Object(known.collect()))
}
