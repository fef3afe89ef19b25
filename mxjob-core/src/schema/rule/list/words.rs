//! How a list of roles is spoken about: pieces of CEL, and the same in Rust.

pub(super) use crate::api::v1alpha1::{DIST, LOCAL};
use crate::api::v1alpha1::{JobSpec, ReplicaSpec};
use crate::role::{ListForm, RoleId, RoleTable};
use crate::schema::Path;
use crate::schema::rule::cel;
use crate::schema::rule::name::is_plain;

/// What is wrong with a termination policy without a chief.
pub(crate) const NO_CHIEF: &str = "invalid termination policy: it names no chief";
/// What is wrong with a chief that is not there, before its name.
pub(super) const NO_REPLICA: &str = "Missing ReplicaSpec for chief";

/// What is wrong with a chief of that name that is not there.
pub(crate) fn missing_chief(name: &str) -> String {
    format!("{NO_REPLICA}: {name}")
}

/// What is wrong with a chief whose index is not there, behind its name.
pub(super) const NO_INDEX: &str = ": replicaIndex is not below its replicas";

/// What is wrong with a chief of a role that has `count` replicas.
pub(crate) fn missing_replica(name: &str, index: i64, count: i64) -> String {
    format!("{NO_REPLICA}: {name}{NO_INDEX}: {index} of {count}, counted from 0")
}

/// What runtime ids are made of.
pub(crate) const ID_LETTERS: &str = "lower-case letters and digits";

/// Whether an id can stand in names. One that was stored before there was a rule may be longer than
/// the rule has it, or start with a digit.
pub(crate) fn can_stand_in_names(id: &str) -> bool {
    !id.is_empty() && id.bytes().all(is_plain)
}

/// A role's name in this version.
pub(super) fn word(table: &RoleTable, id: RoleId) -> String {
    table.role(id).name.to_ascii_uppercase()
}

pub(super) fn words(table: &RoleTable) -> Vec<String> {
    table.listed_roles().map(|id| word(table, id)).collect()
}

/// The role of the entry `entry`.
pub(super) fn role_of(table: &RoleTable, form: ListForm, entry: &str) -> String {
    let field = format!("{entry}.mxReplicaType");
    let silent = cel::text(&word(table, form.entry));
    format!("(has({field}) && {field} != '' ? {field} : {silent})")
}

/// The replicas of the entry `entry`.
pub(super) fn replicas_of(entry: &str) -> String {
    format!("(has({entry}.replicas) ? {entry}.replicas : 1)")
}

/// An entry of `self` for which `condition` on `e` holds; where there is no list, nothing is wrong.
pub(super) fn every(condition: &str) -> String {
    format!("!has(self.replicaSpecs) || self.replicaSpecs.all(e, {condition})")
}

/// The role of an entry.
pub(super) fn role_named(table: &RoleTable, form: ListForm, entry: &ReplicaSpec) -> String {
    let given = entry
        .mx_replica_type
        .clone()
        .filter(|name| !name.is_empty());
    given.unwrap_or_else(|| word(table, form.entry))
}

/// The replicas of an entry.
pub(super) fn count(entry: &ReplicaSpec) -> i64 {
    entry.replicas.map_or(1, i64::from)
}

/// The entries with their paths.
pub(super) fn entries(spec: &JobSpec) -> impl Iterator<Item = (String, &ReplicaSpec)> {
    let path = |at| {
        Path::ROOT
            .key("spec")
            .key("replicaSpecs")
            .item(at)
            .to_string()
    };
    spec.replica_specs
        .iter()
        .enumerate()
        .map(move |(at, entry)| (path(at), entry))
}
