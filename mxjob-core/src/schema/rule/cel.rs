//! Pieces of CEL.

use crate::role::{Role, RoleTable};

/// A text as CEL literal.
pub(super) fn text(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'"))
}

/// `key` is one of these roles, in any letter case.
pub(super) fn is_one_of<'a>(key: &str, roles: impl IntoIterator<Item = &'a str>) -> String {
    let lower: Vec<_> = roles
        .into_iter()
        .map(|role| text(&role.to_ascii_lowercase()))
        .collect();
    match lower.as_slice() {
        [one] => format!("{key}.lowerAscii() == {one}"),
        many => format!("{key}.lowerAscii() in [{}]", many.join(",")),
    }
}

/// The map of roles that `roles` names has one of these.
pub(super) fn has_any<'a>(roles: &str, names: impl IntoIterator<Item = &'a str>) -> String {
    format!("{roles}.exists(k, {})", is_one_of("k", names))
}

/// The map of roles that `roles` names has none but these.
pub(super) fn has_only<'a>(roles: &str, names: impl IntoIterator<Item = &'a str>) -> String {
    format!("{roles}.all(k, {})", is_one_of("k", names))
}

/// A key of `map` for which `condition` on `k` holds. Which one of several, the server does not say:
/// maps have no order, and `min()` is over the cost budget.
pub(super) fn a_key(map: &str, condition: &str) -> String {
    format!("{map}.filter(k, {condition})[0]")
}

/// The map of roles that `map` names has a replica of `role`.
pub(super) fn has_replica(map: &str, role: &Role) -> String {
    format!(
        "{map}.exists(k, {} && {})",
        is_one_of("k", [role.name]),
        is_peopled(map, role)
    )
}

/// The entry `k`, which is of `role`, asks for a replica.
fn is_peopled(map: &str, role: &Role) -> String {
    if role.default > 0 {
        format!("(!has({map}[k].replicas) || {map}[k].replicas > 0)")
    } else {
        format!("has({map}[k].replicas) && {map}[k].replicas > 0")
    }
}

/// The map of roles that `map` names has a replica of one of `roles`.
pub(super) fn has_replica_of_any<'a>(
    map: &str,
    roles: impl IntoIterator<Item = &'a Role>,
) -> String {
    let (some, none): (Vec<&Role>, Vec<&Role>) =
        roles.into_iter().partition(|role| role.default > 0);
    let groups = [some, none]
        .into_iter()
        .filter(|group| !group.is_empty())
        .map(|group| {
            let first = group
                .first()
                .map(|role| is_peopled(map, role))
                .unwrap_or_default();
            format!(
                "{map}.exists(k, {} && {first})",
                is_one_of("k", group.iter().map(|role| role.name))
            )
        });
    groups.collect::<Vec<_>>().join(" || ")
}

/// How many replicas the entry at `key` of `map` asks for.
pub(super) fn replicas(table: &RoleTable, map: &str, key: &str) -> String {
    format!(
        "(has({map}[{key}].replicas) ? {map}[{key}].replicas : {})",
        default(table, key)
    )
}

/// How many replicas the role that `key` names has by default.
fn default(table: &RoleTable, key: &str) -> String {
    table
        .roles
        .iter()
        .filter(|role| role.default != 1)
        .fold("1".to_owned(), |otherwise, role| {
            format!(
                "({} ? {} : {otherwise})",
                is_one_of(key, [role.name]),
                role.default
            )
        })
}

/// `Scheduler, Server, Worker`.
pub(super) fn list<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    names.into_iter().collect::<Vec<_>>().join(", ")
}

/// `Scheduler, Server and Worker`.
pub(super) fn all<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    joined(names, "and")
}

/// `Scheduler, Server or Worker`.
pub(in crate::schema) fn either<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    joined(names, "or")
}

fn joined<'a>(names: impl IntoIterator<Item = &'a str>, word: &str) -> String {
    let names: Vec<_> = names.into_iter().collect();
    match names.split_last() {
        Some((last, [])) => (*last).to_owned(),
        Some((last, rest)) => format!("{} {word} {last}", rest.join(", ")),
        None => String::new(),
    }
}
