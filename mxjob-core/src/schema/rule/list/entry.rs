//! Rules about single entries.

use super::ListSubject;
use super::words::{count, entries, replicas_of, role_named, role_of, words};
use crate::api::v1alpha1::JobSpec;
use crate::conversion::ID_LENGTH;
use crate::problem::Problem;
use crate::role::{ListForm, RoleTable};
use crate::schema::Place;
use crate::schema::rule::name::LABEL;
use crate::schema::rule::{Validation, cel};

pub(super) fn role_cel(table: &RoleTable, form: ListForm) -> Validation {
    let what = form.legacy.role_words;
    let words = words(table);
    let known: Vec<_> = words.iter().map(|word| cel::text(word)).collect();
    let allowed = format!("must be one of [{}]", words.join(" "));
    let field = "self.mxReplicaType";
    Validation::new(
        Place::Entry,
        format!(
            "!has({field}) || {field} == '' || {field} in [{}]",
            known.join(",")
        ),
        format!("{what} {allowed}"),
    )
    .saying(format!("'{what} is ' + {field} + ' but {allowed}'"))
    .about(".mxReplicaType")
}

pub(super) fn role(table: &RoleTable, form: ListForm, spec: &JobSpec) -> Vec<Problem> {
    let what = form.legacy.role_words;
    let words = words(table);
    let foreign = entries(spec).filter_map(|(path, entry)| {
        let name = entry.mx_replica_type.as_deref().unwrap_or_default();
        (!name.is_empty() && !words.iter().any(|word| word == name)).then(|| {
            let allowed = words.join(" ");
            Problem::error(
                format!("{path}.mxReplicaType"),
                format!("{what} is {name} but must be one of [{allowed}]"),
            )
        })
    });
    foreign.collect()
}

fn no_container(table: &RoleTable, form: ListForm) -> String {
    format!("{} {}", form.legacy.container_words, table.container)
}

pub(super) fn container_cel(table: &RoleTable, form: ListForm) -> Validation {
    let container = table.container;
    let lacks = no_container(table, form);
    let named = format!("c.name == {}", cel::text(container));
    let containers = "self.template.spec.containers";
    let there = format!("has(self.template) && has(self.template.spec) && has({containers})");
    Validation::new(
        Place::Entry,
        format!("{there} && {containers}.exists(c, has(c.name) && {named})"),
        format!("the replica {lacks}"),
    )
    .saying(format!(
        "'Replica type ' + {} + ' {lacks}'",
        role_of(table, form, "self")
    ))
    .about(".template")
}

pub(super) fn container(table: &RoleTable, form: ListForm, spec: &JobSpec) -> Vec<Problem> {
    let lacks = no_container(table, form);
    let lacking = entries(spec).filter(|(_, entry)| {
        let pod = entry.template.spec.as_ref();
        !pod.is_some_and(|pod| pod.containers.iter().any(|one| one.name == table.container))
    });
    lacking
        .map(|(path, entry)| {
            let role = role_named(table, form, entry);
            let message = format!("Replica type {role} {lacks}");
            Problem::error(format!("{path}.template"), message)
        })
        .collect()
}

/// Field of a spec with the image of the job's containers that name none.
const IMAGE: &str = "mxImage";

pub(super) fn image_cel(table: &RoleTable, form: ListForm) -> Validation {
    let ours = cel::text(table.container);
    let ours = format!("(has(self.name) && self.name == {ours}) || ");
    let ours = if form.has(IMAGE) { &ours } else { "" };
    Validation::new(
        Place::EntryContainer,
        format!("{ours}(has(self.image) && size(self.image) > 0)"),
        "image is required: name the image that the container runs",
    )
    .about(".image")
}

pub(super) fn image(table: &RoleTable, form: ListForm, spec: &JobSpec) -> Vec<Problem> {
    let containers = entries(spec).flat_map(|(path, entry)| {
        let pod = entry.template.spec.as_ref();
        let lists = [
            ("containers", pod.map(|pod| pod.containers.as_slice())),
            (
                "initContainers",
                pod.and_then(|pod| pod.init_containers.as_deref()),
            ),
        ];
        lists.into_iter().flat_map(move |(list, containers)| {
            let path = format!("{path}.template.spec.{list}");
            let containers = containers.unwrap_or_default().iter().enumerate();
            containers.map(move |(at, one)| (format!("{path}[{at}].image"), one))
        })
    });
    let bare = containers.filter(|(_, one)| {
        let filled_in = form.has(IMAGE) && one.name == table.container;
        !filled_in && one.image.as_deref().unwrap_or_default().is_empty()
    });
    bare.map(|(path, _)| {
        Problem::error(path, "is required: name the image that the container runs")
    })
    .collect()
}

const ALWAYS: &str = "must be OnFailure or Never: the replica is a Job of batch/v1, which ends";

pub(super) fn restart_cel() -> Validation {
    let pod = "self.template.spec";
    let there = format!("has(self.template) && has({pod}) && has({pod}.restartPolicy)");
    Validation::new(
        Place::Entry,
        format!("!({there}) || {pod}.restartPolicy != 'Always'"),
        format!("restartPolicy {ALWAYS}"),
    )
    .about(".template")
}

pub(super) fn restart(spec: &JobSpec) -> Vec<Problem> {
    let always = entries(spec).filter(|(_, entry)| {
        let pod = entry.template.spec.as_ref();
        pod.and_then(|pod| pod.restart_policy.as_deref()) == Some("Always")
    });
    always
        .map(|(path, _)| Problem::error(format!("{path}.template.spec.restartPolicy"), ALWAYS))
        .collect()
}

/// What a pod's name has besides the job's, the role's and the index: a runtime id and hyphens.
const FIXED: usize = "---".len() + ID_LENGTH;

const LONG: &str = "the name of the last pod of a role, <job>-<role>-<RuntimeId>-<highest index>, is longer than 63 \
                    characters: shorten metadata.name";

pub(super) fn pod_names_cel(table: &RoleTable, form: ListForm) -> Validation {
    let entries = "self.spec.replicaSpecs";
    let old = "oldSelf.value().spec.replicaSpecs";
    let count = replicas_of("e");
    // One that was stored before there was this rule takes a status and labels, and loses finalizers. To
    // look up each entry of then is over the cost budget: the list has no known length there.
    let same = format!(
        "(oldSelf.hasValue() && has(oldSelf.value().spec) && has({old}) && {entries} == {old})"
    );
    let fits = format!(
        "size(self.metadata.name) + size({}) + {FIXED} + size(string({count} > 0 ? {count} - 1 : 0)) <= {LABEL}",
        role_of(table, form, "e")
    );
    // A name that is too long by itself is another rule's to refuse.
    let told = format!("size(self.metadata.name) > {LABEL}");
    Validation::new(
        Place::Object,
        format!(
            "!(has(self.spec) && has({entries})) || {same} || {told} || {entries}.all(e, {fits})"
        ),
        LONG,
    )
    .about(".metadata.name")
    .seeing_creation()
}

pub(super) fn pod_names(table: &RoleTable, form: ListForm, job: &ListSubject<'_>) -> Vec<Problem> {
    let same = |(old, _): (&JobSpec, bool)| old.replica_specs == job.spec.replica_specs;
    if job.old.is_some_and(same) {
        return Vec::new();
    }
    let name = job.name.chars().count();
    let long = entries(job.spec).any(|(_, entry)| {
        let index = (count(entry) - 1).max(0).to_string();
        let role = role_named(table, form, entry);
        name <= LABEL && name + role.len() + FIXED + index.len() > LABEL
    });
    let problem = long.then(|| Problem::error("metadata.name", LONG));
    problem.into_iter().collect()
}
