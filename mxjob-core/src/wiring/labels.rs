//! Labels of pods and services.

use std::collections::BTreeMap;

use crate::job::{Job, Replica};

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

/// Labels that everything of a job carries.
pub(crate) fn of_job(job: &Job) -> BTreeMap<String, String> {
    BTreeMap::from([
        (OPERATOR.to_owned(), job.table.operator()),
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
