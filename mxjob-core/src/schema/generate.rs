//! From Rust types to schemas that Kubernetes accepts: structural, without references, defaults,
//! null or list types.

use k8s_openapi::api::core::v1::PodTemplateSpec;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::JSONSchemaProps;
use kube_core::schema::{OptionalEnum, OptionalIntOrString, StructuralSchemaRewriter};
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
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

/// Where the generator puts what it refers to.
const DEFINITIONS: &str = "#/definitions/";

/// Whether doc comments become descriptions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Descriptions {
    /// They do; but not in a pod template, which would be six times the size.
    Kept,
    /// They do not.
    Dropped,
}

/// The schema of `T`.
pub(super) fn of<T: JsonSchema>(descriptions: Descriptions) -> JSONSchemaProps {
    // The transforms copy whole subtrees at each level; on definitions that is nothing, on inlined
    // ones it is half a second.
    let settings = SchemaSettings::openapi3().with(|settings| {
        settings.inline_subschemas = false;
        settings.definitions_path = DEFINITIONS
            .trim_start_matches('#')
            .trim_end_matches('/')
            .into();
        settings.meta_schema = None;
    });
    let settings = settings
        .with_transform(StructuralSchemaRewriter)
        .with_transform(OptionalEnum)
        .with_transform(OptionalIntOrString);
    let mut root = settings
        .into_generator()
        .into_root_schema_for::<T>()
        .to_value();
    let definitions = root
        .as_object_mut()
        .and_then(|root| root.remove("definitions"))
        .unwrap_or_default();
    let definitions = Definitions {
        named: definitions,
        template: PodTemplateSpec::schema_name().into_owned(),
    };
    definitions.resolve(&mut root, descriptions);
    // Cannot fail for what schemars makes; the tests see to it that nothing is lost.
    serde_json::from_value(root).unwrap_or_default()
}

struct Definitions {
    named: Value,
    template: String,
}

impl Definitions {
    /// Puts definitions in the place of references, and drops what does harm.
    fn resolve(&self, node: &mut Value, descriptions: Descriptions) {
        let Value::Object(node) = node else { return };
        let mut below = descriptions;
        while let Some(name) = reference(node) {
            if name == self.template {
                below = Descriptions::Dropped;
            }
            let definition = self.named.get(&name).and_then(Value::as_object);
            for (keyword, value) in definition.into_iter().flatten() {
                // The field's own description says more than its type's.
                node.entry(keyword.as_str())
                    .or_insert_with(|| value.clone());
            }
        }
        tidy(node, descriptions);
        for keyword in ["items", "additionalProperties"] {
            if let Some(schema) = node.get_mut(keyword) {
                self.resolve(schema, below);
            }
        }
        if let Some(Value::Object(properties)) = node.get_mut("properties") {
            properties
                .values_mut()
                .for_each(|schema| self.resolve(schema, below));
        }
    }
}

/// Takes the reference of a node: its own, the one in `allOf` when it has other keywords too, or
/// the one in `anyOf` beside null when it is optional.
fn reference(node: &mut Map<String, Value>) -> Option<String> {
    let target = |node: &Value| node.get("$ref").and_then(Value::as_str).map(str::to_owned);
    let wrapped = |node: &mut Map<String, Value>, keyword: &str| {
        let found = node.get(keyword)?.as_array()?.iter().find_map(target)?;
        node.remove(keyword);
        Some(found)
    };
    let own = node
        .remove("$ref")
        .and_then(|own| own.as_str().map(str::to_owned));
    let found = own
        .or_else(|| wrapped(node, "allOf"))
        .or_else(|| wrapped(node, "anyOf"))?;
    found.strip_prefix(DEFINITIONS).map(str::to_owned)
}

fn tidy(node: &mut Map<String, Value>, descriptions: Descriptions) {
    for keyword in DROPPED {
        node.remove(keyword);
    }
    // Of a quantity it would be three thousand characters.
    if descriptions == Descriptions::Dropped || node.contains_key("x-kubernetes-int-or-string") {
        node.remove("description");
    }
    if let Some(Value::Array(values)) = node.get_mut("enum") {
        values.retain(|value| !value.is_null());
    }
    // Doc comments are wrapped lines; a description is a paragraph.
    if let Some(Value::String(text)) = node.get_mut("description") {
        *text = text
            .split("\n\n")
            .map(|part| part.replace('\n', " "))
            .collect::<Vec<_>>()
            .join("\n\n");
    }
}
