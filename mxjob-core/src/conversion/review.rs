//! The API server's question.

use serde_json::{Value, json};

use super::{convert, foreign};
use crate::api::Version;
use crate::check::Structure;
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
    let text = |path: &str| object.pointer(path).and_then(Value::as_str);
    let wrong = |message: String| {
        let [namespace, name] = ["/metadata/namespace", "/metadata/name"].map(text);
        let (namespace, name) = (namespace.unwrap_or("?"), name.unwrap_or("?"));
        format!("{} {namespace}/{name}: {message}", table.crd.plural)
    };
    // On its way into the store: who reads it at the stored version relies on its types.
    let from = Version::read(table, text("/apiVersion").unwrap_or_default());
    let from = from.filter(|_| to == Version::stored(table));
    let error = from.and_then(|from| Structure::of(table, from).unseen_error(object));
    if let Some(error) = error {
        return Err(wrong(error.to_string()));
    }
    convert(table, object.clone(), to).map_err(|foreign| wrong(foreign.to_string()))
}
