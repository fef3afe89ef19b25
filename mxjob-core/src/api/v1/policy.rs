//! The policies of a job: when it has succeeded, what a failure does, how long it lives.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// When a job has succeeded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum SuccessPolicy {
    /// As the chief and the workers say.
    #[default]
    #[serde(rename = "")]
    Chief,
    /// When every worker has.
    AllWorkers,
}

/// How replicas find each other.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Network {
    /// One headless service per replica, or one for the job.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub services: Option<Services>,
}

/// How many headless services a job has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Services {
    /// One per replica, named as the replica.
    #[default]
    PerReplica,
    /// One for the job, named as the job; replicas have host names under it.
    PerJob,
}

/// Life time, retries and cleanup.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunPolicy {
    /// Which pods go when the job has finished; default Running.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clean_pod_policy: Option<CleanPodPolicy>,
    /// Seconds after its end at which the job is deleted; absent: never.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttl_seconds_after_finished: Option<i32>,
    /// Seconds after its start at which a job that still runs fails; absent: never.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub active_deadline_seconds: Option<i64>,
    /// How many restarts of replicas the job survives; absent: any number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backoff_limit: Option<i32>,
    /// Exit codes after which restartPolicy ExitCode replaces a replica: "N" or "N-M"; default 128-255.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retryable_exit_codes: Option<Vec<String>>,
    /// Keeps the job without pods until it is set to false.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suspend: Option<bool>,
    /// Who runs the job; another value than this operator's makes the operator leave it alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub managed_by: Option<String>,
    /// For gang scheduling.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scheduling_policy: Option<SchedulingPolicy>,
}

/// Which pods go when a job has finished.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum CleanPodPolicy {
    /// All.
    All,
    /// Those that have not ended by themselves.
    #[default]
    Running,
    /// None; of a failed job those that have not ended, all the same.
    None,
}

/// For gang scheduling.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SchedulingPolicy {
    /// Fewest pods that are scheduled together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_available: Option<i32>,
    /// The scheduler's queue.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue: Option<String>,
    /// Fewest resources that must be free.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_resources: Option<
        std::collections::BTreeMap<String, k8s_openapi::apimachinery::pkg::api::resource::Quantity>,
    >,
    /// Priority class of the group.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority_class: Option<String>,
    /// Seconds after which the scheduler gives up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schedule_timeout_seconds: Option<i32>,
}

/// What a failed, disrupted or vanished replica does to the job. While it is set it alone decides.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FailurePolicy {
    /// How often the whole job is restarted before it fails; default 3.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_restarts: Option<i32>,
    /// The first rule that matches decides; none: RestartJob.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rules: Option<Vec<FailureRule>>,
}

/// One rule of a failure policy. A key that is absent matches everything.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FailureRule {
    /// What happens.
    pub action: FailureAction,
    /// Roles whose replicas it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub roles: Option<Vec<String>>,
    /// Exit codes: "N" or "N-M".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_codes: Option<Vec<String>>,
    /// Reasons: Evicted, OOMKilled, DisruptionTarget, Deleted, or another reason of pod or container.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasons: Option<Vec<String>>,
    /// Whether the restart counts towards maxRestarts; default true.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub counts_toward_limit: Option<bool>,
}

/// What a rule of a failure policy does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum FailureAction {
    /// The job fails.
    FailJob,
    /// The one replica is replaced.
    RestartReplica,
    /// All replicas are deleted and created again.
    RestartJob,
}
