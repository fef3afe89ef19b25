//! The fields that a release writes, by name: those that a job's status may have, and what the operator
//! puts into the metadata, the containers and the data of objects.

use std::collections::BTreeSet;

use serde_json::Value;

/// The fields of a status, by the definition.
pub(crate) fn of_status(definition: &Value) -> BTreeSet<String> {
    let versions = definition["spec"]["versions"].as_array();
    let stored = versions.and_then(|all| all.iter().find(|version| version["storage"] == true));
    let mut fields = BTreeSet::new();
    if let Some(version) = stored {
        let schema = &version["schema"]["openAPIV3Schema"]["properties"]["status"];
        walk(schema, "status", &mut fields);
    }
    fields
}

fn walk(schema: &Value, path: &str, fields: &mut BTreeSet<String>) {
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        walk(field, &format!("{path}.{name}"), fields);
    }
    for (end, key) in [(".*", "additionalProperties"), ("[]", "items")] {
        if schema[key].is_object() {
            walk(&schema[key], &format!("{path}{end}"), fields);
        }
    }
    if !path.ends_with(['*', ']']) {
        fields.insert(format!("MXJob {path}"));
    }
}

/// What the operator has put into an object, beside a status.
pub(crate) fn of(object: &Value) -> BTreeSet<String> {
    let kind = object["kind"].as_str().unwrap_or_default();
    let mut fields = BTreeSet::new();
    let mut add = |what: &str, names: &[&str]| {
        fields.extend(names.iter().map(|name| format!("{kind} {what} {name}")));
    };
    let meta = &object["metadata"];
    add("label", &keys(&meta["labels"]));
    add("annotation", &keys(&meta["annotations"]));
    for annotation in meta["annotations"].as_object().into_iter().flatten() {
        let text = annotation.1.as_str().unwrap_or_default();
        let held: Value = serde_json::from_str(text).unwrap_or_default();
        add(&format!("annotation {}", annotation.0), &keys(&held));
        let leaves = held["rest"].as_object().into_iter().flatten();
        for leaf in leaves.filter_map(|(_, leaves)| leaves.as_array()).flatten() {
            add(&format!("annotation {} rest", annotation.0), &keys(leaf));
        }
    }
    for container in object["spec"]["containers"]
        .as_array()
        .into_iter()
        .flatten()
    {
        add("env", &names(&container["env"]));
        add("port", &names(&container["ports"]));
    }
    if kind == "Service" {
        add("port", &names(&object["spec"]["ports"]));
    }
    if kind == "Lease" {
        add("spec", &keys(&object["spec"]));
    }
    add("data", &keys(&object["data"]));
    fields
}

fn keys(fields: &Value) -> Vec<&str> {
    let fields = fields.as_object().into_iter().flatten();
    fields.map(|(key, _)| key.as_str()).collect()
}

fn names(list: &Value) -> Vec<&str> {
    let items = list.as_array().into_iter().flatten();
    items.filter_map(|item| item["name"].as_str()).collect()
}
