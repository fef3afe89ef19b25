//! From Rust types to schemas that Kubernetes accepts: structural, without defaults, null or list types.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::JSONSchemaProps;
use kube_core::schema::{OptionalEnum, OptionalIntOrString, StructuralSchemaRewriter};
use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use schemars::{JsonSchema, Schema};
use serde_json::{Map, Value};

/// Keywords that would do harm: a default is written into stored specs, null would pass `has()` in
/// rules, and a list type makes `==` on stored duplicates false.
const DROPPED: [&str; 8] = [
    "$schema",
    "title",
    "default",
    "examples",
    "nullable",
    "x-kubernetes-list-type",
    "x-kubernetes-list-map-keys",
    "x-kubernetes-map-type",
];

/// The schema of `T`, its doc comments as descriptions.
pub(super) fn documented<T: JsonSchema>() -> JSONSchemaProps {
    props(value_of::<T>())
}

/// The schema of `T` without descriptions: of a pod template a sixth of the size.
pub(crate) fn bare<T: JsonSchema>() -> JSONSchemaProps {
    let mut value = value_of::<T>();
    each_schema(&mut value, &|node| {
        node.remove("description");
    });
    props(value)
}

fn value_of<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::openapi3().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let settings = settings
        .with_transform(RecursiveTransform(keep_own_description))
        .with_transform(StructuralSchemaRewriter)
        .with_transform(OptionalEnum)
        .with_transform(OptionalIntOrString);
    let mut value = settings.into_generator().into_root_schema_for::<T>().to_value();
    each_schema(&mut value, &tidy);
    value
}

/// An optional enum is `anyOf` the enum and null; folding that would put the type's description in
/// place of the field's.
fn keep_own_description(schema: &mut Schema) {
    if schema.get("description").is_none() {
        return;
    }
    if let Some(Value::Array(choices)) = schema.get_mut("anyOf") {
        for choice in choices.iter_mut().filter_map(Value::as_object_mut) {
            choice.remove("description");
        }
    }
}

fn tidy(node: &mut Map<String, Value>) {
    for keyword in DROPPED {
        node.remove(keyword);
    }
    // Unsigned numbers: the format is not one of Kubernetes'.
    if node.get("format").and_then(Value::as_str).is_some_and(|format| format.starts_with("uint")) {
        node.remove("format");
    }
    if let Some(Value::Array(values)) = node.get_mut("enum") {
        values.retain(|value| !value.is_null());
    }
    // Three thousand characters about quantities.
    if node.contains_key("x-kubernetes-int-or-string") {
        node.remove("description");
    }
    // Doc comments are wrapped lines; a description is a paragraph.
    if let Some(Value::String(text)) = node.get_mut("description") {
        *text = text.split("\n\n").map(|part| part.replace('\n', " ")).collect::<Vec<_>>().join("\n\n");
    }
}

/// Calls `change` with the node and every schema below it.
fn each_schema(node: &mut Value, change: &impl Fn(&mut Map<String, Value>)) {
    let Value::Object(node) = node else { return };
    change(node);
    for keyword in ["items", "additionalProperties"] {
        if let Some(below) = node.get_mut(keyword) {
            each_schema(below, change);
        }
    }
    if let Some(Value::Object(properties)) = node.get_mut("properties") {
        properties.values_mut().for_each(|below| each_schema(below, change));
    }
}

/// Cannot fail for what schemars makes; the tests see to it that nothing is lost.
fn props(value: Value) -> JSONSchemaProps {
    serde_json::from_value(value).unwrap_or_default()
}
