//! What is wrong with a job: its structure, the rules of its role set, and what is merely odd.

mod operator;
mod structure;
#[cfg(test)]
mod tests;
mod warnings;

use serde_json::Value;

use crate::api::v1::JobSpec;
use crate::problem::Problem;
use crate::role::RoleTable;
use crate::schema::rule::{Before, Rule, Subject};

pub use crate::schema::Path;
pub use crate::schema::rule::MAX_REPLICAS;
pub use structure::Structure;
pub use warnings::warnings;

/// Walks an object along the schema: wrong types, missing fields and values out of bounds are
/// errors, fields that the schema does not have are warnings. Fast after the first call.
pub fn structure(table: &'static RoleTable, object: &Value) -> Vec<Problem> {
    Structure::of(table).check(object)
}

/// Judges a job as if it were just being created: every rule that admission has, and those that
/// only the operator can check. For a spec whose structure has no errors.
pub fn rules(table: &'static RoleTable, name: &str, spec: &JobSpec) -> Vec<Problem> {
    let mut problems = verdicts(
        table,
        &Subject {
            name,
            spec,
            old: None,
        },
    );
    problems.extend(operator::port_clashes(table, spec));
    problems
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
