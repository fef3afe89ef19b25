//! Rules about the object as a whole: it has a spec, and names that make valid pod names.

use super::roles::replicas_of;
use super::{Subject, Validation, cel};
use crate::api::v1::JobSpec;
use crate::problem::Problem;
use crate::role::RoleTable;
use crate::schema::Place;

/// Where mistakes of names stand.
pub(crate) const NAME: &str = "metadata.name";

/// Most characters of a DNS label (RFC 1123), and so of a pod's host name and of a service's name.
pub(super) const LABEL: usize = 63;

pub(super) fn spec_cel() -> Validation {
    // Not `required`: an object without one that was stored before must take a status.
    let rule = "has(self.spec) || (oldSelf.hasValue() && !has(oldSelf.value().spec))";
    Validation::new(Place::Object, rule, "spec is required").seeing_creation()
}

pub(super) fn label_cel() -> Validation {
    // `format.dns1035Label()` is over the cost budget. Names never change.
    let rule = format!(
        "oldSelf.hasValue() || (size(self.metadata.name) <= {LABEL} && \
         self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$'))"
    );
    Validation::new(
        Place::Object,
        rule,
        format!("metadata.name {LABEL_MESSAGE}"),
    )
    .saying(format!(r#"'"' + self.metadata.name + '" {LABEL_MESSAGE}'"#))
    .about(".metadata.name")
    .seeing_creation()
}

const LABEL_MESSAGE: &str = "is not a DNS-1035 label: it must be lower-case letters, digits and -, first a letter, \
                             last no -, at most 63 characters";

pub(super) fn label(job: &Subject<'_>) -> Vec<Problem> {
    label_of(job.name, job.old.is_some())
}

/// The same about a name; `known`: the object was there before.
pub(super) fn label_of(name: &str, known: bool) -> Vec<Problem> {
    let broken = !known && !is_label(name);
    let message = || format!("{name:?} {LABEL_MESSAGE}");
    broken
        .then(|| Problem::error(NAME, message()))
        .into_iter()
        .collect()
}

/// Letters and digits as DNS labels have them.
pub(super) fn is_plain(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit()
}

fn is_label(name: &str) -> bool {
    name.len() <= LABEL
        && name.starts_with(|first: char| first.is_ascii_lowercase())
        && name.bytes().all(|byte| is_plain(byte) || byte == b'-')
        && !name.ends_with('-')
}

pub(super) fn pods_cel(table: &RoleTable) -> Validation {
    let map = "self.spec.mxReplicaSpecs";
    let old = "oldSelf.value().spec.mxReplicaSpecs";
    let (now, before) = (
        cel::replicas(table, map, "k"),
        cel::replicas(table, old, "k"),
    );
    let same = format!(
        "(oldSelf.hasValue() && has(oldSelf.value().spec) && has({old}) && \
         {map}.all(k, k in {old} && {now} == {before}))"
    );
    let fits = format!(
        "size(self.metadata.name) + size(k) + 2 + size(string({now} > 0 ? {now} - 1 : 0)) <= {LABEL}"
    );
    // Whether the names have a runtime id cannot be seen here. A job that it makes them too long for
    // keeps its size. A name that is too long by itself is the rule above's to refuse.
    let told = format!("size(self.metadata.name) > {LABEL}");
    let rule =
        format!("!(has(self.spec) && has({map})) || {same} || {told} || {map}.all(k, {fits})");
    Validation::new(
        Place::Object,
        rule,
        format!("pod name <job>-<role>-<index> {TOO_LONG}"),
    )
    .saying(format!(
        "'the name of the last pod of ' + {} + ', <job>-<role>-<highest index>, {TOO_LONG}'",
        cel::a_key(map, &format!("!({fits})"))
    ))
    .about(".metadata.name")
    .seeing_creation()
}

const TOO_LONG: &str = "is longer than 63 characters: shorten metadata.name";

pub(super) fn pods(table: &RoleTable, job: &Subject<'_>) -> Vec<Problem> {
    if job
        .old
        .is_some_and(|old| is_same_size(table, job.spec, old.spec))
    {
        return Vec::new();
    }
    if job.name.chars().count() > LABEL {
        return Vec::new();
    }
    too_long(table, job.name, None, job.spec)
}

/// The roles whose last pod's name is too long, in a job of that name and runtime id.
pub(crate) fn too_long(
    table: &RoleTable,
    name: &str,
    run: Option<&str>,
    spec: &JobSpec,
) -> Vec<Problem> {
    let last = |key: &str| {
        let index = (replicas_of(table, spec, key) - 1).max(0);
        let (role, run) = (key.to_ascii_lowercase(), run.map(|run| format!("-{run}")));
        format!("{name}-{role}{}-{index}", run.unwrap_or_default())
    };
    let names = spec.mx_replica_specs.keys().map(|key| (key, last(key)));
    let long = names.filter(|(_, name)| name.chars().count() > LABEL);
    long.map(|(key, name)| {
        Problem::error(
            NAME,
            format!("the name of the last pod of {key}, {name}, {TOO_LONG}"),
        )
    })
    .collect()
}

fn is_same_size(table: &RoleTable, spec: &JobSpec, old: &JobSpec) -> bool {
    let same = |key: &String| {
        old.mx_replica_specs.contains_key(key)
            && replicas_of(table, spec, key) == replicas_of(table, old, key)
    };
    spec.mx_replica_specs.keys().all(same)
}
