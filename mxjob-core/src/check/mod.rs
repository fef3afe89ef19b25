//! What is wrong with a job: its structure, the rules of its role set, and what is merely odd.

mod operator;
mod structure;
#[cfg(test)]
mod tests;
mod warnings;

use std::sync::Arc;

use serde_json::Value;

use crate::api::v1::JobSpec;
use crate::api::{Version, v1alpha1};
use crate::conversion::Ports;
use crate::job::JobMeta;
use crate::problem::Problem;
use crate::role::RoleTable;
use crate::schema::rule::{Before, ListRule, ListSubject, Rule, Subject, too_long};

pub use crate::schema::Path;
pub use crate::schema::rule::MAX_REPLICAS;
pub use structure::Structure;
pub use warnings::warnings;

/// Walks an object along the schema of its version, v1 when it says none that there is: wrong types, missing
/// fields, values out of bounds and fields in another spelling are errors, others that the schema does not have
/// are warnings. Fast after the first call.
pub fn structure(table: &'static RoleTable, object: &Value) -> Vec<Problem> {
    at_its_version(table, object).check(object)
}

/// The same of an object that is stored, of which a field that it does not have is no mistake.
pub(crate) fn stored_structure(table: &'static RoleTable, object: &Value) -> Vec<Problem> {
    at_its_version(table, object).check_stored(object)
}

fn at_its_version(table: &'static RoleTable, object: &Value) -> Arc<Structure> {
    let given = object.get("apiVersion").and_then(Value::as_str);
    let served = given.and_then(|given| Version::read(table, given));
    Structure::of(table, served.unwrap_or(Version::V1))
}

/// Looks at a `v1alpha1` object as [`structure`] and, where that allows it, [`list_rules`] do. That a list
/// has too many entries is told only where the rules do not say which.
pub fn list(table: &'static RoleTable, name: &str, object: &Value) -> Vec<Problem> {
    let mut problems = structure(table, object);
    let is_too_long = is_only_too_long(object, &problems);
    if problems.iter().any(Problem::is_error) && !is_too_long {
        return problems;
    }
    let rules = list_rules(table, name, object);
    if is_too_long && rules.iter().any(Problem::is_error) {
        problems.retain(|one| !one.is_error());
    }
    problems.extend(rules);
    problems
}

/// Judges a `v1alpha1` job as if it were just being created, by the rules of its version. For one
/// whose structure has no errors; what it is as v1 is to be judged too.
pub fn list_rules(table: &'static RoleTable, name: &str, object: &Value) -> Vec<Problem> {
    match list_spec(table, object) {
        Ok(spec) => {
            let spec = &spec;
            let old = None;
            list_verdicts(table, &ListSubject { name, spec, old })
        }
        Err(problem) => vec![problem],
    }
}

/// Judges a stored object of a resource whose only version has a list of roles: its structure, and
/// the rules as if it were edited and stayed what it is.
pub(crate) fn stored_list(table: &'static RoleTable, object: &Value) -> Vec<Problem> {
    let problems = Structure::of(table, Version::stored(table)).check_stored(object);
    if problems.iter().any(Problem::is_error) && !is_only_too_long(object, &problems) {
        return problems;
    }
    let spec = match list_spec(table, object) {
        Ok(spec) => spec,
        Err(problem) => return vec![problem],
    };
    let name = object.pointer("/metadata/name").and_then(Value::as_str);
    let subject = ListSubject {
        name: name.unwrap_or_default(),
        spec: &spec,
        old: Some((&spec, false)),
    };
    mended(problems, list_verdicts(table, &subject))
}

/// Where the entries of a list of roles are.
const LIST: &str = "spec.replicaSpecs";

/// The list of roles has too many entries, and nothing else is wrong with its structure: the rules can tell
/// which is one too many.
fn is_only_too_long(object: &Value, problems: &[Problem]) -> bool {
    let list = object.pointer("/spec/replicaSpecs");
    let mut errors = problems.iter().filter(|one| one.is_error());
    list.is_some_and(Value::is_array) && errors.all(|one| one.path == LIST)
}

/// What is wrong with a list by the rules; where they find nothing, by its structure.
fn mended(structure: Vec<Problem>, rules: Vec<Problem>) -> Vec<Problem> {
    let is_broken = structure.iter().any(Problem::is_error);
    if is_broken && !rules.iter().any(Problem::is_error) {
        return structure;
    }
    rules
}

/// Drops what is null from maps, as the API server does with what is not nullable, and nothing is.
pub fn drop_nulls(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|_, field| !field.is_null());
            fields.values_mut().for_each(drop_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(drop_nulls),
        _ => {}
    }
}

/// The spec of a `v1alpha1` job: the fields that its resource has, the port of an entry what that calls
/// so.
pub(crate) fn list_spec(table: &RoleTable, object: &Value) -> Result<v1alpha1::JobSpec, Problem> {
    let form = table.list_form();
    let mut spec = object.get("spec").cloned().unwrap_or_default();
    drop_nulls(&mut spec);
    if let Some((form, fields)) = form.zip(spec.as_object_mut()) {
        fields.retain(|field, _| form.has(field));
    }
    let entries = spec.get_mut("replicaSpecs").and_then(Value::as_array_mut);
    let entries = entries.into_iter().flatten();
    for entry in entries.filter_map(Value::as_object_mut) {
        let port = form.and_then(|form| entry.remove(form.legacy.port_field));
        entry.remove(v1alpha1::PORT_FIELD);
        entry.extend(port.map(|port| (v1alpha1::PORT_FIELD.to_owned(), port)));
    }
    serde_json::from_value(spec).map_err(|error| Problem::error("spec", error.to_string()))
}

fn list_verdicts(table: &'static RoleTable, subject: &ListSubject<'_>) -> Vec<Problem> {
    let rules = ListRule::of(table).into_iter();
    let problems = rules.flat_map(|rule| rule.verdict(table, subject));
    let mut problems: Vec<_> = problems.collect();
    // What the list lacks, it may have under the name that is wrong.
    let is_of_role = |one: &Problem| one.is_error() && one.path.ends_with("].mxReplicaType");
    if problems.iter().any(is_of_role) {
        problems.retain(|one| one.path != LIST);
    }
    problems
}

/// Judges a job as if it were just being created: every rule that admission has, and those that
/// only the operator can check. For a spec whose structure has no errors.
pub fn rules(table: &'static RoleTable, name: &str, spec: &JobSpec) -> Vec<Problem> {
    rules_with(table, name, spec, &Ports::default())
}

/// As [`rules`], of a job whose ports v1 cannot say.
pub fn rules_with(
    table: &'static RoleTable,
    name: &str,
    spec: &JobSpec,
    ports: &Ports,
) -> Vec<Problem> {
    let mut problems = verdicts(
        table,
        &Subject {
            name,
            spec,
            old: None,
        },
    );
    problems.extend(operator::port_clashes(table, spec, ports));
    problems
}

/// Judges the names of the pods of a job that has a runtime id. For a spec that breaks no rule.
pub(crate) fn pod_names(table: &RoleTable, meta: &JobMeta, spec: &JobSpec) -> Vec<Problem> {
    let run = meta.run.as_deref();
    let judged = run.map(|run| too_long(table, &meta.name, Some(run), spec));
    judged.unwrap_or_default()
}

/// Judges an edit as admission does; `finished`: the job had succeeded or failed before it.
pub fn edit(
    table: &'static RoleTable,
    name: &str,
    old: &JobSpec,
    finished: bool,
    new: &JobSpec,
) -> Vec<Problem> {
    let old = Some(Before {
        spec: old,
        finished,
    });
    verdicts(
        table,
        &Subject {
            name,
            spec: new,
            old,
        },
    )
}

fn verdicts(table: &'static RoleTable, subject: &Subject<'_>) -> Vec<Problem> {
    Rule::of(table)
        .into_iter()
        .flat_map(|rule| rule.verdict(table, subject))
        .collect()
}
