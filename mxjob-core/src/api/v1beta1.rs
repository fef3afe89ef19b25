//! `v1beta1`: every policy directly under `spec`. Fields are as in the manifest; the server fills in
//! what [`JobSpec`] says is a default.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::v1::{
    CleanPodPolicy, Condition, ReplicaSpec, ReplicaStatus, SchedulingPolicy, SuccessPolicy,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

/// What the user asks for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct JobSpec {
    /// How the job runs; absent: as its roles say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub job_mode: Option<String>,
    /// The replicas of each role, by the role's name in any letter case.
    pub mx_replica_specs: BTreeMap<String, ReplicaSpec>,
    /// When the job has succeeded: "" as its chief and workers say, AllWorkers when every worker has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub success_policy: Option<SuccessPolicy>,
    /// Which pods go when the job has finished; default All.
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
    /// For gang scheduling.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scheduling_policy: Option<SchedulingPolicy>,
}

/// What the operator has seen.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct JobStatus {
    /// The newest last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conditions: Option<Vec<Condition>>,
    /// How many replicas of each role are active, have succeeded or failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mx_replica_statuses: Option<BTreeMap<String, ReplicaStatus>>,
    /// When the job started.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start_time: Option<Time>,
    /// When it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completion_time: Option<Time>,
    /// What the status of v1 says beyond this, as JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rest: Option<String>,
}
