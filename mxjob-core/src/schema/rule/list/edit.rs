//! Rules about edits.

use super::ListSubject;
use super::words::{ID_LETTERS, can_stand_in_names, entries, role_named, role_of};
use crate::api::v1alpha1::{JobSpec, ReplicaSpec};
use crate::conversion::ID_LENGTH as LENGTH;
use crate::problem::Problem;
use crate::role::{ListForm, RoleTable};
use crate::schema::Place;
use crate::schema::rule::{Validation, cel};

const RUNTIME_ID: &str = "is immutable: the names of the job's pods are made of it";

fn only_at_the_end(form: ListForm) -> String {
    let port = form.legacy.port_field;
    let others: Vec<_> = of_all_templates(form).map(|(field, _)| field).collect();
    let what = match others.as_slice() {
        [] => format!("the template of a role and its {port}"),
        others => format!(
            "the template of a role, its {port}, {}",
            others.join(" and ")
        ),
    };
    format!("{what} can be edited only when the job has ended")
}

/// Fields of a spec that all templates get something of, as far as the resource has them, with what
/// they are by default.
fn of_all_templates(form: ListForm) -> impl Iterator<Item = (&'static str, &'static str)> {
    let fields = [("mxImage", form.legacy.image), ("schedulerName", "")];
    fields.into_iter().filter(move |(field, _)| form.has(field))
}

pub(super) fn runtime_id_cel() -> Validation {
    Validation::new(
        Place::Spec,
        // A manifest that has none can be replaced as it is: the one that is shown there was filled in.
        "!has(oldSelf.RuntimeId) || oldSelf.RuntimeId == '' || \
         !has(self.RuntimeId) || self.RuntimeId == '' || self.RuntimeId == oldSelf.RuntimeId",
        format!("RuntimeId {RUNTIME_ID}"),
    )
    .about(".RuntimeId")
}

pub(super) fn runtime_id(job: &ListSubject<'_>) -> Vec<Problem> {
    let old = job.old.and_then(|(spec, _)| id_of(spec));
    let changed = old.is_some_and(|old| id_of(job.spec).is_some_and(|new| new != old));
    let problem = changed.then(|| Problem::error("spec.RuntimeId", RUNTIME_ID));
    problem.into_iter().collect()
}

fn id_of(spec: &JobSpec) -> Option<&str> {
    spec.runtime_id.as_deref().filter(|id| !id.is_empty())
}

fn form_message() -> String {
    format!("must be four {ID_LETTERS}")
}

pub(super) fn form_cel() -> Validation {
    // One that was stored before this rule stays.
    let same = "oldSelf.hasValue() && has(oldSelf.value().RuntimeId) && \
                oldSelf.value().RuntimeId == self.RuntimeId";
    Validation::new(
        Place::Spec,
        format!(
            "!has(self.RuntimeId) || self.RuntimeId == '' || ({same}) || \
             self.RuntimeId.matches('^[a-z0-9]{{{LENGTH}}}$')"
        ),
        format!("RuntimeId {}", form_message()),
    )
    .about(".RuntimeId")
    .seeing_creation()
}

pub(super) fn form(job: &ListSubject<'_>) -> Vec<Problem> {
    let old = job.old.and_then(|(spec, _)| id_of(spec));
    let fits = |id: &str| id.len() == LENGTH && can_stand_in_names(id);
    let broken = id_of(job.spec).is_some_and(|id| old != Some(id) && !fits(id));
    let problem = broken.then(|| Problem::error("spec.RuntimeId", form_message()));
    problem.into_iter().collect()
}

pub(super) fn templates_cel(table: &RoleTable, form: ListForm) -> Validation {
    let (new, old) = ("self.spec.replicaSpecs", "oldSelf.spec.replicaSpecs");
    let there = format!("(has(self.spec) && has({new}) && has(oldSelf.spec) && has({old}))");
    // The first operators left some jobs with the one word, some with the other.
    let finished = "(has(oldSelf.status) && (\
                    has(oldSelf.status.state) && oldSelf.status.state in ['Succeeded','Failed'] || \
                    has(oldSelf.status.phase) && oldSelf.status.phase == 'Failed'))";
    let differ = format!(
        "{} != {}",
        role_of(table, form, "e"),
        role_of(table, form, "f")
    );
    // One that was stored with two entries of a role is like itself.
    // A port that one side leaves to the default is not compared: an apply leaves it out again.
    let port = form.legacy.port_field;
    let same = format!(
        "has(e.template) && has(f.template) && e.template == f.template && \
         (!has(e.{port}) || !has(f.{port}) || e.{port} == f.{port})"
    );
    let kept = |(field, default): (&str, &str)| {
        let default = cel::text(default);
        let value = |of: &str| format!("(has({of}.spec.{field}) ? {of}.spec.{field} : {default})");
        format!("{} == {} && ", value("self"), value("oldSelf"))
    };
    let kept: String = of_all_templates(form).map(kept).collect();
    Validation::new(
        Place::Object,
        format!(
            "!{there} || {finished} || \
             ({kept}({new} == {old} || {new}.all(e, {old}.all(f, {differ} || ({same})))))"
        ),
        only_at_the_end(form),
    )
    .about(".spec.replicaSpecs")
}

pub(super) fn templates(table: &RoleTable, form: ListForm, job: &ListSubject<'_>) -> Vec<Problem> {
    let Some((old, false)) = job.old else {
        return Vec::new();
    };
    let role = |entry| role_named(table, form, entry);
    let port_edited = |one: &ReplicaSpec, other: &ReplicaSpec| {
        let ports = one.ps_root_port.zip(other.ps_root_port);
        ports.is_some_and(|(one, other)| one != other)
    };
    let same = job.spec.replica_specs == old.replica_specs;
    let template_edited = !same
        && entries(job.spec).any(|(_, new)| {
            let mut before = entries(old).filter(|(_, old)| role(old) == role(new));
            before.any(|(_, old)| old.template != new.template || port_edited(old, new))
        });
    let image = |spec: &JobSpec| {
        let given = spec.mx_image.clone();
        given.unwrap_or_else(|| form.legacy.image.to_owned())
    };
    let scheduler = |spec: &JobSpec| spec.scheduler_name.clone().unwrap_or_default();
    let edited =
        template_edited || image(old) != image(job.spec) || scheduler(old) != scheduler(job.spec);
    let problem = edited.then(|| Problem::error("spec.replicaSpecs", only_at_the_end(form)));
    problem.into_iter().collect()
}
