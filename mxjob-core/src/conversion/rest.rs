//! What a conversion loses, as a list of differences that a later conversion puts back.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::sections::{LISTED, REST, ROLES, SPEC};
use crate::api::Version;
use crate::role::RestartPolicy;

/// Fields of a list of roles, by section, of which the other versions say the same elsewhere: the mode with
/// the roles that are there, the number of a worker that is one in any case, the rest in each template.
const ELSEWHERE: [(&str, &str); 5] = [
    (SPEC, "jobMode"),
    (SPEC, "mxImage"),
    (SPEC, "schedulerName"),
    (SPEC, "cleanupPodPolicy"),
    (LISTED, "replicas"),
];

/// One difference between what a lossy way gives and what there was.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Leaf {
    /// Keys from the root; in a list of named things, their names.
    path: Vec<String>,
    /// What the lossy way gives here; `None`: nothing.
    was: Option<Value>,
    /// What there was; `None`: nothing.
    is: Option<Value>,
}

impl Leaf {
    /// The part of the root that it is about.
    pub(super) fn section(&self) -> &str {
        self.path.first().map_or("", String::as_str)
    }

    /// The name, the value of the lossy way and the real one, where it is about this field of a named thing
    /// of this section.
    pub(super) fn field(&self, section: &str, field: &str) -> Option<(&str, &Value, &Value)> {
        match self.path.as_slice() {
            [of, name, last] if of == section && last == field => {
                Some((name, self.was.as_ref()?, self.is.as_ref()?))
            }
            _ => None,
        }
    }

    /// What of the spec is lost with it, in words; `of`: the version whose field it is.
    pub(super) fn words(&self, of: &str) -> Vec<String> {
        let path = || self.path.join(".");
        let field = self.path.last().map_or("", String::as_str);
        if of == Version::V1Alpha1.name() && ELSEWHERE.contains(&(self.section(), field)) {
            return Vec::new();
        }
        match (self.section(), &self.is, &self.was) {
            (SPEC, is, Some(shown)) if self.shows_more(is.as_ref(), shown) => Vec::new(),
            (SPEC, Some(value), _) => vec![format!("{}: {value}", path())],
            (SPEC, None, Some(instead)) => {
                vec![format!(
                    "that {} is not set (there it is {instead})",
                    path()
                )]
            }
            (LISTED, Some(number @ Value::Number(_)), _) => {
                let path = self.path.iter().skip(1).map(String::as_str);
                vec![format!("{}: {number}", path.collect::<Vec<_>>().join("."))]
            }
            (REST, Some(Value::Array(leaves)), _) => {
                let leaves = leaves.iter().cloned().filter_map(Self::read);
                leaves.flat_map(|leaf| leaf.words(field)).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Nothing of a role is lost: what is so by default is shown as well. The policy of lists is not so at v1.
    fn shows_more(&self, is: Option<&Value>, shown: &Value) -> bool {
        let of_role = self.path.get(1).is_some_and(|key| key == ROLES);
        of_role
            && match (is, shown) {
                (None, shown) => {
                    self.path.last().is_none_or(|key| key != "restartPolicy")
                        || *shown != json!(RestartPolicy::ExitCode)
                }
                (Some(Value::Array(is)), Value::Array(shown)) => {
                    is.iter().all(|item| shown.contains(item))
                }
                _ => false,
            }
    }

    /// `None`: it is no such difference.
    pub(super) fn read(value: Value) -> Option<Self> {
        let Value::Object(mut fields) = value else {
            return None;
        };
        let Some(Value::Array(path)) = fields.swap_remove("path") else {
            return None;
        };
        let key = |key| match key {
            Value::String(key) => Some(key),
            _ => None,
        };
        Some(Self {
            path: path.into_iter().map(key).collect::<Option<_>>()?,
            was: fields.swap_remove("was"),
            is: fields.swap_remove("is"),
        })
    }

    pub(super) fn write(self) -> Value {
        let path = Value::from(self.path);
        let sides = [("path", Some(path)), ("was", self.was), ("is", self.is)];
        let sides = sides
            .into_iter()
            .filter_map(|(key, side)| Some((key.to_owned(), side?)));
        Value::Object(sides.collect())
    }
}

/// What makes `was` into `is`, by path.
pub(super) fn diff(was: &Map<String, Value>, is: &Map<String, Value>) -> Vec<Leaf> {
    let mut leaves = Vec::new();
    fields(&mut Vec::new(), was, is, &mut leaves);
    leaves.sort_by(|one, other| one.path.cmp(&other.path));
    leaves
}

fn fields<'a>(
    path: &mut Vec<&'a str>,
    was: &'a Map<String, Value>,
    is: &'a Map<String, Value>,
    leaves: &mut Vec<Leaf>,
) {
    if was.keys().eq(is.keys()) {
        // Nearly always: what was copied has its order, and no key has to be looked for.
        for ((key, was), is) in was.iter().zip(is.values()) {
            compare(path, key, Some(was), Some(is), leaves);
        }
        return;
    }
    for (key, value) in was {
        compare(path, key, Some(value), is.get(key), leaves);
    }
    for (key, value) in is.iter().filter(|(key, _)| !was.contains_key(*key)) {
        compare(path, key, None, Some(value), leaves);
    }
}

fn compare<'a>(
    path: &mut Vec<&'a str>,
    key: &'a str,
    was: Option<&'a Value>,
    is: Option<&'a Value>,
    leaves: &mut Vec<Leaf>,
) {
    path.push(key);
    let found = leaves.len();
    let whole = match (was, is) {
        (Some(Value::Object(was)), Some(Value::Object(is))) => {
            fields(path, was, is, leaves);
            false
        }
        (Some(Value::Array(was)), Some(Value::Array(is))) if same_names(was, is) => {
            for (was, is) in was.iter().zip(is) {
                let name = name(was).unwrap_or_default();
                compare(path, name, Some(was), Some(is), leaves);
            }
            // A name that others have as well does not say where.
            leaves.len() > found && repeats_names(was)
        }
        _ => was != is,
    };
    if whole {
        leaves.truncate(found);
        leaves.push(Leaf {
            path: path.iter().map(|key| (*key).to_owned()).collect(),
            was: was.cloned(),
            is: is.cloned(),
        });
    }
    path.pop();
}

/// Both list things of the same names in the same order. Other lists are compared as wholes.
fn same_names(one: &[Value], other: &[Value]) -> bool {
    let mut pairs = one.iter().zip(other);
    one.len() == other.len()
        && pairs.all(|(one, other)| name(one).is_some_and(|one| name(other) == Some(one)))
}

fn repeats_names(items: &[Value]) -> bool {
    let names: BTreeSet<_> = items.iter().map(name).collect();
    names.len() < items.len()
}

fn name(item: &Value) -> Option<&str> {
    item.as_object()?.get("name")?.as_str()
}

/// Puts back those of `leaves` that stand where nothing has changed since.
pub(super) fn apply(leaves: impl IntoIterator<Item = Leaf>, root: &mut Map<String, Value>) {
    for mut leaf in leaves {
        let Some(last) = leaf.path.pop() else {
            continue;
        };
        let Some(place) = place(root, &leaf.path) else {
            continue;
        };
        if place.get(&last) == leaf.was.as_ref() {
            match leaf.is {
                Some(value) => place.insert(last, value),
                None => place.shift_remove(&last),
            };
        }
    }
}

/// The object at `path`; `None`: it has gone, and what it held goes with it.
fn place<'a>(
    root: &'a mut Map<String, Value>,
    path: &[String],
) -> Option<&'a mut Map<String, Value>> {
    let Some((first, path)) = path.split_first() else {
        return Some(root);
    };
    let at = path
        .iter()
        .try_fold(root.get_mut(first)?, |at, key| match at {
            Value::Object(fields) => fields.get_mut(key),
            Value::Array(items) => {
                let mut named = items
                    .iter_mut()
                    .filter(|item| name(item) == Some(key.as_str()));
                named.next().filter(|_| named.next().is_none())
            }
            _ => None,
        });
    at?.as_object_mut()
}
