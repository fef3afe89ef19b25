//! What `kubectl get` prints and what field selectors can ask for: stored fields only, because no
//! JSONPath computes them.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceColumnDefinition, SelectableField,
};

pub(super) fn printed() -> Vec<CustomResourceColumnDefinition> {
    vec![
        column("State", "string", ".status.phase"),
        column("Mode", "string", ".status.mode"),
        column("Ready", "string", ".status.ready"),
        column("Restarts", "integer", ".status.restarts"),
        column("Age", "date", ".metadata.creationTimestamp"),
        wide("Chief", ".status.chief"),
        wide("Reason", ".status.reason"),
    ]
}

pub(super) fn selectable() -> Vec<SelectableField> {
    [
        ".spec.jobMode",
        ".spec.runPolicy.managedBy",
        ".status.phase",
    ]
    .map(|path| SelectableField {
        json_path: path.to_owned(),
    })
    .into()
}

fn column(name: &str, kind: &str, path: &str) -> CustomResourceColumnDefinition {
    CustomResourceColumnDefinition {
        name: name.to_owned(),
        type_: kind.to_owned(),
        json_path: path.to_owned(),
        ..CustomResourceColumnDefinition::default()
    }
}

/// A column of `kubectl get -o wide` only.
fn wide(name: &str, path: &str) -> CustomResourceColumnDefinition {
    CustomResourceColumnDefinition {
        priority: Some(1),
        ..column(name, "string", path)
    }
}
