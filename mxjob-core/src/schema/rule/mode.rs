//! Rules about the mode of a job and the roles that it needs.

use super::roles::{ROLES, has_only_known, has_only_known_cel, has_replica, path};
use super::{Rule, Validation, cel};
use crate::api::v1::{JobSpec, SuccessPolicy};
use crate::problem::Problem;
use crate::role::{Mode, Role, RoleTable};
use crate::schema::Place;

/// The map of roles in CEL, from the spec.
const MAP: &str = "self.mxReplicaSpecs";

/// The rules about modes that this set can break.
pub(super) fn rules(table: &'static RoleTable) -> Vec<Rule> {
    let several = table.modes.len() > 1;
    let mut rules = Vec::new();
    for mode in table.modes {
        rules.extend(several.then_some(Rule::ModeRoles(mode)));
        rules.extend(needed(table, mode).next().map(|_| Rule::ModeNeeds(mode)));
        let sure = chiefs(table, mode).any(|role| !role.optional && role.min > 0);
        rules.extend((!sure).then_some(Rule::ModeChief(mode)));
    }
    rules.extend(several.then_some(Rule::ModeMixed));
    rules.push(Rule::AllWorkers);
    rules
}

/// The mode that a spec names, or the first that one of its roles is of.
pub fn effective(table: &'static RoleTable, spec: &JobSpec) -> Option<&'static Mode> {
    match &spec.job_mode {
        Some(name) => table.mode(name),
        None => table.modes.iter().find(|mode| has_any(table, mode, spec)),
    }
}

/// The same in CEL, as the mode's name; `spec` is an expression.
pub(super) fn effective_cel(table: &RoleTable, spec: &str) -> String {
    let of_roles = table
        .modes
        .iter()
        .rfold("''".to_owned(), |otherwise, mode| {
            let any = cel::has_any(&format!("{spec}.mxReplicaSpecs"), names(table, mode));
            format!("{any} ? {} : {otherwise}", cel::text(mode.name))
        });
    format!("(has({spec}.jobMode) ? {spec}.jobMode : {of_roles})")
}

/// A job that names its mode runs in that one; one that does not may be meant for each mode that it
/// has a role of.
pub(super) fn may_be_meant(table: &RoleTable, mode: &Mode, spec: &JobSpec) -> bool {
    match &spec.job_mode {
        Some(name) => name == mode.name,
        None => has_any(table, mode, spec),
    }
}

/// The modes that a job may be meant for, in CEL: a list, `''` for each that it is not.
pub(super) fn meant_cel(table: &RoleTable) -> String {
    let of_roles = table.modes.iter().map(|mode| {
        let any = cel::has_any(MAP, names(table, mode));
        format!(
            "!has(self.jobMode) && {any} ? {} : ''",
            cel::text(mode.name)
        )
    });
    let of_roles: Vec<_> = of_roles.collect();
    format!(
        "['',has(self.jobMode) ? self.jobMode : '',{}]",
        of_roles.join(",")
    )
}

fn roles_in<'a>(
    table: &'a RoleTable,
    mode: &'a Mode,
) -> impl Iterator<Item = &'static Role> + use<'a> {
    table.roles_of(mode.name).map(|id| table.role(id))
}

fn names<'a>(table: &'a RoleTable, mode: &'a Mode) -> impl Iterator<Item = &'static str> + use<'a> {
    roles_in(table, mode).map(|role| role.name)
}

fn foreign<'a>(
    table: &'a RoleTable,
    mode: &'a Mode,
) -> impl Iterator<Item = &'static Role> + use<'a> {
    table
        .roles
        .iter()
        .filter(move |role| role.mode != mode.name)
}

fn chiefs<'a>(
    table: &'a RoleTable,
    mode: &'a Mode,
) -> impl Iterator<Item = &'static Role> + use<'a> {
    mode.chief
        .iter()
        .filter_map(|name| table.find(name))
        .map(|id| table.role(id))
}

fn needed<'a>(
    table: &'a RoleTable,
    mode: &'a Mode,
) -> impl Iterator<Item = &'static Role> + use<'a> {
    roles_in(table, mode).filter(|role| !role.optional)
}

fn has(spec: &JobSpec, role: &str) -> bool {
    spec.mx_replica_specs
        .keys()
        .any(|key| key.eq_ignore_ascii_case(role))
}

fn has_any(table: &RoleTable, mode: &Mode, spec: &JobSpec) -> bool {
    names(table, mode).any(|role| has(spec, role))
}

/// The job runs in `mode`, as it says or as its roles do, and has no roles but those of `mode`:
/// where others are, or names that are no roles, these are the mistake and not what seems to lack.
fn runs_in(table: &RoleTable, mode: &Mode, spec: &JobSpec) -> bool {
    let roles = &spec.mx_replica_specs;
    let named = match &spec.job_mode {
        Some(name) => name == mode.name,
        None => !roles.is_empty(),
    };
    let of_mode = |key: &String| names(table, mode).any(|role| key.eq_ignore_ascii_case(role));
    named && roles.keys().all(of_mode)
}

fn runs_in_cel(table: &RoleTable, mode: &Mode) -> String {
    format!(
        "((has(self.jobMode) ? self.jobMode == {} : size({MAP}) > 0) && {})",
        cel::text(mode.name),
        cel::has_only(MAP, names(table, mode))
    )
}

/// A rule about the roles of a spec, which an old spec need not have.
fn validation(rule: &str, message: impl Into<String>) -> Validation {
    Validation::new(Place::Spec, format!("!has({MAP}) || ({rule})"), message)
        .about(".mxReplicaSpecs")
}

pub(super) fn roles_cel(table: &RoleTable, mode: &Mode) -> Validation {
    let name = cel::text(mode.name);
    let alien = cel::is_one_of("k", foreign(table, mode).map(|role| role.name));
    let rule = format!("!has(self.jobMode) || self.jobMode != {name} || !{MAP}.exists(k, {alien})");
    let allowed = format!(
        "jobMode {} allows {}",
        mode.name,
        cel::all(names(table, mode))
    );
    let others = || table.modes.iter().filter(|other| other.name != mode.name);
    let (Some(other), None) = (others().next(), others().nth(1)) else {
        let given = others().map(|other| {
            let there = cel::has_any(MAP, names(table, other));
            format!("({there} ? ' {}' : '')", other.name)
        });
        let given: Vec<_> = given.collect();
        return validation(&rule, allowed.clone()).saying(format!(
            "'{allowed}; the job has roles of' + {}",
            given.join(" + ")
        ));
    };
    // Of two modes it can only be the other one.
    let message = format!("{allowed}; the job has roles of {}", other.name);
    validation(&rule, message)
}

pub(super) fn roles(table: &RoleTable, mode: &Mode, spec: &JobSpec) -> Vec<Problem> {
    let named = spec.job_mode.as_deref() == Some(mode.name);
    let foreign =
        |key: &&String| foreign(table, mode).any(|role| key.eq_ignore_ascii_case(role.name));
    let keys = spec
        .mx_replica_specs
        .keys()
        .filter(|key| named && foreign(key));
    let of = |key: &str| table.find(key).map_or("", |id| table.role(id).mode);
    let message = |key: &str| format!("{key} {} {}", misplaced(table, mode), of(key));
    keys.map(|key| Problem::error(path(key), message(key)))
        .collect()
}

fn misplaced(table: &RoleTable, mode: &Mode) -> String {
    format!(
        "is not allowed with jobMode {} ({}): it is a role of",
        mode.name,
        cel::list(names(table, mode))
    )
}

pub(super) fn mixed_cel(table: &RoleTable) -> Validation {
    let any = table
        .modes
        .iter()
        .map(|mode| cel::has_any(MAP, names(table, mode)));
    let counted: Vec<_> = any.map(|any| format!("({any} ? 1 : 0)")).collect();
    let unmixed = format!("has(self.jobMode) || {} <= 1", counted.join(" + "));
    validation(&unmixed, mixed_message(table))
}

pub(super) fn mixed(table: &RoleTable, spec: &JobSpec) -> Vec<Problem> {
    let modes = table.modes.iter().filter(|mode| has_any(table, mode, spec));
    let mixed = spec.job_mode.is_none() && modes.count() > 1;
    mixed
        .then(|| Problem::error(ROLES, mixed_message(table)))
        .into_iter()
        .collect()
}

fn mixed_message(table: &RoleTable) -> String {
    let modes = table
        .modes
        .iter()
        .map(|mode| format!("{} ({})", mode.name, cel::list(names(table, mode))));
    let modes: Vec<_> = modes.collect();
    format!(
        "roles of more than one mode in one job: keep those of {}",
        cel::either(modes.iter().map(String::as_str))
    )
}

pub(super) fn needs_cel(table: &RoleTable, mode: &Mode) -> Validation {
    let each: Vec<_> = needed(table, mode)
        .map(|role| (role, cel::has_any(MAP, [role.name])))
        .collect();
    let all: Vec<_> = each.iter().map(|(_, there)| there.as_str()).collect();
    // A list of those that lack cannot be joined: that is over the cost budget.
    let missing = each
        .iter()
        .map(|(role, there)| format!("({there} ? '' : ' {}')", role.name));
    let missing: Vec<_> = missing.collect();
    let message = needs_message(table, mode);
    validation(
        &format!("!{} || ({})", runs_in_cel(table, mode), all.join(" && ")),
        message.clone(),
    )
    .saying(format!("'{message}; missing:' + {}", missing.join(" + ")))
}

pub(super) fn needs(table: &RoleTable, mode: &Mode, spec: &JobSpec) -> Vec<Problem> {
    let missing: Vec<_> = needed(table, mode)
        .map(|role| role.name)
        .filter(|role| !has(spec, role))
        .collect();
    let broken = runs_in(table, mode, spec) && !missing.is_empty();
    let message = || {
        format!(
            "{}; missing: {}",
            needs_message(table, mode),
            missing.join(" ")
        )
    };
    broken
        .then(|| Problem::error(ROLES, message()))
        .into_iter()
        .collect()
}

fn needs_message(table: &RoleTable, mode: &Mode) -> String {
    format!(
        "{} needs {}",
        mode.name,
        cel::all(needed(table, mode).map(|role| role.name))
    )
}

pub(super) fn chief_cel(table: &RoleTable, mode: &Mode) -> Validation {
    let any = cel::has_replica_of_any(MAP, chiefs(table, mode));
    validation(
        &format!("!{} || {any}", runs_in_cel(table, mode)),
        chief_message(mode),
    )
}

pub(super) fn chief(table: &RoleTable, mode: &Mode, spec: &JobSpec) -> Vec<Problem> {
    let broken =
        runs_in(table, mode, spec) && !chiefs(table, mode).any(|role| has_replica(spec, role));
    broken
        .then(|| Problem::error(ROLES, chief_message(mode)))
        .into_iter()
        .collect()
}

fn chief_message(mode: &Mode) -> String {
    let each: Vec<_> = mode.chief.iter().map(|name| format!("a {name}")).collect();
    format!(
        "{} needs {} (replicas 1 or more)",
        mode.name,
        cel::either(each.iter().map(String::as_str))
    )
}

fn workers(table: &RoleTable) -> impl Iterator<Item = &'static Role> {
    let all = table.modes.iter().flat_map(|mode| mode.workers);
    all.filter_map(|name| table.find(name))
        .map(|id| table.role(id))
}

pub(super) fn all_workers_cel(table: &RoleTable) -> Validation {
    let any = cel::has_replica_of_any(MAP, workers(table));
    let any = if any.is_empty() { "false" } else { &any };
    let known = has_only_known_cel(table, MAP);
    let mut validation = validation(
        &format!(
            "!has(self.successPolicy) || self.successPolicy != 'AllWorkers' || !{known} || {any}"
        ),
        all_workers_message(table),
    );
    validation.field_path = Some(".successPolicy".to_owned());
    validation
}

pub(super) fn all_workers(table: &RoleTable, spec: &JobSpec) -> Vec<Problem> {
    let asked = spec.success_policy == Some(SuccessPolicy::AllWorkers);
    let broken =
        asked && has_only_known(table, spec) && !workers(table).any(|role| has_replica(spec, role));
    broken
        .then(|| Problem::error("spec.successPolicy", all_workers_message(table)))
        .into_iter()
        .collect()
}

fn all_workers_message(table: &RoleTable) -> String {
    let each: Vec<_> = workers(table)
        .map(|role| format!("a {}", role.name))
        .collect();
    if each.is_empty() {
        return "AllWorkers is not possible: no role is a worker".to_owned();
    }
    format!(
        "AllWorkers needs {} (replicas 1 or more): leave successPolicy out in a job without one",
        cel::either(each.iter().map(String::as_str))
    )
}
