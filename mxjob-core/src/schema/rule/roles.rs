//! Rules about single roles: which there are, how many replicas, what they need.

use super::{Rule, Validation, cel};
use crate::api::v1::{JobSpec, ReplicaSpec};
use crate::problem::Problem;
use crate::role::{RestartPolicy, Role, RoleTable};
use crate::schema::{Path, Place, suggestion};

/// The rules about roles that this set can break.
pub(super) fn rules(table: &'static RoleTable) -> impl Iterator<Item = Rule> {
    let bounded = |role: &Role| role.min > 0 || role.max.is_some();
    let of = move |wanted: fn(&Role) -> bool| table.ids().filter(move |id| wanted(table.role(*id)));
    let restricted = |role: &Role| {
        RestartPolicy::ALL
            .iter()
            .any(|policy| !role.restart.contains(policy))
    };
    of(bounded)
        .map(Rule::Replicas)
        .chain([Rule::Size])
        .chain(of(restricted).map(Rule::RestartPolicy))
        .chain(of(|role| !role.requires.is_empty()).map(Rule::Requires))
}

/// The entries of a role, whatever the letter case of their keys.
pub(super) fn entries<'a>(
    spec: &'a JobSpec,
    role: &str,
) -> impl Iterator<Item = (&'a String, &'a ReplicaSpec)> {
    spec.mx_replica_specs
        .iter()
        .filter(move |(key, _)| key.eq_ignore_ascii_case(role))
}

/// True when a job has a replica of `role`.
pub(crate) fn has_replica(spec: &JobSpec, role: &Role) -> bool {
    entries(spec, role.name).any(|(_, entry)| {
        entry
            .replicas
            .map_or(role.default > 0, |replicas| replicas > 0)
    })
}

fn names(table: &RoleTable) -> impl Iterator<Item = &'static str> {
    table.roles.iter().map(|role| role.name)
}

/// The path of the map of roles.
pub(super) const ROLES: &str = "spec.mxReplicaSpecs";

/// The path of a role's entry.
pub(crate) fn path(key: &str) -> String {
    Path::ROOT
        .key("spec")
        .key("mxReplicaSpecs")
        .key(key)
        .to_string()
}

pub(super) fn known_cel(table: &RoleTable) -> Validation {
    let known = cel::is_one_of("k", names(table));
    let allowed = format!("allowed are {}", cel::list(names(table)));
    Validation::new(
        Place::Roles,
        has_only_known_cel(table, "self"),
        format!("unknown replica type: {allowed}"),
    )
    .saying(format!(
        r#"'unknown replica type "' + {} + '": {allowed}'"#,
        cel::a_key("self", &format!("!({known})"))
    ))
}

/// No name is one that [`known`] refuses. Rules about what lacks ask for it: a misspelt name may be
/// what they miss.
pub(super) fn has_only_known(table: &RoleTable, spec: &JobSpec) -> bool {
    let mut keys = spec.mx_replica_specs.keys();
    keys.all(|key| table.find(key).is_some())
}

/// The same in CEL, about the map of roles that `map` names.
pub(super) fn has_only_known_cel(table: &RoleTable, map: &str) -> String {
    cel::has_only(map, names(table))
}

pub(super) fn known(table: &RoleTable, spec: &JobSpec) -> Vec<Problem> {
    let unknown = spec
        .mx_replica_specs
        .keys()
        .filter(|key| table.find(key).is_none());
    unknown
        .map(|key| Problem::error(path(key), unknown_role(table, key)))
        .collect()
}

/// What is said about a name that is no role.
pub(super) fn unknown_role(table: &RoleTable, name: &str) -> String {
    let hint = suggestion(name, names(table)).map(|role| format!(" (did you mean {role}?)"));
    format!(
        "unknown replica type {name:?}{}: allowed are {}",
        hint.unwrap_or_default(),
        cel::list(names(table))
    )
}

pub(super) fn once_cel() -> Validation {
    let same = "n.lowerAscii() == k.lowerAscii()";
    let rule = format!("self.all(k, self.exists_one(n, {same}))");
    let later = cel::a_key("self", &format!("self.exists(n, n < k && {same})"));
    Validation::new(
        Place::Roles,
        rule,
        format!("a role is named twice: {TWICE}"),
    )
    .saying(format!(r#"'"' + {later} + '": {TWICE}'"#))
}

pub(super) fn once(spec: &JobSpec) -> Vec<Problem> {
    let keys = spec.mx_replica_specs.keys();
    let twin = |key: &String| entries(spec, key).any(|(other, _)| other < key);
    keys.filter(|key| twin(key))
        .map(|key| Problem::error(path(key), TWICE))
        .collect()
}

const TWICE: &str = "another key names the same replica type in other letter case; keep one";

pub(super) fn replicas_cel(role: &Role) -> Validation {
    let mut wrong = Vec::new();
    if role.max == Some(role.min) {
        wrong.push(format!("self[k].replicas != {}", role.min));
    } else {
        wrong.extend((role.min > 0).then(|| format!("self[k].replicas < {}", role.min)));
        wrong.extend(role.max.map(|max| format!("self[k].replicas > {max}")));
    }
    let expression = format!(
        "!self.exists(k, {} && has(self[k].replicas) && ({}))",
        cel::is_one_of("k", [role.name]),
        wrong.join(" || ")
    );
    Validation::new(
        Place::Roles,
        expression,
        format!("{}: replicas {}", role.name, range(role)),
    )
}

pub(super) fn replicas(role: &Role, spec: &JobSpec) -> Vec<Problem> {
    let fits = |replicas: i32| {
        let replicas = i64::from(replicas);
        replicas >= i64::from(role.min) && role.max.is_none_or(|max| replicas <= i64::from(max))
    };
    let bad = entries(spec, role.name)
        .filter(|(_, entry)| entry.replicas.is_some_and(|replicas| !fits(replicas)));
    bad.map(|(key, _)| Problem::error(format!("{}.replicas", path(key)), range(role)))
        .collect()
}

fn range(role: &Role) -> String {
    match role.max {
        Some(max) if max == role.min => format!("must be {max} (or absent)"),
        Some(max) => format!("must be {} to {max}", role.min),
        None => format!("must be {} or more", role.min),
    }
}

pub(super) fn restart_cel(role: &Role) -> Validation {
    let allowed: Vec<_> = policies(role).map(cel::text).collect();
    let expression = format!(
        "!self.exists(k, {} && has(self[k].restartPolicy) && !(self[k].restartPolicy in [{}]))",
        cel::is_one_of("k", [role.name]),
        allowed.join(",")
    );
    Validation::new(
        Place::Roles,
        expression,
        format!("{}: restartPolicy {}", role.name, restart_message(role)),
    )
}

pub(super) fn restart(role: &Role, spec: &JobSpec) -> Vec<Problem> {
    let bad = entries(spec, role.name).filter(|(_, entry)| {
        entry
            .restart_policy
            .is_some_and(|policy| !role.restart.contains(&policy))
    });
    bad.map(|(key, _)| {
        Problem::error(
            format!("{}.restartPolicy", path(key)),
            restart_message(role),
        )
    })
    .collect()
}

fn policies(role: &Role) -> impl Iterator<Item = &'static str> {
    role.restart.iter().map(|policy| policy.name())
}

fn restart_message(role: &Role) -> String {
    format!("must be {}", cel::either(policies(role)))
}

pub(super) fn requires_cel(table: &RoleTable, role: &Role) -> Validation {
    let required = required(table, role).map(|other| cel::has_replica("self", other));
    let expression = format!(
        "!({}) || !{} || ({})",
        cel::has_replica("self", role),
        cel::has_only("self", peers(table, role)),
        required.collect::<Vec<_>>().join(" && ")
    );
    Validation::new(Place::Roles, expression, requires_message(role))
}

pub(super) fn requires(table: &RoleTable, role: &Role, spec: &JobSpec) -> Vec<Problem> {
    let of_mode = |key: &String| peers(table, role).any(|peer| key.eq_ignore_ascii_case(peer));
    let broken = has_replica(spec, role)
        && spec.mx_replica_specs.keys().all(of_mode)
        && !required(table, role).all(|other| has_replica(spec, other));
    let keys = entries(spec, role.name).filter(|_| broken).take(1);
    keys.map(|(key, _)| Problem::error(path(key), requires_message(role)))
        .collect()
}

/// The roles of the same mode. Beside others, what lacks is not the mistake.
fn peers<'a>(table: &'a RoleTable, role: &Role) -> impl Iterator<Item = &'static str> + use<'a> {
    table.roles_of(role.mode).map(|id| table.role(id).name)
}

fn required(table: &RoleTable, role: &Role) -> impl Iterator<Item = &'static Role> {
    role.requires
        .iter()
        .filter_map(|name| table.find(name))
        .map(|id| table.role(id))
}

fn requires_message(role: &Role) -> String {
    let each = role.requires.iter().map(|name| format!("a {name}"));
    let each: Vec<_> = each.collect();
    format!(
        "{} needs {} (replicas 1 or more)",
        role.name,
        cel::all(each.iter().map(String::as_str))
    )
}

/// Most replicas of a job, all roles together: two thirds of the pods that Kubernetes supports in a
/// whole cluster (150,000). A job that asks for two billion is a typing error, and working out its
/// layout would take the operator's memory from everybody else's jobs.
pub const MAX_REPLICAS: i64 = 100_000;

pub(super) fn size_cel(table: &RoleTable) -> Validation {
    let each = cel::replicas(table, "self", "k");
    Validation::new(
        Place::Roles,
        format!("self.map(k, {each}).sum() <= {MAX_REPLICAS}"),
        format!("too many replicas in all: {}", size_message()),
    )
}

pub(super) fn size(table: &RoleTable, spec: &JobSpec) -> Vec<Problem> {
    let each = spec
        .mx_replica_specs
        .keys()
        .map(|key| replicas_of(table, spec, key));
    let total: i64 = each.sum();
    let message = || format!("{total} replicas in all: {}", size_message());
    (total > MAX_REPLICAS)
        .then(|| Problem::error(ROLES, message()))
        .into_iter()
        .collect()
}

fn size_message() -> String {
    format!("at most {MAX_REPLICAS}, a cluster has no more pods")
}

/// How many replicas the entry of that very key asks for.
pub(super) fn replicas_of(table: &RoleTable, spec: &JobSpec, key: &str) -> i64 {
    let default = || {
        table
            .find(key)
            .map_or(1, |id| i64::from(table.role(id).default))
    };
    let entry = spec
        .mx_replica_specs
        .get(key)
        .and_then(|entry| entry.replicas);
    entry.map_or_else(default, i64::from)
}
