//! `v1alpha1`: replicas as a list, a runtime id, phases. Fields are spelled as in the manifest.

use std::collections::BTreeMap;

use super::v1::Milestone;
use k8s_openapi::api::core::v1::PodTemplateSpec;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The mode of a job with a scheduler.
pub(crate) const DIST: &str = "dist";
/// The mode of a job that is one worker.
pub(crate) const LOCAL: &str = "local";

/// What the user asks for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct JobSpec {
    /// Part of the names of the job's pods and services: four characters, chosen once.
    #[serde(rename = "RuntimeId", skip_serializing_if = "Option::is_none")]
    pub runtime_id: Option<String>,
    /// dist: with servers; local: one worker. Absent: dist when there is a scheduler.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub job_mode: Option<String>,
    /// One entry for each role.
    pub replica_specs: Vec<ReplicaSpec>,
    /// Image of a container that names none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mx_image: Option<String>,
    /// Which replica decides how the job ends.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub termination_policy: Option<TerminationPolicy>,
    /// Which pods go when the job has finished: All, Running or None; default All.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cleanup_pod_policy: Option<String>,
    /// The scheduler of every pod; empty: the template's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scheduler_name: Option<String>,
}

/// What [`ReplicaSpec::ps_root_port`] is called here.
pub(crate) const PORT_FIELD: &str = "PsRootPort";

/// The replicas of one role.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReplicaSpec {
    /// How many; default 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replicas: Option<i32>,
    /// What each replica runs.
    pub template: PodTemplateSpec,
    /// SCHEDULER, SERVER or WORKER; default WORKER.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mx_replica_type: Option<String>,
    /// The port that the scheduler listens on; default 9091.
    // A resource may call it otherwise.
    #[serde(rename = "PsRootPort", skip_serializing_if = "Option::is_none")]
    pub ps_root_port: Option<i32>,
}

/// How a job ends.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TerminationPolicy {
    /// The replica that decides.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chief: Option<Chief>,
}

/// One replica.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Chief {
    /// Its role, in capitals.
    pub replica_name: String,
    /// Its index.
    #[serde(default)]
    pub replica_index: i32,
}

/// What the operator has seen.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct JobStatus {
    /// How far the job is: Creating, Running, CleanUp, Failed or Done.
    #[serde(default)]
    pub phase: String,
    /// Why.
    #[serde(default)]
    pub reason: String,
    /// How it goes: Unknown, Running, Succeeded or Failed.
    #[serde(default)]
    pub state: String,
    /// How the replicas of each role go.
    #[serde(default)]
    pub replica_statuses: Vec<ReplicaStatus>,
    /// What has become of the job's replicas, the newest of ten last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Milestone>,
    /// Somebody has paused the job: the operator leaves it as it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub control_paused: Option<bool>,
    /// What the status of v1 says beyond this, as JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rest: Option<String>,
}

/// [`JobStatus::conditions`], which a resource need not have.
pub(crate) const CONDITIONS: &str = "conditions";
/// [`JobStatus::control_paused`], which a resource need not have.
pub(crate) const PAUSED: &str = "controlPaused";
/// What a resource may call [`ReplicaStatus::mx_replica_type`] otherwise.
pub(crate) const STATUS_ROLE: &str = "mx_replica_type";

/// How the replicas of one role go.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReplicaStatus {
    /// Its role, in capitals.
    pub mx_replica_type: String,
    /// How they go together: Unknown, Starting, Running, Failed or Succeeded.
    pub state: String,
    /// How many of them are in each state.
    #[serde(rename = "ReplicasStates", default)]
    pub replicas_states: BTreeMap<String, i32>,
}
