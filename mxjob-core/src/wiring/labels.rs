//! Labels and annotations of pods, services and ConfigMaps.

use std::collections::BTreeMap;

use crate::job::{Job, Replica, RoleSpec, Spec};

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

/// Annotation of the ConfigMap with a job's layout: the numbers of replicas that it was made for.
pub const SIZE: &str = "mxjob.kubeflow.org/size";

/// The value of [`SIZE`], like `scheduler=1,worker=3000`.
pub(crate) fn size(spec: &Spec) -> String {
    let role =
        |role: &RoleSpec| format!("{}={}", role.role.name.to_ascii_lowercase(), role.replicas);
    spec.roles.iter().map(role).collect::<Vec<_>>().join(",")
}

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
