//! The versions of the custom resource.

use std::fmt;

use crate::role::RoleTable;

/// A version of a role set's custom resource, the oldest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Version {
    /// Replicas as a list, a runtime id, phases.
    V1Alpha1,
    /// Replicas as a map, every policy directly under `spec`.
    V1Beta1,
    /// What is stored.
    V1,
}

impl Version {
    /// All of them, the oldest first.
    pub const ALL: [Self; 3] = [Self::V1Alpha1, Self::V1Beta1, Self::V1];

    /// As in `apiVersion`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::V1Alpha1 => "v1alpha1",
            Self::V1Beta1 => "v1beta1",
            Self::V1 => "v1",
        }
    }

    /// The version of that name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|version| version.name() == name)
    }

    /// The versions that a role set is served at, the oldest first: `v1` alone, but for the custom
    /// resource that had others before.
    pub fn of(table: &RoleTable) -> impl Iterator<Item = Self> + use<> {
        let (beta, alpha) = (table.crd.legacy.is_some(), table.list_form().is_some());
        Self::ALL.into_iter().filter(move |version| match version {
            Self::V1Alpha1 => alpha,
            Self::V1Beta1 => beta,
            Self::V1 => true,
        })
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
