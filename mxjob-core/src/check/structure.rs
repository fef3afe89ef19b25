//! Walks an object along the schema of its CustomResourceDefinition.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use jiff::Timestamp;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    JSON, JSONSchemaProps, JSONSchemaPropsOrArray, JSONSchemaPropsOrBool,
};
use serde_json::{Map, Value};

use crate::api::Version;
use crate::problem::Problem;
use crate::role::RoleTable;
use crate::schema::{self, Path, suggestion};

/// The schema of a role set's objects, ready to be walked. Making one takes milliseconds; walking
/// an object takes microseconds.
#[derive(Debug)]
pub struct Structure {
    table: &'static RoleTable,
    version: Version,
    root: JSONSchemaProps,
}

/// What becomes of fields that the schema does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unknown {
    Told,
    Passed,
}

/// A look at a value along its schema.
struct Walk {
    unknown: Unknown,
    problems: Vec<Problem>,
}

/// One field as two versions spell it.
const CLEAN: [&str; 2] = ["cleanPodPolicy", "cleanupPodPolicy"];

/// One for each version of each role set in the program: nearly always one.
static MADE: Mutex<Vec<Arc<Structure>>> = Mutex::new(Vec::new());

impl Structure {
    /// The structure of a role set's objects at a version; made once, then shared.
    pub fn of(table: &'static RoleTable, version: Version) -> Arc<Self> {
        let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
        let same = |one: &&Arc<Self>| std::ptr::eq(one.table, table) && one.version == version;
        if let Some(known) = made.iter().find(same) {
            return Arc::clone(known);
        }
        let new = Arc::new(Self {
            table,
            version,
            root: walked(table, version),
        });
        made.push(Arc::clone(&new));
        new
    }

    /// What is wrong with an object: errors for wrong types, missing fields, values out of bounds and
    /// fields that are spelled otherwise, warnings for others that the schema does not have. The
    /// status is not looked at.
    pub fn check(&self, object: &Value) -> Vec<Problem> {
        self.look(object, Unknown::Told)
    }

    /// The same of an object that is stored, where a field that means nothing is no mistake.
    pub(crate) fn check_stored(&self, object: &Value) -> Vec<Problem> {
        self.look(object, Unknown::Passed)
    }

    fn look(&self, object: &Value, unknown: Unknown) -> Vec<Problem> {
        let mut walk = Walk {
            unknown,
            problems: Vec::new(),
        };
        if let Value::Object(fields) = object {
            self.identity(fields, &mut walk.problems);
        }
        walk.value(&self.root, object, Path::ROOT);
        let mut problems = walk.problems;
        if self.version == Version::V1Alpha1 {
            let nil = nil(object);
            problems.retain(|one| nil.iter().all(|nil| nil.path != one.path));
            problems.extend(nil);
        }
        problems
    }

    /// Drops the fields that the definition does not have, as the API server does: what that leaves open
    /// stays. The status is not looked at.
    pub fn prune(&self, object: &mut Value) {
        let mut root = self.root.clone();
        schema::leave_open(&mut root, self.version);
        prune(&root, object);
    }

    /// Says what the object is when it is not ours. Items of a list need not say what they are.
    fn identity(&self, fields: &Map<String, Value>, problems: &mut Vec<Problem>) {
        let names = self.table.crd;
        let wanted = [
            ("apiVersion", self.version.full(self.table)),
            ("kind", names.kind.to_owned()),
        ];
        for (field, wanted) in wanted {
            let given = fields
                .get(field)
                .and_then(Value::as_str)
                .filter(|given| *given != wanted);
            let message = |given| format!("{given:?} is not supported: must be {wanted:?}");
            problems.extend(given.map(|given| Problem::error(field, message(given))));
        }
    }
}

/// The schema with the metadata typed, which the API server does by itself, and the status left
/// open, which is the operator's.
fn walked(table: &'static RoleTable, version: Version) -> JSONSchemaProps {
    let mut root = schema::of(table, version);
    root.required = Some(vec!["spec".to_owned()]);
    let fields = root.properties.get_or_insert_default();
    fields.insert("metadata".to_owned(), schema::metadata());
    fields.insert("status".to_owned(), JSONSchemaProps::default());
    root
}

/// What the first operators said of entries of a list that are none.
fn nil(object: &Value) -> Vec<Problem> {
    let entries = object.pointer("/spec/replicaSpecs");
    let entries = entries.and_then(Value::as_array).into_iter().flatten();
    let told = entries.enumerate().filter_map(|(at, entry)| {
        let path = format!("spec.replicaSpecs[{at}]");
        let lacks = |field| entry.get(field).is_none_or(Value::is_null);
        match entry {
            Value::Null => Some(Problem::error(
                path,
                "ReplicaSpecs contain nil: say what the entry is, or leave it out",
            )),
            Value::Object(_) if lacks("template") => Some(Problem::error(
                format!("{path}.template"),
                "Replica is missing Template",
            )),
            _ => None,
        }
    });
    told.collect()
}

fn prune(schema: &JSONSchemaProps, value: &mut Value) {
    let values = match &schema.additional_properties {
        Some(JSONSchemaPropsOrBool::Schema(values)) => Some(&**values),
        _ => None,
    };
    match (value, &schema.items) {
        (Value::Object(fields), _) => {
            if let Some(known) = schema.properties.as_ref().filter(|_| values.is_none()) {
                fields.retain(|key, _| known.contains_key(key));
            }
            let known = schema.properties.as_ref();
            for (key, value) in fields {
                let named = known.and_then(|known| known.get(key));
                if let Some(schema) = named.or(values) {
                    prune(schema, value);
                }
            }
        }
        (Value::Array(items), Some(JSONSchemaPropsOrArray::Schema(each))) => {
            for item in items {
                prune(each, item);
            }
        }
        _ => {}
    }
}

impl Walk {
    fn value(&mut self, schema: &JSONSchemaProps, value: &Value, path: Path<'_>) {
        let mut error = |message: String| {
            self.problems
                .push(Problem::error(path.to_string(), message));
        };
        let expected = match schema.type_.as_deref() {
            None if schema.x_kubernetes_int_or_string == Some(true) => "int-or-string",
            // No type: anything goes.
            None => return,
            Some(name) => name,
        };
        match (expected, value) {
            ("object", Value::Object(fields)) => self.object(schema, fields, path),
            ("array", Value::Array(items)) => self.array(schema, items, path),
            ("string", Value::String(text)) => {
                text_bounds(schema, text).into_iter().for_each(error);
            }
            ("integer", Value::Number(number)) if number.is_i64() || number.is_u64() => {
                integer_bounds(schema, number).into_iter().for_each(error);
            }
            ("integer", Value::Number(number)) => {
                error(format!("must be an integer, not {number}"));
            }
            ("int-or-string", Value::String(_))
            | ("number", Value::Number(_))
            | ("boolean", Value::Bool(_)) => {}
            ("int-or-string", Value::Number(number)) if number.is_i64() => {}
            ("int-or-string", Value::Number(number)) => error(format!(
                "must be an integer or a string: write \"{number}\""
            )),
            (_, value) => error(format!(
                "must be {}, not {}",
                article(expected),
                described(value, expected)
            )),
        }
    }

    fn object(&mut self, schema: &JSONSchemaProps, fields: &Map<String, Value>, path: Path<'_>) {
        // The API server drops null where the schema does not ask for it, so a field is absent.
        let given = || fields.iter().filter(|(_, value)| !value.is_null());
        let missing = schema
            .required
            .iter()
            .flatten()
            .filter(|name| given().all(|(key, _)| key != *name));
        self.problems
            .extend(missing.map(|name| Problem::error(path.key(name).to_string(), "is required")));
        let count = i64::try_from(given().count()).unwrap_or(i64::MAX);
        let bounds = count_bounds(
            count,
            schema.min_properties,
            schema.max_properties,
            "entries",
        );
        self.problems
            .extend(bounds.map(|message| Problem::error(path.to_string(), message)));
        let known = schema.properties.as_ref();
        let values = match &schema.additional_properties {
            Some(JSONSchemaPropsOrBool::Schema(values)) => Some(&**values),
            _ => None,
        };
        for (key, value) in fields {
            let (named, path) = (known.and_then(|known| known.get(key)), path.key(key));
            match (named.or(values), known) {
                _ if value.is_null() => {
                    let entry = values.filter(|_| named.is_none());
                    self.problems
                        .extend(entry.map(|values| empty_entry(values, path)));
                }
                (Some(field), _) => self.value(field, value, path),
                (None, Some(known)) if self.unknown == Unknown::Told => {
                    self.problems.push(unknown(known, key, path));
                }
                // A name to pass, or of an object without fields, in which anything goes.
                (None, _) => {}
            }
        }
    }

    fn array(&mut self, schema: &JSONSchemaProps, items: &[Value], path: Path<'_>) {
        let count = i64::try_from(items.len()).unwrap_or(i64::MAX);
        let bounds = count_bounds(count, schema.min_items, schema.max_items, "items");
        self.problems
            .extend(bounds.map(|message| Problem::error(path.to_string(), message)));
        if let Some(JSONSchemaPropsOrArray::Schema(each)) = &schema.items {
            for (index, item) in items.iter().enumerate() {
                self.value(each, item, path.item(index));
            }
        }
    }
}

/// An entry of a map that is null: the API server drops it, and whoever wrote it has meant something by
/// the key. A mistake where the values have fields that must be there.
fn empty_entry(values: &JSONSchemaProps, path: Path<'_>) -> Problem {
    let message = "null: the API server drops the entry: say what it is, or leave it out";
    if values.required.as_ref().is_some_and(|all| !all.is_empty()) {
        Problem::error(path.to_string(), message)
    } else {
        Problem::warning(path.to_string(), message)
    }
}

/// A field that is known by another spelling is a mistake: what it says would be lost.
fn unknown(known: &BTreeMap<String, JSONSchemaProps>, key: &str, path: Path<'_>) -> Problem {
    let near = suggestion(key, known.keys().map(String::as_str));
    let same = |name: &str| {
        name.eq_ignore_ascii_case(key) || CLEAN.contains(&name) && CLEAN.contains(&key)
    };
    if let Some(name) = near.filter(|name| same(name)) {
        let message = format!("unknown field, the API server drops it: write {name}");
        return Problem::error(path.to_string(), message);
    }
    let hint = near.map(|name| format!(": did you mean {name}?"));
    let message = format!("unknown field, it is ignored{}", hint.unwrap_or_default());
    Problem::warning(path.to_string(), message)
}

fn count_bounds(count: i64, min: Option<i64>, max: Option<i64>, what: &str) -> Option<String> {
    let few = min.filter(|min| count < *min).map(|min| match min {
        1 => "must not be empty".to_owned(),
        min => format!("must have at least {min} {what}"),
    });
    few.or_else(|| {
        max.filter(|max| count > *max)
            .map(|max| format!("must have at most {max} {what}, not {count}"))
    })
}

fn text_bounds(schema: &JSONSchemaProps, text: &str) -> Option<String> {
    if let Some(allowed) = &schema.enum_ {
        let names: Vec<_> = allowed
            .iter()
            .filter_map(|JSON(one)| one.as_str())
            .collect();
        if names.contains(&text) {
            return None;
        }
        let hint =
            suggestion(text, names.iter().copied()).map(|name| format!("; did you mean {name}?"));
        let quoted: Vec<_> = names
            .iter()
            .map(|name| if name.is_empty() { "\"\"" } else { *name })
            .collect();
        return Some(format!(
            "must be one of {}, not {text:?}{}",
            quoted.join(", "),
            hint.unwrap_or_default()
        ));
    }
    if schema.format.as_deref() == Some("date-time") && text.parse::<Timestamp>().is_err() {
        return Some(format!(
            "must be a time like 2026-01-31T12:00:00Z, not {text:?}"
        ));
    }
    let length = i64::try_from(text.chars().count()).unwrap_or(i64::MAX);
    let long = schema.max_length.filter(|max| length > *max);
    long.map(|max| format!("must have at most {max} characters"))
}

#[allow(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    reason = "bounds are small whole numbers"
)]
fn integer_bounds(schema: &JSONSchemaProps, number: &serde_json::Number) -> Option<String> {
    let narrow = schema.format.as_deref() == Some("int32");
    let fits = number
        .as_i64()
        .is_some_and(|number| !narrow || i32::try_from(number).is_ok());
    if !fits {
        let largest = if narrow {
            i64::from(i32::MAX)
        } else {
            i64::MAX
        };
        return Some(format!("must be at most {largest}, not {number}"));
    }
    let value = number.as_f64().unwrap_or_default();
    let small = schema
        .minimum
        .filter(|min| value < *min)
        .map(|min| format!("must be {min} or more, not {number}"));
    small.or_else(|| {
        schema
            .maximum
            .filter(|max| value > *max)
            .map(|max| format!("must be {max} or less, not {number}"))
    })
}

fn article(expected: &str) -> &'static str {
    match expected {
        "object" => "a map",
        "array" => "a list",
        "string" => "a string",
        "integer" => "an integer",
        "boolean" => "true or false",
        "int-or-string" => "an integer or a string",
        _ => "a number",
    }
}

/// What was given, and how to write it when quotes are all that lacks.
fn described(value: &Value, expected: &str) -> String {
    match value {
        Value::Null => "empty".to_owned(),
        Value::Bool(_) | Value::Number(_) if expected == "string" => {
            format!("{value}: put it in quotes")
        }
        Value::Bool(_) | Value::Number(_) => value.to_string(),
        Value::String(text) => format!("the string {text:?}"),
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "a map".to_owned(),
    }
}
