//! The `batch/v1` Job of a replica, where an API's replicas are such Jobs.

use k8s_openapi::api::batch::v1::{Job, JobSpec};
use k8s_openapi::api::core::v1::{Pod, PodTemplateSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

/// The Job whose one pod that is. When to give up is for the planner to say, so the Job never does;
/// and it makes the next pod when the one before has ended, for the two would have one address.
pub(super) fn job(pod: Pod) -> Job {
    let meta = pod.metadata;
    let template = ObjectMeta {
        labels: meta.labels.clone(),
        annotations: meta.annotations.clone(),
        finalizers: meta.finalizers,
        ..ObjectMeta::default()
    };
    Job {
        metadata: ObjectMeta {
            finalizers: None,
            ..meta
        },
        spec: Some(JobSpec {
            completions: Some(1),
            parallelism: Some(1),
            backoff_limit: Some(i32::MAX),
            pod_replacement_policy: Some("Failed".to_owned()),
            template: PodTemplateSpec {
                metadata: Some(template),
                spec: pod.spec,
            },
            ..JobSpec::default()
        }),
        status: None,
    }
}
