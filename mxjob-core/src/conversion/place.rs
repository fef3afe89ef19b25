//! Where a field of a v1 object stands in the older object that it was made of.

use serde_json::Value;

use super::held::Held;
use super::sections::{LIST, ROLES, SPEC, role_of};
use super::v1alpha1::POLICY;
use super::{adopt, convert, runtime_id};
use crate::api::Version;
use crate::problem::Problem;
use crate::role::RoleTable;

/// Fields that only `v1alpha1` has: nothing of v1 is called so.
const OWN: [&str; 3] = [LIST, POLICY, runtime_id::KEY];

/// The path in `object`, of `version`, of what `path` names in its v1 form; of what has no field of
/// its own there, the spec.
pub fn path_before(table: &RoleTable, version: Version, object: &Value, path: &str) -> String {
    let below = path.strip_prefix("spec.").unwrap_or_default();
    let role = below
        .strip_prefix(ROLES)
        .and_then(|rest| rest.strip_prefix('.'));
    match (version, role) {
        (Version::V1Alpha1, Some(rest)) => {
            let (name, field) = rest
                .find(['.', '['])
                .map_or((rest, ""), |at| rest.split_at(at));
            let list = object.get(SPEC).and_then(|spec| spec.get(LIST));
            let mut list = list.and_then(Value::as_array).into_iter().flatten();
            let at = list.position(|entry| role_of(table, entry) == table.find(name));
            at.map_or_else(
                || SPEC.to_owned(),
                |at| format!("{SPEC}.{LIST}[{at}]{field}"),
            )
        }
        (Version::V1Alpha1, None) if OWN.iter().any(|own| below.starts_with(own)) => {
            path.to_owned()
        }
        (Version::V1Alpha1, None) if !below.is_empty() => SPEC.to_owned(),
        (Version::V1Beta1, None) if below.starts_with("runPolicy") => SPEC.to_owned(),
        _ => path.to_owned(),
    }
}

/// What is wrong with a v1 object, where it stands at the version that the object was made at, as far as
/// that is known.
pub(crate) fn as_made(
    table: &'static RoleTable,
    object: &Value,
    problems: Vec<Problem>,
) -> Vec<Problem> {
    let origin = Held::read(object).map(|held| held.origin);
    let Some(origin) = origin.filter(|origin| *origin != Version::V1) else {
        return problems;
    };
    let mut object = object.clone();
    adopt(table, &mut object);
    let Ok(before) = convert(table, object, origin) else {
        return problems;
    };
    let told = |problem: Problem| Problem {
        path: path_before(table, origin, &before, &problem.path),
        ..problem
    };
    problems.into_iter().map(told).collect()
}
