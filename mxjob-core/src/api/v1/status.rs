//! What the operator has seen and counted. All of the operator's memory is here and in the pods.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize};

/// What the operator has seen and counted.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct JobStatus {
    /// One entry per type; the one that became true last stands last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
    /// Counts by role.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub replica_statuses: BTreeMap<String, ReplicaStatus>,
    /// When the job was first taken up, or taken up again after a suspension.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start_time: Option<Time>,
    /// When the job succeeded or failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completion_time: Option<Time>,
    /// Restarts of the whole job.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub restarts: Option<i32>,
    /// Those of them that count towards maxRestarts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub counted_restarts: Option<i32>,
    /// Restarts that came before the last run of ten minutes: the waits started over.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backoff_from: Option<i32>,
    /// The metadata.generation that this status is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// Created, Running, Restarting, Suspended, Succeeded or Failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
    /// How the job runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// Ready of wanted replicas, like 3/5.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ready: Option<String>,
    /// The first chief replica and its pod's phase, like Scheduler/0 Running.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chief: Option<String>,
    /// Reason of the condition that phase names, or of Stalled while that is true.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What has become of the replicas of a job whose API shows that, the newest last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(skip)]
    pub milestones: Vec<Milestone>,
    /// Somebody has paused the job, where its API has that.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(skip)]
    pub paused: Option<bool>,
}

/// Something that has become of a job's replicas.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Milestone {
    /// Ready, Recovering, RemovingDeadMember, ScalingUp, ScalingDown or Upgrading.
    #[serde(rename = "type", default)]
    pub kind: String,
    /// A sentence.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// When, as RFC 3339 has it.
    #[serde(default)]
    pub transition_time: String,
}

impl JobStatus {
    /// Somebody has paused the job: it is left as it is.
    pub fn is_paused(&self) -> bool {
        self.paused == Some(true)
    }

    /// The condition of that type, whatever its status.
    pub fn condition(&self, kind: ConditionType) -> Option<&Condition> {
        self.conditions
            .iter()
            .find(|condition| condition.kind == kind.name())
    }

    /// True when the condition of that type is there and true.
    pub fn is(&self, kind: ConditionType) -> bool {
        self.condition(kind).is_some_and(Condition::is_true)
    }

    /// How many replicas of a role the job has been seen to want; `None`: that was never written.
    pub fn size_of(&self, role: &str) -> Option<i32> {
        let mut all = self.replica_statuses.iter();
        let entry = all.find(|(key, _)| key.eq_ignore_ascii_case(role));
        entry.and_then(|(_, role)| role.replicas)
    }

    /// True once the job has succeeded or failed; it then never changes again.
    pub fn is_finished(&self) -> bool {
        self.is(ConditionType::Succeeded) || self.is(ConditionType::Failed)
    }
}

/// One fact about a job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Condition {
    /// Created, Running, Restarting, Suspended, Succeeded, Failed or Stalled.
    #[serde(rename = "type")]
    pub kind: String,
    /// True, False or Unknown.
    pub status: String,
    /// Why, in one word.
    #[serde(
        default,
        deserialize_with = "or_nothing",
        skip_serializing_if = "Option::is_none"
    )]
    pub reason: Option<String>,
    /// Why, in a sentence.
    #[serde(
        default,
        deserialize_with = "or_nothing",
        skip_serializing_if = "Option::is_none"
    )]
    pub message: Option<String>,
    /// When anything of it changed.
    #[serde(
        default,
        deserialize_with = "or_nothing",
        skip_serializing_if = "Option::is_none"
    )]
    pub last_update_time: Option<Time>,
    /// When its status changed.
    #[serde(
        default,
        deserialize_with = "or_nothing",
        skip_serializing_if = "Option::is_none"
    )]
    pub last_transition_time: Option<Time>,
}

impl Condition {
    /// True when its status is True.
    pub fn is_true(&self) -> bool {
        self.status == "True"
    }
}

/// The kinds of condition that a job has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ConditionType {
    /// Seen and accepted.
    Created,
    /// A chief replica runs.
    Running,
    /// Replicas are being replaced.
    Restarting,
    /// Kept without pods.
    Suspended,
    /// Ended well.
    Succeeded,
    /// Ended badly.
    Failed,
    /// Something outside keeps the job from going on.
    Stalled,
}

impl ConditionType {
    /// Those that `status.phase` names.
    pub const PHASES: [Self; 6] = [
        Self::Created,
        Self::Running,
        Self::Restarting,
        Self::Suspended,
        Self::Succeeded,
        Self::Failed,
    ];

    /// The name as written in `type`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Created => "Created",
            Self::Running => "Running",
            Self::Restarting => "Restarting",
            Self::Suspended => "Suspended",
            Self::Succeeded => "Succeeded",
            Self::Failed => "Failed",
            Self::Stalled => "Stalled",
        }
    }
}

/// Counts of one role. Zero counts are left out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReplicaStatus {
    /// Wanted when the pods of this life of the job were made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replicas: Option<i32>,
    /// Running and not terminating.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub active: i32,
    /// Ended well.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub succeeded: i32,
    /// Ended badly.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub failed: i32,
    /// Ready.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub ready: i32,
    /// Replacements of single replicas.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub restarts: i32,
    /// Container restarts of pods that were replaced since.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub in_place_restarts: i32,
    /// Replacements by index, like {"3": 1}, also those that do not count.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub attempts: BTreeMap<String, i32>,
    /// Attempts, by index, that came before its last run of ten minutes: the waits started over.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub backoff_from: BTreeMap<String, i32>,
    /// Container restarts, by index, of pods that were not replaced yet.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub container_restarts: BTreeMap<String, i32>,
    /// Indexes whose container has run in this life of the job, like 0-2,5.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_indexes: Option<String>,
    /// Indexes that have succeeded in this life of the job.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completed_indexes: Option<String>,
    /// Indexes whose pod is being preempted, evicted or drained, until it is replaced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disrupted_indexes: Option<String>,
    /// When a replica ended, by index, where its pod does not tell for ever: the pod was found gone,
    /// or its container is started again.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub ended_at: BTreeMap<String, Time>,
}

/// That a condition is true counts, also when the rest of it cannot be read.
fn or_nothing<'de, T, D>(deserializer: D) -> Result<Option<T>, D::Error>
where
    T: DeserializeOwned,
    D: Deserializer<'de>,
{
    let value = serde_json::Value::deserialize(deserializer)?;
    Ok(serde_json::from_value(value).unwrap_or_default())
}

#[allow(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde calls it with a reference"
)]
fn is_zero(count: &i32) -> bool {
    *count == 0
}
