//! Rules about edits.

use super::ListSubject;
use super::words::{entries, role_named, role_of};
use crate::problem::Problem;
use crate::role::{ListForm, RoleTable};
use crate::schema::Place;
use crate::schema::rule::Validation;

const RUNTIME_ID: &str = "is immutable: the names of the job's pods are made of it";
const TEMPLATE: &str = "the template of a role can be edited only when the job has ended";

pub(super) fn runtime_id_cel() -> Validation {
    Validation::new(
        Place::Spec,
        "!has(oldSelf.RuntimeId) || oldSelf.RuntimeId == '' || \
         (has(self.RuntimeId) && self.RuntimeId == oldSelf.RuntimeId)",
        format!("RuntimeId {RUNTIME_ID}"),
    )
    .about(".RuntimeId")
}

pub(super) fn runtime_id(job: &ListSubject<'_>) -> Vec<Problem> {
    let id = job.old.and_then(|(spec, _)| spec.runtime_id.clone());
    let changed = id.is_some_and(|id| !id.is_empty() && job.spec.runtime_id.as_ref() != Some(&id));
    let problem = changed.then(|| Problem::error("spec.RuntimeId", RUNTIME_ID));
    problem.into_iter().collect()
}

pub(super) fn templates_cel(table: &RoleTable, form: ListForm) -> Validation {
    let (new, old) = ("self.spec.replicaSpecs", "oldSelf.spec.replicaSpecs");
    let there = format!("(has(self.spec) && has({new}) && has(oldSelf.spec) && has({old}))");
    let finished = "(has(oldSelf.status) && has(oldSelf.status.state) && \
                    oldSelf.status.state in ['Succeeded','Failed'])";
    let differ = format!(
        "{} != {}",
        role_of(table, form, "e"),
        role_of(table, form, "f")
    );
    let same = "has(e.template) && has(f.template) && e.template == f.template";
    Validation::new(
        Place::Object,
        format!("!{there} || {finished} || {new}.all(e, {old}.all(f, {differ} || ({same})))"),
        TEMPLATE,
    )
    .about(".spec.replicaSpecs")
}

pub(super) fn templates(table: &RoleTable, form: ListForm, job: &ListSubject<'_>) -> Vec<Problem> {
    let Some((old, false)) = job.old else {
        return Vec::new();
    };
    let role = |entry| role_named(table, form, entry);
    let edited = entries(job.spec).any(|(_, new)| {
        entries(old).any(|(_, old)| role(old) == role(new) && old.template != new.template)
    });
    let problem = edited.then(|| Problem::error("spec.replicaSpecs", TEMPLATE));
    problem.into_iter().collect()
}
