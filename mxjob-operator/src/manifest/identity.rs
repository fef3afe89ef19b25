//! What a document says it is.

use mxjob_core::RoleTable;
use mxjob_core::api::Version;
use mxjob_core::problem::Problem;
use serde_json::Value;

/// Likeness of kinds above which one is taken for a typing error of the other.
const ALIKE: f64 = 0.9;

/// What a document says it is.
#[derive(Debug)]
pub(super) enum Identity {
    /// A job, at a version that this build serves.
    Ours(Version),
    /// Meant to be one, or to be a manifest at all.
    Mistaken(Problem),
    /// A manifest of another kind.
    Stranger(Problem),
}

impl Identity {
    pub(super) fn of(table: &RoleTable, document: &Value) -> Self {
        let Value::Object(fields) = document else {
            return mistaken(
                "",
                format!(
                    "a manifest is a map with apiVersion, kind, metadata and spec: write {}",
                    ours(table)
                ),
            );
        };
        let given = |field: &str| {
            fields
                .get(field)
                .and_then(Value::as_str)
                .filter(|text| !text.is_empty())
        };
        match (given("apiVersion"), given("kind")) {
            (_, None) => mistaken("kind", format!("is required: {}", ours(table))),
            (None, _) => mistaken("apiVersion", format!("is required: {}", ours(table))),
            (Some(version), Some(kind)) => Self::named(table, version, kind),
        }
    }

    fn named(table: &RoleTable, version: &str, kind: &str) -> Self {
        let names = table.crd;
        let known = Version::of(table).find(|known| version == format!("{}/{known}", names.group));
        let alike = strsim::jaro_winkler(&kind.to_lowercase(), &names.kind.to_lowercase()) > ALIKE;
        match known {
            Some(known) if kind == names.kind => return Self::Ours(known),
            Some(_) if alike => {
                return mistaken(
                    "kind",
                    format!("unknown kind {kind:?}: did you mean {}?", names.kind),
                );
            }
            None if kind.eq_ignore_ascii_case(names.kind) => {
                let message = format!(
                    "{version} {kind} is not supported: this build reads {}",
                    served(table)
                );
                return mistaken("apiVersion", message);
            }
            _ => {}
        }
        Self::Stranger(Problem::error(
            "kind",
            format!("{version} {kind} is not supported, only {}", ours(table)),
        ))
    }
}

fn mistaken(path: &str, message: String) -> Identity {
    Identity::Mistaken(Problem::error(path, message))
}

/// Like `kubeflow.org/v1alpha1, kubeflow.org/v1beta1, kubeflow.org/v1`.
fn served(table: &RoleTable) -> String {
    let names = Version::of(table).map(|version| format!("{}/{version}", table.crd.group));
    names.collect::<Vec<_>>().join(", ")
}

/// Like `kubeflow.org/v1 MXJob`.
fn ours(table: &RoleTable) -> String {
    format!("{}/v1 {}", table.crd.group, table.crd.kind)
}
