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

    /// What it is called, but for a resource that has another name for it.
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
    /// resource that had others before, and for those that have none but an older one.
    pub fn of(table: &RoleTable) -> impl Iterator<Item = Self> + use<> {
        let alone = table.crd.alone.is_some();
        let (beta, alpha) = (table.crd.legacy.is_some(), table.list_form().is_some());
        Self::ALL.into_iter().filter(move |version| match version {
            Self::V1Alpha1 => alpha,
            Self::V1Beta1 => beta && !alone,
            Self::V1 => !alone,
        })
    }

    /// Those, and `v1`, as which every job is read.
    pub(crate) fn known(table: &RoleTable) -> impl Iterator<Item = Self> + use<> {
        let hidden = table.crd.alone.map(|_| Self::V1);
        Self::of(table).chain(hidden)
    }

    /// The version that objects are stored at.
    pub fn stored(table: &RoleTable) -> Self {
        match table.crd.alone {
            Some(_) => Self::V1Alpha1,
            None => Self::V1,
        }
    }

    /// What the resource of `table` calls it.
    pub fn name_in(self, table: &RoleTable) -> &'static str {
        match (self, table.crd.alone) {
            (Self::V1Alpha1, Some(name)) => name,
            _ => self.name(),
        }
    }

    /// As in `apiVersion`, like `kubeflow.org/v1`.
    pub fn full(self, table: &RoleTable) -> String {
        format!("{}/{}", table.crd.group, self.name_in(table))
    }

    /// The version of that `apiVersion`; `None`: the resource has none of that name.
    pub(crate) fn read(table: &RoleTable, name: &str) -> Option<Self> {
        Self::known(table).find(|known| known.full(table) == name)
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
