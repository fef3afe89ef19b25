//! The API server's question.

use serde_json::{Value, json};

use super::{convert, foreign};
use crate::api::Version;
use crate::role::RoleTable;

const API_VERSION: &str = "apiextensions.k8s.io/v1";
const KIND: &str = "ConversionReview";

/// Answers a `ConversionReview`: all of its objects converted, in their order, or what is wrong with
/// the first one that is none of the resource of `table`, or with the question.
pub fn review(table: &'static RoleTable, request: &Value) -> Value {
    let uid = request.pointer("/request/uid").cloned();
    let mut response = match converted(table, request) {
        Ok(objects) => json!({"convertedObjects": objects, "result": {"status": "Success"}}),
        Err(message) => json!({
            "convertedObjects": [],
            "result": {"status": "Failed", "message": message},
        }),
    };
    if let Some(fields) = response.as_object_mut() {
        let uid = uid.filter(Value::is_string).unwrap_or_else(|| "".into());
        fields.insert("uid".to_owned(), uid);
    }
    json!({"apiVersion": API_VERSION, "kind": KIND, "response": response})
}

fn converted(table: &'static RoleTable, request: &Value) -> Result<Vec<Value>, String> {
    let is = |key: &str, text: &str| request.get(key).and_then(Value::as_str) == Some(text);
    if !is("apiVersion", API_VERSION) || !is("kind", KIND) {
        return Err(format!("the request is no {KIND} of {API_VERSION}"));
    }
    let version = request.pointer("/request/desiredAPIVersion");
    let version = version.and_then(Value::as_str).unwrap_or_default();
    let to = Version::read(table, version)
        .ok_or_else(|| foreign(table, "desiredAPIVersion", version).to_string())?;
    let objects = request
        .pointer("/request/objects")
        .and_then(Value::as_array);
    let objects = objects.ok_or("the request has no objects")?;
    objects
        .iter()
        .map(|object| one(table, object, to))
        .collect()
}

fn one(table: &'static RoleTable, object: &Value, to: Version) -> Result<Value, String> {
    convert(table, object.clone(), to).map_err(|foreign| {
        let text = |path: &str| {
            let text = object.pointer(path).and_then(Value::as_str);
            text.unwrap_or("?").to_owned()
        };
        let (namespace, name) = (text("/metadata/namespace"), text("/metadata/name"));
        format!("{} {namespace}/{name}: {foreign}", table.crd.plural)
    })
}
