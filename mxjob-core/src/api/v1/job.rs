//! The object and its spec.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::marker::PhantomData;

use k8s_openapi::api::core::v1::PodTemplateSpec;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube_core::Resource;
use schemars::JsonSchema;
use serde::ser::SerializeStruct;
use serde::{Deserialize, Serialize, Serializer};

use super::policy::{
    CleanPodPolicy, FailurePolicy, Network, RunPolicy, SchedulingPolicy, SuccessPolicy,
};
use super::status::JobStatus;
use crate::role::{ReplicaRole, RestartPolicy};

/// A job whose replica roles are those of `R`.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", bound = "")]
pub struct MXJob<R> {
    /// Name, namespace, uid, owner and the like.
    #[serde(default)]
    pub metadata: ObjectMeta,
    /// What the user asks for.
    pub spec: JobSpec,
    /// What the operator has seen and counted.
    #[serde(default)]
    pub status: Option<JobStatus>,
    #[serde(skip)]
    roles: PhantomData<fn() -> R>,
}

impl<R> MXJob<R> {
    /// A new job of that name in no namespace yet.
    pub fn new(name: &str, spec: JobSpec) -> Self {
        let metadata = ObjectMeta {
            name: Some(name.to_owned()),
            ..ObjectMeta::default()
        };
        Self {
            metadata,
            spec,
            status: None,
            roles: PhantomData,
        }
    }
}

impl<R: ReplicaRole> MXJob<R> {
    /// The replicas of a role, in whatever letter case the manifest names it.
    pub fn role(&self, role: R) -> Option<&ReplicaSpec> {
        let mut entries = self.spec.mx_replica_specs.iter();
        entries
            .find(|(key, _)| R::parse(key) == Some(role))
            .map(|(_, entry)| entry)
    }
}

impl<R: ReplicaRole> Serialize for MXJob<R> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_struct("MXJob", 5)?;
        object.serialize_field("apiVersion", &Self::api_version(&()))?;
        object.serialize_field("kind", &Self::kind(&()))?;
        object.serialize_field("metadata", &self.metadata)?;
        object.serialize_field("spec", &self.spec)?;
        match &self.status {
            Some(status) => object.serialize_field("status", status)?,
            None => object.skip_field("status")?,
        }
        object.end()
    }
}

impl<R: ReplicaRole> Resource for MXJob<R> {
    type DynamicType = ();
    type Scope = kube_core::NamespaceResourceScope;

    fn kind((): &()) -> Cow<'_, str> {
        R::TABLE.crd.kind.into()
    }

    fn group((): &()) -> Cow<'_, str> {
        R::TABLE.crd.group.into()
    }

    fn version((): &()) -> Cow<'_, str> {
        "v1".into()
    }

    fn plural((): &()) -> Cow<'_, str> {
        R::TABLE.crd.plural.into()
    }

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}

/// What the user asks for.
///
/// The five policy fields that stand both here and under `runPolicy` are the older v1 layout; given
/// in both places they must agree.
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
    /// Restarts of the whole job; absent: each role's restartPolicy decides.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure_policy: Option<FailurePolicy>,
    /// How replicas find each other.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network: Option<Network>,
    /// Life time, retries and cleanup.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_policy: Option<RunPolicy>,
    /// As runPolicy.cleanPodPolicy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clean_pod_policy: Option<CleanPodPolicy>,
    /// As runPolicy.ttlSecondsAfterFinished.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttl_seconds_after_finished: Option<i32>,
    /// As runPolicy.activeDeadlineSeconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub active_deadline_seconds: Option<i64>,
    /// As runPolicy.backoffLimit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backoff_limit: Option<i32>,
    /// As runPolicy.schedulingPolicy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scheduling_policy: Option<SchedulingPolicy>,
}

/// The replicas of one role.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReplicaSpec {
    /// How many; absent: the role's default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replicas: Option<i32>,
    /// What each replica runs.
    pub template: PodTemplateSpec,
    /// What happens when one fails; absent: the role's default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub restart_policy: Option<RestartPolicy>,
    /// The role's label in the layout variable; for TVM the device key. The pod template's
    /// annotation tuner-server-key wins.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
}
