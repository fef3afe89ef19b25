//! The `batch/v1` Job of a replica, where an API's replicas are such Jobs.

use k8s_openapi::api::batch::v1::{Job, JobSpec};
use k8s_openapi::api::core::v1::{Pod, PodTemplateSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

/// Tries before another Job takes its place, with all its pods: Kubernetes' own number.
const BACKOFF_LIMIT: i32 = 6;

/// The Job whose one pod that is. It makes the next one when that has ended, for the two would have one
/// address.
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
            backoff_limit: Some(BACKOFF_LIMIT),
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
