//! What a document says it is.

use mxjob_core::RoleTable;
use mxjob_core::problem::Problem;
use serde_json::Value;

/// Likeness of kinds above which one is taken for a typing error of the other.
const ALIKE: f64 = 0.9;

/// What a document says it is.
#[derive(Debug)]
pub(super) enum Identity {
    /// A job of the version that this build serves.
    Ours,
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
        let wanted = format!("{}/v1", names.group);
        let alike = strsim::jaro_winkler(&kind.to_lowercase(), &names.kind.to_lowercase()) > ALIKE;
        if kind.eq_ignore_ascii_case(names.kind) && version != wanted {
            let message = format!(
                "{version} {kind} is not supported: this build does not read older versions yet, only {}",
                ours(table)
            );
            return mistaken("apiVersion", message);
        }
        if kind == names.kind {
            return Self::Ours;
        }
        if version == wanted && alike {
            return mistaken(
                "kind",
                format!("unknown kind {kind:?}: did you mean {}?", names.kind),
            );
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

/// Like `kubeflow.org/v1 MXJob`.
fn ours(table: &RoleTable) -> String {
    format!("{}/v1 {}", table.crd.group, table.crd.kind)
}
