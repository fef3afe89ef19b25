//! What names a job in the cluster.

use std::fmt;
use std::sync::Arc;

/// Namespace and name of a job. Cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct JobKey {
    pub(super) namespace: Arc<str>,
    pub(super) name: Arc<str>,
}

impl JobKey {
    pub(super) fn new(namespace: &str, name: &str) -> Self {
        Self {
            namespace: namespace.into(),
            name: name.into(),
        }
    }
}

impl fmt::Display for JobKey {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}/{}", self.namespace, self.name)
    }
}
