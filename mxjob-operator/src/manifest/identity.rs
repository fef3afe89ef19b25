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
    /// A job of that API, at a version that this build serves.
    Ours(&'static RoleTable, Version),
    /// Meant to be one, or to be a manifest at all.
    Mistaken(Problem),
    /// A manifest of another kind.
    Stranger(Problem),
}

impl Identity {
    /// Of the APIs that there are, the own one first.
    pub(super) fn of(apis: &[&'static RoleTable], document: &Value) -> Self {
        let Value::Object(fields) = document else {
            return mistaken(
                "",
                format!(
                    "a manifest is a map with apiVersion, kind, metadata and spec: write {}",
                    ours(apis)
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
            (_, None) => mistaken("kind", format!("is required: {}", ours(apis))),
            (None, _) => mistaken("apiVersion", format!("is required: {}", ours(apis))),
            (Some(version), Some(kind)) => Self::named(apis, version, kind),
        }
    }

    fn named(apis: &[&'static RoleTable], version: &str, kind: &str) -> Self {
        let known = versions(apis).find(|(table, known)| known.full(table) == version);
        let alike =
            |ours: &str| strsim::jaro_winkler(&kind.to_lowercase(), &ours.to_lowercase()) > ALIKE;
        match known {
            Some((table, known)) if kind == table.crd.kind => return Self::Ours(table, known),
            Some((table, _)) if alike(table.crd.kind) => {
                return mistaken(
                    "kind",
                    format!("unknown kind {kind:?}: did you mean {}?", table.crd.kind),
                );
            }
            None if apis
                .iter()
                .any(|table| kind.eq_ignore_ascii_case(table.crd.kind)) =>
            {
                let message = format!(
                    "{version} {kind} is not supported: this build reads {}",
                    served(apis)
                );
                return mistaken("apiVersion", message);
            }
            _ => {}
        }
        Self::Stranger(Problem::error(
            "kind",
            format!(
                "{version} {kind} is not supported: this build reads jobs of {}",
                served(apis)
            ),
        ))
    }
}

fn mistaken(path: &str, message: String) -> Identity {
    Identity::Mistaken(Problem::error(path, message))
}

/// Every version of every API.
fn versions(apis: &[&'static RoleTable]) -> impl Iterator<Item = (&'static RoleTable, Version)> {
    let of = |table: &&'static RoleTable| {
        let table = *table;
        Version::of(table).map(move |version| (table, version))
    };
    apis.iter().flat_map(of)
}

/// Like `kubeflow.org/v1alpha1, kubeflow.org/v1beta1, kubeflow.org/v1`.
fn served(apis: &[&'static RoleTable]) -> String {
    let names = versions(apis).map(|(table, version)| version.full(table));
    names.collect::<Vec<_>>().join(", ")
}

/// Like `kubeflow.org/v1 MXJob`.
fn ours(apis: &[&'static RoleTable]) -> String {
    let own = apis.first();
    own.map_or_else(String::new, |own| {
        format!("{} {}", Version::stored(own).full(own), own.crd.kind)
    })
}
