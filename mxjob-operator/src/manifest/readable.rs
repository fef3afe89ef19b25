//! The part of a spec that can be judged although some of it does not fit its types.

use mxjob_core::api::v1::JobSpec;
use mxjob_core::problem::Problem;
use serde_json::{Map, Value};

/// The field of a role that has no default.
const TEMPLATE: &str = "template";

/// A spec without what does not fit its types.
#[derive(Debug)]
pub(super) struct Readable {
    /// What is left.
    pub(super) spec: JobSpec,
    dropped: Vec<String>,
}

impl Readable {
    /// Of a spec with errors in its structure, all that can be read.
    pub(super) fn new(spec: Option<&Value>, problems: &[Problem]) -> Self {
        let mut left = spec.cloned().unwrap_or_default();
        let mut dropped: Vec<_> = problems
            .iter()
            .filter(|one| one.is_error())
            .map(|one| one.path.clone())
            .collect();
        for path in dropped.iter().filter_map(|path| path.strip_prefix("spec.")) {
            drop_field(&mut left, &steps(path));
        }
        if let Ok(spec) = serde_json::from_value(left) {
            return Self { spec, dropped };
        }
        dropped.push("spec".to_owned());
        Self {
            spec: JobSpec::default(),
            dropped,
        }
    }

    /// False when a problem is about something that is not as the user wrote it, or about a list
    /// with an item whose fields are not: what lacks may be the very one.
    pub(super) fn can_tell(&self, problem: &Problem) -> bool {
        let path = &problem.path;
        let of_item = |below: &str| below.starts_with('[') && steps(below).len() <= 2;
        let near = |place: &String| {
            path.starts_with(place) || place.strip_prefix(path.as_str()).is_some_and(of_item)
        };
        !self.dropped.iter().any(near)
    }
}

/// The steps of a path like `containers[0].limits[nvidia.com/gpu]` or `.containers`.
fn steps(path: &str) -> Vec<&str> {
    let mut steps = Vec::new();
    let mut rest = path.strip_prefix('.').unwrap_or(path);
    while !rest.is_empty() {
        let (step, after) = match rest.strip_prefix('[') {
            Some(bracket) => bracket.split_once(']').unwrap_or((bracket, "")),
            None => rest.split_at(rest.find(['.', '[']).unwrap_or(rest.len())),
        };
        steps.push(step);
        rest = after.strip_prefix('.').unwrap_or(after);
    }
    steps
}

/// Removes a field; of a list's item the list, so that no index moves. A template that lacks is there
/// then, empty: other types have defaults.
fn drop_field(value: &mut Value, steps: &[&str]) {
    match (steps, value) {
        ([last], Value::Object(fields)) => {
            let lacking = fields.remove(*last).is_none();
            if lacking && *last == TEMPLATE {
                fields.insert((*last).to_owned(), Value::Object(Map::new()));
            }
        }
        ([list, _], Value::Object(fields)) if fields.get(*list).is_some_and(Value::is_array) => {
            fields.remove(*list);
        }
        ([first, rest @ ..], Value::Object(fields)) => {
            fields
                .get_mut(*first)
                .into_iter()
                .for_each(|below| drop_field(below, rest));
        }
        ([first, rest @ ..], Value::Array(items)) => {
            let item = first
                .parse()
                .ok()
                .and_then(|index: usize| items.get_mut(index));
            if let Some(below) = item {
                drop_field(below, rest);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn splits_paths() {
        assert_eq!(steps("a.b[0].c[x.y/z]"), ["a", "b", "0", "c", "x.y/z"]);
    }

    #[test]
    fn drops_fields_and_lists_and_fills_gaps() {
        let mut value = json!({"a": [{"b": 1, "args": [true]}, {"c": {"x/y": []}}]});
        for path in [
            "a[0].b",
            "a[0].args[0]",
            "a[1].c[x/y]",
            "a[1].template",
            "a[1].name",
        ] {
            drop_field(&mut value, &steps(path));
        }
        assert_eq!(value, json!({"a": [{}, {"c": {}, "template": {}}]}));
    }
}
