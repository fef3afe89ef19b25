//! Rules about edits of a job.

use super::mode::{effective, effective_cel, may_be_meant, meant_cel};
use super::roles::path;
use super::shown::Fields;
use super::{Subject, Validation, cel};
use crate::api::v1::{JobSpec, ReplicaSpec};
use crate::problem::Problem;
use crate::role::{Mode, RoleTable};
use crate::schema::Place;

const MANAGED_BY: &str = "is immutable: create a new job to hand it to another controller";

pub(super) fn managed_by_cel() -> Validation {
    let manager = |spec: &str| {
        format!(
            "(has({spec}.runPolicy) && has({spec}.runPolicy.managedBy) ? {spec}.runPolicy.managedBy : '')"
        )
    };
    let rule = format!("{} == {}", manager("self"), manager("oldSelf"));
    Validation::new(
        Place::Spec,
        rule,
        format!("runPolicy.managedBy {MANAGED_BY}"),
    )
    .about(".runPolicy.managedBy")
}

pub(super) fn managed_by(job: &Subject<'_>) -> Vec<Problem> {
    let manager = |spec: &JobSpec| {
        spec.run_policy
            .clone()
            .and_then(|run| run.managed_by)
            .unwrap_or_default()
    };
    let broken = job
        .old
        .is_some_and(|old| manager(old.spec) != manager(job.spec));
    broken
        .then(|| Problem::error("spec.runPolicy.managedBy", MANAGED_BY))
        .into_iter()
        .collect()
}

const MODE: &str = "create a new job for another mode";

pub(super) fn mode_cel(table: &RoleTable) -> Validation {
    let before = effective_cel(table, "oldSelf");
    // Where the roles are mixed another rule speaks; a job that had no mode, '', has none to keep.
    let rule = format!(
        "!has(self.mxReplicaSpecs) || !has(oldSelf.mxReplicaSpecs) || {before} in {}",
        meant_cel(table)
    );
    Validation::new(Place::Spec, rule, format!("jobMode is immutable; {MODE}"))
        .saying(format!(
            "'jobMode is immutable: it is ' + {before} + '; {MODE}'"
        ))
        .about(".jobMode")
}

pub(super) fn mode(table: &'static RoleTable, job: &Subject<'_>) -> Vec<Problem> {
    let before = job.old.and_then(|old| effective(table, old.spec));
    let left = before.filter(|before| !may_be_meant(table, before, job.spec));
    let message = |before: &Mode| format!("is immutable: it is {}; {MODE}", before.name);
    left.map(|before| Problem::error("spec.jobMode", message(before)))
        .into_iter()
        .collect()
}

const TEMPLATE: &str = "can be edited only while the job is suspended or finished: set spec.runPolicy.suspend to true \
                        first";

/// The same where there is no such field.
const TEMPLATE_BEFORE: &str =
    "can be edited only when the job is finished; at v1 also while it is suspended";

/// The version whose templates are compared.
#[derive(Clone, Copy, Debug)]
pub(super) enum Templates<'a> {
    V1,
    /// It has no field for suspending a job, and shows the job's port.
    V1Beta1(&'a RoleTable, &'a Fields),
}

pub(super) fn templates_cel(version: Templates<'_>) -> Validation {
    // A root rule, because only there suspend, the status and the templates can be seen together.
    let (new, old) = ("self.spec.mxReplicaSpecs", "oldSelf.spec.mxReplicaSpecs");
    let there = format!("(has(self.spec) && has({new}) && has(oldSelf.spec) && has({old}))");
    let suspended = "(has(oldSelf.spec.runPolicy) && has(oldSelf.spec.runPolicy.suspend) && \
                     oldSelf.spec.runPolicy.suspend) || ";
    let (suspended, alike, advice) = match version {
        Templates::V1 => (suspended, None, TEMPLATE),
        Templates::V1Beta1(table, fields) => {
            ("", Some(fields.alike(table, new, old)), TEMPLATE_BEFORE)
        }
    };
    let finished = "(has(oldSelf.status) && has(oldSelf.status.conditions) && \
                    oldSelf.status.conditions.exists(c, has(c.type) && c.type in ['Succeeded','Failed'] && \
                    has(c.status) && c.status == 'True'))";
    let (one, other) = (format!("{new}[n].template"), format!("{old}[k].template"));
    let same =
        format!("(has({one}) && has({other}) ? {one} == {other} : has({one}) == has({other}))");
    let twin = "n.lowerAscii() == k.lowerAscii()";
    let mut changed = format!("{new}.exists(n, {twin} && !{same})");
    let mut kept = format!("{new}.all(n, n.lowerAscii() != k.lowerAscii() || {same})");
    if let Some(alike) = alike {
        changed = format!("{changed} && !{alike}");
        kept = format!("{kept} || {alike}");
    }
    Validation::new(
        Place::Object,
        // One that was stored with a role in two letter cases is like itself.
        format!("!{there} || {suspended}{finished} || {new} == {old} || {old}.all(k, {kept})"),
        format!("the template of a role {advice}"),
    )
    .saying(format!(
        "{} + '.template {advice}'",
        cel::a_key(old, &changed)
    ))
    .about(".spec.mxReplicaSpecs")
}

pub(super) fn templates(job: &Subject<'_>) -> Vec<Problem> {
    let Some(old) = job.old else {
        return Vec::new();
    };
    let suspended = old
        .spec
        .run_policy
        .as_ref()
        .and_then(|run| run.suspend)
        .unwrap_or(false);
    let same = job.spec.mx_replica_specs == old.spec.mx_replica_specs;
    if suspended || old.finished || same {
        return Vec::new();
    }
    let changed = |key: &str, entry: &ReplicaSpec| {
        let twins = old
            .spec
            .mx_replica_specs
            .iter()
            .filter(|(other, _)| other.eq_ignore_ascii_case(key));
        twins
            .into_iter()
            .any(|(_, before)| before.template != entry.template)
    };
    let edited = job
        .spec
        .mx_replica_specs
        .iter()
        .filter(|(key, entry)| changed(key, entry));
    edited
        .map(|(key, _)| Problem::error(format!("{}.template", path(key)), TEMPLATE))
        .collect()
}
