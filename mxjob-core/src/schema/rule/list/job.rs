//! Rules about all entries together.

use super::MODE;
use super::words::{
    DIST, LOCAL, NO_CHIEF, NO_INDEX, NO_REPLICA, count, entries, every, missing_chief,
    missing_replica, replicas_of, role_named, role_of, word, words,
};
use crate::api::v1alpha1::JobSpec;
use crate::problem::Problem;
use crate::role::{ListForm, RoleId, RoleTable};
use crate::schema::Place;
use crate::schema::rule::{Validation, cel};

pub(super) const ROLES: &str = "spec.replicaSpecs";

pub(super) fn problem(is_broken: bool, path: &str, message: impl Into<String>) -> Vec<Problem> {
    let problem = is_broken.then(|| Problem::error(path, message));
    problem.into_iter().collect()
}

pub(super) fn once_cel(table: &RoleTable, form: ListForm) -> Validation {
    let (one, other) = (role_of(table, form, "e"), role_of(table, form, "f"));
    Validation::new(
        Place::Spec,
        every(&format!(
            "self.replicaSpecs.exists_one(f, {other} == {one})"
        )),
        "two entries of one mxReplicaType: keep one",
    )
    .about(".replicaSpecs")
}

pub(super) fn once(table: &RoleTable, form: ListForm, spec: &JobSpec) -> Vec<Problem> {
    let mut roles: Vec<_> = entries(spec)
        .map(|(_, entry)| role_named(table, form, entry))
        .collect();
    roles.sort_unstable();
    let all = roles.len();
    roles.dedup();
    problem(
        roles.len() < all,
        ROLES,
        "two entries of one mxReplicaType: keep one",
    )
}

pub(super) fn replicas_cel(table: &RoleTable, form: ListForm, id: RoleId) -> Validation {
    let (role, word) = (table.role(id), word(table, id));
    let count = replicas_of("e");
    let bounds = match role.max {
        Some(most) if most == role.min => format!("{count} == {most}"),
        Some(most) => format!("{count} >= {} && {count} <= {most}", role.min),
        None => format!("{count} >= {}", role.min),
    };
    let is_other = format!("{} != {}", role_of(table, form, "e"), cel::text(&word));
    Validation::new(
        Place::Spec,
        every(&format!("{is_other} || ({bounds})")),
        allowed(&word, role.min, role.max),
    )
    .about(".replicaSpecs")
}

pub(super) fn replicas(
    table: &RoleTable,
    form: ListForm,
    id: RoleId,
    spec: &JobSpec,
) -> Vec<Problem> {
    let (role, word) = (table.role(id), word(table, id));
    let allowed = i64::from(role.min)..=role.max.map_or(i64::MAX, i64::from);
    let wrong = entries(spec).any(|(_, entry)| {
        role_named(table, form, entry) == word && !allowed.contains(&count(entry))
    });
    problem(wrong, ROLES, self::allowed(&word, role.min, role.max))
}

fn allowed(word: &str, min: u32, max: Option<u32>) -> String {
    match max {
        Some(most) if most == min => format!("The {word} must have Replicas = {most}"),
        Some(most) => format!("The {word} must have Replicas = {min} to {most}"),
        None => format!("The {word} must have Replicas of at least {min}"),
    }
}

pub(super) fn requires_cel(
    table: &RoleTable,
    form: ListForm,
    id: RoleId,
    other: RoleId,
) -> Validation {
    let (word, needed) = (word(table, id), word(table, other));
    let has = |word: &str| {
        let (role, count) = (role_of(table, form, "f"), replicas_of("f"));
        let condition = format!("{role} == {} && {count} > 0", cel::text(word));
        format!("self.replicaSpecs.exists(f, {condition})")
    };
    Validation::new(
        Place::Spec,
        format!(
            "!has(self.replicaSpecs) || !{} || {}",
            has(&word),
            has(&needed)
        ),
        format!("{word} needs a replica of {needed}"),
    )
    .about(".replicaSpecs")
}

pub(super) fn requires(
    table: &RoleTable,
    form: ListForm,
    id: RoleId,
    other: RoleId,
    spec: &JobSpec,
) -> Vec<Problem> {
    let (word, needed) = (word(table, id), word(table, other));
    let has = |word: &str| {
        entries(spec).any(|(_, entry)| role_named(table, form, entry) == word && count(entry) > 0)
    };
    let lacking = has(&word) && !has(&needed);
    problem(
        lacking,
        ROLES,
        format!("{word} needs a replica of {needed}"),
    )
}

pub(super) fn local_cel(table: &RoleTable, form: ListForm) -> Validation {
    let worker = cel::text(&word(table, form.worker));
    let alone = format!(
        "{} == {worker} && {} <= 1",
        role_of(table, form, "e"),
        replicas_of("e")
    );
    let is_other = format!("!has(self.jobMode) || self.jobMode != '{LOCAL}'");
    Validation::new(
        Place::Spec,
        format!("{is_other} || {}", every(&alone)),
        format!(
            "job mode is {LOCAL}: its only entry must be one {}",
            word(table, form.worker)
        ),
    )
    .about(".replicaSpecs")
}

pub(super) fn local(table: &RoleTable, form: ListForm, spec: &JobSpec) -> Vec<Problem> {
    let worker = word(table, form.worker);
    let alone = |entry| role_named(table, form, entry) == worker && count(entry) <= 1;
    let is_local = spec.job_mode.as_deref() == Some(LOCAL);
    problem(
        is_local && !entries(spec).all(|(_, entry)| alone(entry)),
        ROLES,
        format!("job mode is {LOCAL}: its only entry must be one {worker}"),
    )
}

pub(super) fn policy_cel() -> Validation {
    Validation::new(
        Place::Spec,
        "!has(self.terminationPolicy) || has(self.terminationPolicy.chief)",
        NO_CHIEF,
    )
    .about(".terminationPolicy")
}

pub(super) fn policy(spec: &JobSpec) -> Vec<Problem> {
    let nobody = spec.termination_policy.as_ref();
    problem(
        nobody.is_some_and(|policy| policy.chief.is_none()),
        "spec.terminationPolicy",
        NO_CHIEF,
    )
}

const CHIEF: &str = "self.terminationPolicy.chief.replicaName";

/// What is said behind a chief that is no role's word, by the checks alone: each role would stand in the
/// definition once more.
fn one_of(words: &[String]) -> String {
    format!(": must be one of [{}]", words.join(" "))
}

pub(super) fn chief_cel(table: &RoleTable, form: ListForm) -> Validation {
    let (chief, worker) = (word(table, form.chief), word(table, form.worker));
    let (chief, worker) = (cel::text(&chief), cel::text(&worker));
    let named = "has(self.terminationPolicy) && has(self.terminationPolicy.chief)";
    let there = format!(
        "(size(self.replicaSpecs) == 0 || self.replicaSpecs.exists(f, {} == {chief}))",
        role_of(table, form, "f")
    );
    let is_dist = if form.has(MODE) {
        format!("(has(self.jobMode) && self.jobMode != '' ? self.jobMode == '{DIST}' : {there})")
    } else {
        there
    };
    let name = format!("({named} ? {CHIEF} : {is_dist} ? {chief} : {worker})");
    let index = "self.terminationPolicy.chief.replicaIndex";
    let index = format!("({named} && has({index}) ? {index} : 0)");
    let is_it = format!("{} == {name}", role_of(table, form, "e"));
    let count = replicas_of("e");
    let found =
        format!("{index} >= 0 && self.replicaSpecs.exists(e, {is_it} && {count} > {index})");
    // In numbers it would be over the cost budget: of how long they are as text nothing is known.
    let has_role = format!("{named} && self.replicaSpecs.exists(e, {is_it})");
    let short = format!("({has_role} ? '{NO_INDEX}' : '')");
    Validation::new(
        Place::Spec,
        format!("!has(self.replicaSpecs) || ({found})"),
        NO_REPLICA,
    )
    .saying(format!("'{}' + {name} + {short}", missing_chief("")))
    .about(".replicaSpecs")
}

pub(super) fn chief(table: &RoleTable, form: ListForm, spec: &JobSpec) -> Vec<Problem> {
    let chief = word(table, form.chief);
    let named = spec.termination_policy.as_ref();
    let named = named.and_then(|policy| policy.chief.as_ref());
    let mode = spec.job_mode.as_deref().filter(|mode| !mode.is_empty());
    let mode = mode.filter(|_| form.has(MODE));
    let is_dist = mode.map_or_else(
        || {
            let roles = entries(spec).map(|(_, entry)| role_named(table, form, entry));
            let mut roles = roles.peekable();
            roles.peek().is_none() || roles.any(|role| role == chief)
        },
        |mode| mode == DIST,
    );
    let role = match named {
        Some(named) => named.replica_name.clone(),
        None if is_dist => chief,
        None => word(table, form.worker),
    };
    let index = named.map_or(0, |named| i64::from(named.replica_index));
    let of_role = entries(spec).filter(|(_, entry)| role_named(table, form, entry) == role);
    let counts: Vec<_> = of_role.map(|(_, entry)| count(entry)).collect();
    let found = index >= 0 && counts.iter().any(|count| *count > index);
    let words = words(table);
    let unknown = (!words.contains(&role)).then(|| one_of(&words));
    let message = match counts.first().filter(|_| named.is_some()) {
        Some(count) => missing_replica(&role, index, *count),
        None => missing_chief(&role) + &unknown.unwrap_or_default(),
    };
    problem(!found, ROLES, message)
}
