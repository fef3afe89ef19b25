//! The CustomResourceDefinitions of a role set as manifest files.

use super::crd;
use crate::role::{ReplicaRole, RoleTable, apis};

/// The CustomResourceDefinitions of the role set `R`, one for each of its APIs, for a build script to
/// write.
pub fn crds<R: ReplicaRole>() -> Crds {
    Crds {
        files: apis::<R>().map(file).collect(),
    }
}

fn file(table: &'static RoleTable) -> (String, String) {
    let definition = crd(table);
    let name = format!(
        "{}_{}.yaml",
        definition.spec.group, definition.spec.names.plural
    );
    // Plain data with text keys always renders.
    let text = serde_saphyr::to_string(&definition).unwrap_or_default();
    (name, format!("{GENERATED}{text}"))
}

/// How every generated file starts.
pub const GENERATED: &str =
    "# Generated from the role table by mxjob_core::crds: change the roles, not this file.\n";

/// Manifest files: names and texts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Crds {
    files: Vec<(String, String)>,
}

impl Crds {
    /// Every file as its name, `<group>_<plural>.yaml`, and its text.
    pub fn files(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files
            .iter()
            .map(|(name, text)| (name.as_str(), text.as_str()))
    }
}

impl IntoIterator for Crds {
    type Item = (String, String);
    type IntoIter = std::vec::IntoIter<Self::Item>;

    fn into_iter(self) -> Self::IntoIter {
        self.files.into_iter()
    }
}
