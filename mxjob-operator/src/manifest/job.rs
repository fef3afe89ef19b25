//! What is wrong or odd with a v1 job, and what it is called.

use mxjob_core::conversion::Ports;
use mxjob_core::problem::Problem;
use mxjob_core::{Job, RoleTable, check};
use serde_json::Value;

use super::readable::Readable;

/// What five random characters the API server puts behind `metadata.generateName`.
const GENERATED: &str = "xxxxx";

/// What is wrong or odd with a v1 job, which is without what is null afterwards.
pub(super) fn job_problems(table: &'static RoleTable, object: &mut Value) -> Vec<Problem> {
    let mut problems = check::structure(table, object);
    check::drop_nulls(object);
    let object = &*object;
    let name = name(object);
    problems.extend(nameless(object, name.as_deref()));
    let known = name.as_deref().unwrap_or(UNNAMED);
    let readable = Readable::new(object.get("spec"), &problems);
    let ports = Ports::of(table, object);
    let mut found = check::rules_with(table, known, &readable.spec, &ports);
    found.extend(check::warnings(table, &readable.spec));
    found.retain(|problem| readable.can_tell(problem));
    problems.extend(found);
    if !problems.iter().any(Problem::is_error) {
        // Whatever the operator would say that was not said yet.
        problems.extend(
            Job::read(table, &named(object))
                .spec
                .err()
                .into_iter()
                .flatten(),
        );
    }
    problems
}

/// What a job is called that has no name.
pub(super) const UNNAMED: &str = "unnamed";

pub(super) fn nameless(object: &Value, name: Option<&str>) -> Option<Problem> {
    let message = "is required: give the job a name";
    // Of one that is no text the structure tells.
    let given = object.pointer("/metadata/name");
    let is_text = given.is_none_or(|given| given.is_null() || given.is_string());
    (name.is_none() && is_text).then(|| Problem::error("metadata.name", message))
}

/// The job's name, or one like those that the API server generates.
pub(super) fn name(object: &Value) -> Option<String> {
    let text = |field: &str| {
        object
            .get("metadata")?
            .get(field)?
            .as_str()
            .filter(|text| !text.is_empty())
    };
    let generated = || text("generateName").map(|prefix| format!("{prefix}{GENERATED}"));
    text("name").map(str::to_owned).or_else(generated)
}

/// The object as the API server makes it: with a name, also when it asks for one, and without a
/// status, which is of another job.
pub(super) fn named(object: &Value) -> Value {
    let mut object = object.clone();
    if let Some(fields) = object.as_object_mut() {
        fields.shift_remove("status");
    }
    if let (Some(name), Some(metadata)) = (
        name(&object),
        object.get_mut("metadata").and_then(Value::as_object_mut),
    ) {
        metadata.insert("name".to_owned(), Value::String(name));
    }
    object
}
