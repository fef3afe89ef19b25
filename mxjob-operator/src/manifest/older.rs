//! Jobs of an older version: judged as what they are, and then as what they are at v1.

use mxjob_core::api::Version;
use mxjob_core::check::Structure;
use mxjob_core::problem::Problem;
use mxjob_core::{RoleTable, check, conversion};
use serde_json::Value;

use super::job::{UNNAMED, job_problems, name, nameless};

/// What is wrong or odd with a job; one of an older version is its v1 form afterwards.
pub(super) fn judge(
    table: &'static RoleTable,
    version: Version,
    object: &mut Value,
) -> Vec<Problem> {
    if version == Version::V1 {
        return job_problems(table, object);
    }
    let known_as = version.name_in(table);
    let message = format!(
        "{known_as} is an older version, and runs as it is: `mxjob convert` prints it as v1"
    );
    let mut problems = vec![Problem::warning("apiVersion", message)];
    let name = name(object);
    problems.extend(match version {
        Version::V1Alpha1 => check::list(table, name.as_deref().unwrap_or(UNNAMED), object),
        _ => check::structure(table, object),
    });
    problems.extend(nameless(object, name.as_deref()));
    check::drop_nulls(object);
    // It was told that they are ignored; no other version is to be blamed for them.
    Structure::of(table, version).prune(object);
    if problems.iter().any(Problem::is_error) {
        return problems;
    }
    let before = object.clone();
    match conversion::convert(table, object.take(), Version::V1) {
        Ok(converted) => *object = converted,
        Err(error) => {
            problems.push(Problem::error("", error.to_string()));
            return problems;
        }
    }
    for problem in job_problems(table, object) {
        let path = conversion::path_before(table, version, &before, &problem.path);
        // Of what has no field here, a mistake is to be told and an oddity is none; nor is a restartPolicy
        // where roles have none.
        let of_a_list = version == Version::V1Alpha1 && path.ends_with(".restartPolicy");
        if problem.is_error() || (path != "spec" && !of_a_list) {
            problems.push(Problem { path, ..problem });
        }
    }
    problems
}

/// What is wrong with a job at that version, in words.
pub(crate) fn errors(table: &'static RoleTable, version: Version, object: &Value) -> Vec<String> {
    let problems = judge(table, version, &mut object.clone()).into_iter();
    let errors = problems.filter(Problem::is_error);
    errors.map(|problem| problem.to_string()).collect()
}
