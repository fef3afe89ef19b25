//! What names a job in the cluster.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use mxjob_core::RoleTable;

/// The API that a job is of: jobs of two may have one name. Known by its group.
#[derive(Clone, Copy)]
pub(super) struct OfApi(&'static RoleTable);

impl OfApi {
    fn group(self) -> &'static str {
        self.0.crd.group
    }
}

impl PartialEq for OfApi {
    fn eq(&self, other: &Self) -> bool {
        self.group() == other.group()
    }
}

impl Eq for OfApi {}

impl PartialOrd for OfApi {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for OfApi {
    fn cmp(&self, other: &Self) -> Ordering {
        self.group().cmp(other.group())
    }
}

impl Hash for OfApi {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.group().hash(state);
    }
}

impl fmt::Debug for OfApi {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.group())
    }
}

/// API, namespace and name of a job. Cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct JobKey {
    pub(super) namespace: Arc<str>,
    pub(super) name: Arc<str>,
    of: OfApi,
}

impl JobKey {
    pub(super) fn new(table: &'static RoleTable, namespace: &str, name: &str) -> Self {
        Self {
            namespace: namespace.into(),
            name: name.into(),
            of: OfApi(table),
        }
    }

    /// What its roles and its resource are called.
    pub(super) fn table(&self) -> &'static RoleTable {
        self.of.0
    }
}

impl fmt::Display for JobKey {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}/{}", self.namespace, self.name)
    }
}
