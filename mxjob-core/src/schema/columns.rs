//! What `kubectl get` prints and what field selectors can ask for: stored fields only, because no
//! JSONPath computes them.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceColumnDefinition, SelectableField,
};

use crate::api::Version;

pub(super) fn printed(version: Version) -> Vec<CustomResourceColumnDefinition> {
    let age = column("Age", "date", ".metadata.creationTimestamp");
    match version {
        Version::V1Alpha1 => vec![
            column("Phase", "string", ".status.phase"),
            column("State", "string", ".status.state"),
            age,
            wide("Reason", ".status.reason"),
        ],
        // Its status has no field for what it is now; the newest condition comes nearest.
        Version::V1Beta1 => vec![
            column("State", "string", ".status.conditions[-1:].type"),
            age,
        ],
        Version::V1 => of_v1(age),
    }
}

fn of_v1(age: CustomResourceColumnDefinition) -> Vec<CustomResourceColumnDefinition> {
    vec![
        column("State", "string", ".status.phase"),
        column("Mode", "string", ".status.mode"),
        column("Ready", "string", ".status.ready"),
        column("Restarts", "integer", ".status.restarts"),
        age,
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
