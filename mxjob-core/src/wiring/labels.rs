//! Labels of pods and services.

use std::collections::BTreeMap;

use crate::job::{Job, Replica};
use crate::role::RoleTable;

/// Label with the operator's name.
pub const OPERATOR: &str = "training.kubeflow.org/operator-name";
/// Label with the job's name.
pub const JOB: &str = "training.kubeflow.org/job-name";
/// Label with the replica's role, lower-case.
pub const ROLE: &str = "training.kubeflow.org/replica-type";
/// Label with the replica's index.
pub const INDEX: &str = "training.kubeflow.org/replica-index";
/// Label of chief pods, always `master`.
pub const JOB_ROLE: &str = "training.kubeflow.org/job-role";

/// The operator's name in labels and events, like `mxjob-controller`.
pub fn operator(table: &RoleTable) -> String {
    format!("{}-controller", table.crd.singular)
}

/// The value of `runPolicy.managedBy` that means this operator, like `kubeflow.org/mxjob-controller`.
pub fn manager(table: &RoleTable) -> String {
    format!("{}/{}", table.crd.group, operator(table))
}

/// Labels that everything of a job carries.
pub(crate) fn of_job(job: &Job) -> BTreeMap<String, String> {
    BTreeMap::from([
        (OPERATOR.to_owned(), operator(job.table)),
        (JOB.to_owned(), job.meta.name.clone()),
    ])
}

/// Labels of a replica's pod and service.
pub(crate) fn of_replica(job: &Job, replica: Replica) -> BTreeMap<String, String> {
    let mut labels = of_job(job);
    labels.insert(
        ROLE.to_owned(),
        job.table.role(replica.role).name.to_ascii_lowercase(),
    );
    labels.insert(INDEX.to_owned(), replica.index.to_string());
    labels
}
