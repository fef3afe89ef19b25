//! Rules about the mode that a job says, and the roles that it must have then.

use super::job::{ROLES, problem};
use super::words::{
    DIST, LOCAL, count, entries, every, missing_chief, replicas_of, role_named, role_of, word,
};
use super::{ListSubject, MODE};
use crate::api::v1alpha1::JobSpec;
use crate::problem::Problem;
use crate::role::{ListForm, RoleId, RoleTable};
use crate::schema::Place;
use crate::schema::rule::{Validation, cel};

/// As its first operator spelled it.
const UNKNOWN: &str = "unkonw job mode ";

fn is(mode: &str) -> String {
    format!("has(self.{MODE}) && self.{MODE} == '{mode}'")
}

/// A rule about the entries of a job that says `mode`.
fn in_mode(mode: &str, condition: &str, message: impl Into<String>) -> Validation {
    let rule = format!(
        "!has(self.replicaSpecs) || !({}) || ({condition})",
        is(mode)
    );
    Validation::new(Place::Spec, rule, message).about(".replicaSpecs")
}

fn says(spec: &JobSpec, mode: &str) -> bool {
    spec.job_mode.as_deref() == Some(mode)
}

fn one_of_two() -> String {
    format!(": must be {DIST} or {LOCAL}")
}

pub(super) fn known_cel() -> Validation {
    let known = [DIST, LOCAL].map(is);
    let [dist, local] = known.each_ref().map(String::as_str);
    Validation::new(
        Place::Spec,
        format!("({dist}) || ({local})"),
        UNKNOWN.trim_end(),
    )
    .saying(format!(
        "'{UNKNOWN}' + (has(self.{MODE}) ? self.{MODE} : '') + '{}'",
        one_of_two()
    ))
    .about(".jobMode")
}

pub(super) fn known(spec: &JobSpec) -> Vec<Problem> {
    let mode = spec.job_mode.as_deref().unwrap_or_default();
    problem(
        ![DIST, LOCAL].contains(&mode),
        "spec.jobMode",
        format!("{UNKNOWN}{mode}{}", one_of_two()),
    )
}

const STAYS: &str = "is immutable: create a new job for another mode";

pub(super) fn stays_cel() -> Validation {
    // One that was stored before these rules can be mended.
    let known = format!("oldSelf.{MODE} in ['{DIST}','{LOCAL}']");
    Validation::new(
        Place::Spec,
        format!("!has(oldSelf.{MODE}) || !({known}) || !has(self.{MODE}) || self.{MODE} == oldSelf.{MODE}"),
        format!("{MODE} {STAYS}"),
    )
    .about(".jobMode")
}

pub(super) fn stays(job: &ListSubject<'_>) -> Vec<Problem> {
    let before = job.old.and_then(|(spec, _)| spec.job_mode.as_deref());
    let before = before.filter(|mode| [DIST, LOCAL].contains(mode));
    let modes = before.zip(job.spec.job_mode.as_deref());
    problem(
        modes.is_some_and(|(old, new)| old != new),
        "spec.jobMode",
        STAYS,
    )
}

fn without(word: &str) -> String {
    format!("{DIST} job mode without replica type {word}")
}

pub(super) fn role_cel(table: &RoleTable, form: ListForm, id: RoleId) -> Validation {
    let word = word(table, id);
    let role = role_of(table, form, "e");
    let found = format!(
        "self.replicaSpecs.exists(e, {role} == {})",
        cel::text(&word)
    );
    in_mode(DIST, &found, without(&word))
}

pub(super) fn role(table: &RoleTable, form: ListForm, id: RoleId, spec: &JobSpec) -> Vec<Problem> {
    let word = word(table, id);
    let found = entries(spec).any(|(_, entry)| role_named(table, form, entry) == word);
    problem(says(spec, DIST) && !found, ROLES, without(&word))
}

/// The entry `e` is of the role that a local job has.
fn is_worker(table: &RoleTable, form: ListForm) -> String {
    let worker = cel::text(&word(table, form.worker));
    format!("{} == {worker}", role_of(table, form, "e"))
}

fn only(worker: &str) -> String {
    let worker = worker.to_ascii_lowercase();
    format!("job mode is {LOCAL}, but its replicas set have replicas type other than {worker}")
}

pub(super) fn alone_cel(table: &RoleTable, form: ListForm) -> Validation {
    let alone = every(&is_worker(table, form));
    in_mode(LOCAL, &alone, only(&word(table, form.worker)))
}

fn alone_in(table: &RoleTable, form: ListForm, spec: &JobSpec) -> bool {
    let worker = word(table, form.worker);
    entries(spec).all(|(_, entry)| role_named(table, form, entry) == worker)
}

pub(super) fn alone(table: &RoleTable, form: ListForm, spec: &JobSpec) -> Vec<Problem> {
    let is_broken = says(spec, LOCAL) && !alone_in(table, form, spec);
    problem(is_broken, ROLES, only(&word(table, form.worker)))
}

fn more(worker: &str) -> String {
    let worker = worker.to_ascii_lowercase();
    format!("job mode is {LOCAL}, but it has more than 1 {worker}")
}

pub(super) fn one_cel(table: &RoleTable, form: ListForm) -> Validation {
    let (worker, count) = (is_worker(table, form), replicas_of("e"));
    let fits = every(&format!("!({worker}) || {count} <= 1"));
    in_mode(LOCAL, &fits, more(&word(table, form.worker)))
}

pub(super) fn one(table: &RoleTable, form: ListForm, spec: &JobSpec) -> Vec<Problem> {
    let worker = word(table, form.worker);
    let has_more = entries(spec)
        .any(|(_, entry)| role_named(table, form, entry) == worker && count(entry) > 1);
    problem(says(spec, LOCAL) && has_more, ROLES, more(&worker))
}

// An entry of no replicas is one, as it always was.
pub(super) fn worker_cel(table: &RoleTable, form: ListForm) -> Validation {
    let missing = missing_chief(&word(table, form.worker));
    in_mode(LOCAL, "self.replicaSpecs.size() > 0", missing)
}

pub(super) fn worker(table: &RoleTable, form: ListForm, spec: &JobSpec) -> Vec<Problem> {
    let is_broken = says(spec, LOCAL) && spec.replica_specs.is_empty();
    let missing = missing_chief(&word(table, form.worker));
    problem(is_broken, ROLES, missing)
}
