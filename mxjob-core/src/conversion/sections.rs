//! An object's content taken apart so that like stands beside like: roles under one spelling each,
//! a policy in one place, a list of roles by role. What was taken apart is put together again
//! exactly as it was, as long as nobody has changed it.

use serde_json::{Map, Value, json};

use crate::api::Version;
use crate::role::{RoleId, RoleTable};

/// The content of an object: its `spec` and `status` and what was taken out of them.
pub(super) type Sections = Map<String, Value>;

/// What the user asks for.
pub(super) const SPEC: &str = "spec";
/// What the operator has seen.
pub(super) const STATUS: &str = "status";
/// Roles of a map, by their names, that are spelled otherwise.
const KEYS: &str = "keys";
/// Policies, each with its values under `spec` and under `runPolicy`.
pub(super) const POLICIES: &str = "policies";
/// Entries of a list of roles, by role; when that cannot be, a list with the list in it.
pub(super) const LISTED: &str = "listed";
/// Roles of the list in its order, when that is not the order of their declaration.
const ORDER: &str = "order";
/// What conversions to other versions lack.
pub(super) const REST: &str = "rest";

/// Key of the replicas in a spec that has them by role.
pub(super) const ROLES: &str = "mxReplicaSpecs";
/// Key of the replicas in a spec that lists them.
pub(super) const LIST: &str = "replicaSpecs";
/// Key of a list's entry for its role.
pub(super) const TYPE: &str = "mxReplicaType";

/// The policies that v1 has in two places.
pub(super) const TWICE: [&str; 5] = [
    "cleanPodPolicy",
    "ttlSecondsAfterFinished",
    "activeDeadlineSeconds",
    "backoffLimit",
    "schedulingPolicy",
];

/// Takes an object's content out of it.
pub(super) fn take(table: &RoleTable, from: Version, object: &mut Sections) -> Sections {
    let content = [SPEC, STATUS].into_iter();
    let mut content: Sections = content
        .filter_map(|key| Some((key.to_owned(), object.shift_remove(key)?)))
        .collect();
    match from {
        Version::V1Alpha1 => take_list(table, &mut content),
        Version::V1Beta1 => take_keys(table, &mut content),
        Version::V1 => {
            take_keys(table, &mut content);
            take_policies(&mut content);
        }
    }
    content
}

/// Puts content back into an object.
pub(super) fn put(table: &RoleTable, to: Version, mut content: Sections, object: &mut Sections) {
    match to {
        Version::V1Alpha1 => put_list(table, &mut content),
        Version::V1Beta1 => put_keys(table, &mut content),
        Version::V1 => {
            put_keys(table, &mut content);
            put_policies(&mut content);
        }
    }
    for key in [SPEC, STATUS] {
        if let Some(value) = content.shift_remove(key) {
            object.insert(key.to_owned(), value);
        }
    }
}

/// Content as it is when it is taken out of the object that it was put into.
pub(super) fn settled(table: &RoleTable, version: Version, content: Sections) -> Sections {
    let mut object = Sections::new();
    put(table, version, content, &mut object);
    take(table, version, &mut object)
}

/// The fields of a section; `None`: it is not there or no object.
pub(super) fn fields<'a>(content: &'a Sections, section: &str) -> Option<&'a Map<String, Value>> {
    content.get(section)?.as_object()
}

/// As [`fields`], to change them.
pub(super) fn fields_mut<'a>(
    content: &'a mut Sections,
    section: &str,
) -> Option<&'a mut Map<String, Value>> {
    content.get_mut(section)?.as_object_mut()
}

/// The replicas of a content that has them by role.
pub(super) fn roles(content: &Sections) -> Option<&Map<String, Value>> {
    fields(content, SPEC)?.get(ROLES)?.as_object()
}

/// As [`roles`], to change them.
pub(super) fn roles_mut(content: &mut Sections) -> Option<&mut Map<String, Value>> {
    fields_mut(content, SPEC)?.get_mut(ROLES)?.as_object_mut()
}

/// The value of a policy that counts: that of `runPolicy`, else that of `spec`.
pub(super) fn policy<'a>(content: &'a Sections, name: &str) -> Option<&'a Value> {
    let places = fields(content, POLICIES)?.get(name)?.as_array()?;
    let mut values = places.iter().rev().filter_map(|place| place.get(0));
    values.find(|value| !value.is_null())
}

/// A policy with that value under `spec`.
pub(super) fn flat(value: Value) -> Value {
    let places = [vec![value], Vec::new()].map(Value::Array);
    Value::Array(places.into())
}

fn take_keys(table: &RoleTable, content: &mut Sections) {
    let Some(roles) = roles_mut(content) else {
        return;
    };
    let known: Vec<_> = roles.keys().map(|key| table.find(key)).collect();
    let twice = |(at, role): (usize, &Option<RoleId>)| {
        role.is_some() && known.iter().skip(at + 1).any(|other| other == role)
    };
    let name = |role: RoleId| table.role(role).name;
    let plain = known
        .iter()
        .zip(roles.keys())
        .all(|(role, key)| role.is_none_or(|role| name(role) == key));
    if plain || known.iter().enumerate().any(twice) {
        return;
    }
    let mut keys = Map::new();
    let renamed = std::mem::take(roles).into_iter().zip(known);
    *roles = renamed
        .map(|((key, entry), role)| match role.map(name) {
            Some(name) if name != key => {
                keys.insert(name.to_owned(), key.into());
                (name.to_owned(), entry)
            }
            _ => (key, entry),
        })
        .collect();
    content.insert(KEYS.to_owned(), Value::Object(keys));
}

fn put_keys(table: &RoleTable, content: &mut Sections) {
    let keys = content.shift_remove(KEYS);
    let Some(roles) = roles_mut(content) else {
        return;
    };
    for (name, key) in keys
        .as_ref()
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
    {
        let Some(key) = key.as_str() else { continue };
        if table.find(key) == table.find(name)
            && !roles.contains_key(key)
            && let Some(entry) = roles.shift_remove(name)
        {
            roles.insert(key.to_owned(), entry);
        }
    }
}

fn take_policies(content: &mut Sections) {
    let Some(spec) = fields_mut(content, SPEC) else {
        return;
    };
    let mut policies = Map::new();
    for name in TWICE {
        let flat = spec.shift_remove(name);
        let run = spec.get_mut("runPolicy").and_then(Value::as_object_mut);
        let nested = run.and_then(|run| run.shift_remove(name));
        if flat.is_some() || nested.is_some() {
            let places = [flat, nested].map(|value| Value::Array(value.into_iter().collect()));
            policies.insert(name.to_owned(), Value::Array(places.into()));
        }
    }
    if !policies.is_empty() {
        content.insert(POLICIES.to_owned(), Value::Object(policies));
    }
}

fn put_policies(content: &mut Sections) {
    let policies = content.shift_remove(POLICIES);
    let Some(spec) = fields_mut(content, SPEC) else {
        return;
    };
    let policies = policies.as_ref().and_then(Value::as_object);
    for (name, places) in policies.into_iter().flatten() {
        let value = |place: usize| places.get(place).and_then(|place| place.get(0)).cloned();
        if let Some(flat) = value(0) {
            spec.insert(name.clone(), flat);
        }
        if let Some(nested) = value(1)
            && let Some(run) = spec
                .entry("runPolicy")
                .or_insert_with(|| json!({}))
                .as_object_mut()
        {
            run.insert(name.clone(), nested);
        }
    }
}

fn take_list(table: &RoleTable, content: &mut Sections) {
    let Some(list) = fields_mut(content, SPEC).and_then(|spec| spec.shift_remove(LIST)) else {
        return;
    };
    let roles: Option<Vec<_>> = list
        .as_array()
        .and_then(|list| list.iter().map(|entry| role_of(table, entry)).collect());
    let Some(roles) = roles.filter(|roles| !repeats(roles)) else {
        content.insert(LISTED.to_owned(), Value::Array(vec![list]));
        return;
    };
    let name = |role: &RoleId| table.role(*role).name;
    if !roles.is_sorted() {
        let order = roles.iter().map(name).collect();
        content.insert(ORDER.to_owned(), order);
    }
    if let Value::Array(list) = list {
        let entries = roles.iter().map(|role| name(role).to_owned()).zip(list);
        content.insert(LISTED.to_owned(), Value::Object(entries.collect()));
    }
}

/// The role of an entry; `None`: it is none that this version knows.
pub(super) fn role_of(table: &RoleTable, entry: &Value) -> Option<RoleId> {
    let form = table.list_form()?;
    match entry.as_object()?.get(TYPE) {
        None | Some(Value::Null) => Some(form.entry),
        Some(name) => match name.as_str()? {
            "" => Some(form.entry),
            name => table
                .listed_roles()
                .find(|role| table.role(*role).name.eq_ignore_ascii_case(name)),
        },
    }
}

fn repeats(roles: &[RoleId]) -> bool {
    let mut sorted = roles.to_vec();
    sorted.sort_unstable();
    sorted.windows(2).any(|pair| pair.first() == pair.last())
}

fn put_list(table: &RoleTable, content: &mut Sections) {
    let listed = content.shift_remove(LISTED);
    let order = content.shift_remove(ORDER);
    let Some(spec) = fields_mut(content, SPEC) else {
        return;
    };
    let list = match listed {
        Some(Value::Object(mut entries)) => {
            let order = order
                .as_ref()
                .and_then(Value::as_array)
                .into_iter()
                .flatten();
            let declared = table.ids().map(|role| table.role(role).name);
            let names = order.filter_map(Value::as_str).chain(declared);
            let names: Vec<_> = names
                .filter_map(|name| entries.shift_remove(name))
                .collect();
            Value::Array(names)
        }
        Some(Value::Array(mut whole)) => whole.pop().unwrap_or_default(),
        _ => return,
    };
    spec.insert(LIST.to_owned(), list);
}
