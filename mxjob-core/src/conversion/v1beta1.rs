//! `v1beta1`: as v1 with every policy directly under `spec`, and with its defaults shown.

use serde_json::{Map, Value, json};

use super::port::Place;
use super::sections::{self, POLICIES, ROLES, SPEC, STATUS, Sections, TWICE, fields, flat, policy};
use crate::api::Version;
use crate::api::v1::CleanPodPolicy;
use crate::role::{Legacy, RoleTable};

/// What both versions call alike.
const ALIKE: [&str; 3] = ["jobMode", ROLES, "successPolicy"];

/// Fields of a status, as here and as at v1.
const STATUS_FIELDS: [(&str, &str); 4] = [
    ("conditions", "conditions"),
    ("mxReplicaStatuses", "replicaStatuses"),
    ("startTime", "startTime"),
    ("completionTime", "completionTime"),
];

/// Shows the defaults. The job's port is one: a manifest without it that is applied once more takes it
/// away, and gets it again here; the rule about edits of templates lets that pass. A job that was made
/// at v1alpha1 has its port, or one of that number serves under another name.
pub(super) fn fill(table: &RoleTable, origin: Version, content: &mut Sections) {
    if let Some(spec) = sections::fields_mut(content, SPEC) {
        default(spec, "cleanPodPolicy", || json!(CleanPodPolicy::All));
    }
    let shows_port = origin != Version::V1Alpha1;
    for (name, entry) in sections::roles_mut(content).into_iter().flatten() {
        let (Some(role), Some(entry)) = (table.find(name), entry.as_object_mut()) else {
            continue;
        };
        let declared = table.role(role);
        default(entry, "replicas", || declared.default.into());
        let policy = declared.restart.first().copied().unwrap_or_default();
        default(entry, "restartPolicy", || json!(policy));
        if let Some(template) = entry.get_mut("template").filter(|_| shows_port) {
            Place::of(table, role).show(template);
        }
    }
}

/// Sets what is not there.
pub(super) fn default(fields: &mut Map<String, Value>, key: &str, value: impl FnOnce() -> Value) {
    if fields.get(key).is_none_or(Value::is_null) {
        fields.insert(key.to_owned(), value());
    }
}

/// To v1.
pub(super) fn up(legacy: &Legacy, content: &Sections) -> Sections {
    let mut v1 = others(content);
    if let Some(spec) = fields(content, SPEC) {
        let mut new = pick(spec, ALIKE.map(|key| (key, key)));
        new.insert("runPolicy".to_owned(), run_policy(legacy));
        let set = |name: &&str| Some(((*name).to_owned(), flat(spec.get(*name)?.clone())));
        v1.insert(POLICIES.to_owned(), TWICE.iter().filter_map(set).collect());
        v1.insert(SPEC.to_owned(), Value::Object(new));
    }
    if let Some(status) = fields(content, STATUS) {
        v1.insert(
            STATUS.to_owned(),
            Value::Object(pick(status, STATUS_FIELDS)),
        );
    }
    v1
}

/// How the older versions retry, said in v1.
pub(super) fn run_policy(legacy: &Legacy) -> Value {
    json!({"retryableExitCodes": legacy.retryable_exit_codes})
}

/// From v1 all but the status, with the defaults.
pub(super) fn down(table: &RoleTable, origin: Version, v1: &Sections) -> Sections {
    let mut content = others(v1);
    content.shift_remove(STATUS);
    if let Some(spec) = fields(v1, SPEC) {
        let mut new = pick(spec, ALIKE.map(|key| (key, key)));
        for name in TWICE {
            if let Some(value) = policy(v1, name) {
                new.insert(name.to_owned(), value.clone());
            }
        }
        default(&mut new, "cleanPodPolicy", || {
            json!(CleanPodPolicy::default())
        });
        content.insert(SPEC.to_owned(), Value::Object(new));
    }
    fill(table, origin, &mut content);
    content
}

/// The status of v1 as it is here.
pub(super) fn status(v1: &Value) -> Value {
    let fields = STATUS_FIELDS.map(|(here, there)| (there, here));
    v1.as_object()
        .map_or(Value::Null, |status| Value::Object(pick(status, fields)))
}

/// The sections that are the same in both versions.
fn others(content: &Sections) -> Sections {
    let same = |key: &str, value: &Value| match key {
        SPEC | STATUS => !value.is_object(),
        _ => key != POLICIES,
    };
    let sections = content.iter().filter(|(key, value)| same(key, value));
    sections
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect()
}

/// The fields of those names, under the names beside them.
fn pick<const N: usize>(
    fields: &Map<String, Value>,
    names: [(&str, &str); N],
) -> Map<String, Value> {
    let one = |(name, new): (&str, &str)| Some((new.to_owned(), fields.get(name)?.clone()));
    names.into_iter().filter_map(one).collect()
}
