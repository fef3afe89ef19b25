//! The requests that change a job's objects: each waits for its turn, and none for ever.

use std::fmt::Debug;
use std::future::Future;
use std::ops::Range;
use std::time::Duration;

use futures::stream::{self, Stream};
use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams, Preconditions};
use kube::core::Status;
use kube::{Api, Client, Resource};
use mxjob_core::RoleTable;
use mxjob_core::plan::Target;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::crd;
use super::key::JobKey;
use super::limit::Verdict;
use super::raw::{self, RawJob};
use super::throttle::{Permit, Throttle};

/// Longer than the apiserver's own limit for a write with its webhooks.
const PATIENCE: Duration = Duration::from_secs(40);
/// Objects a page of a list.
const PAGE: u32 = 500;
const OK: u16 = 200;
const CONFLICT: u16 = 409;
const INVALID: u16 = 422;
const TOO_MANY_REQUESTS: u16 = 429;

/// Why a request has not done what it should.
#[derive(Debug, thiserror::Error)]
pub(super) enum Refusal {
    /// The server answered so.
    #[error("{}", .0.message)]
    Answer(Box<Status>),
    /// The server could not be reached, or its answer could not be read.
    #[error("{0}")]
    Connection(kube::Error),
    /// The server has not answered.
    #[error("no answer within {} s", PATIENCE.as_secs())]
    Late,
    /// The planner wants an object that the job's spec does not describe.
    #[error("the job has no such replica")]
    NoSuchReplica,
    /// The pod that a Job is to have is not to be seen, or has all that it is to have.
    #[error("no pod of the job is there that lacks its labels: looking again")]
    NoSuchPod,
    /// The server has taken a spec or status and kept another one.
    #[error(
        "the server keeps less of the job than is written: update the CRD, {}",
        crd::command(.0)
    )]
    Pruned(&'static RoleTable),
}

impl Refusal {
    /// The status code; 0: there was no answer.
    pub(super) fn code(&self) -> u16 {
        match self {
            Self::Answer(status) => status.code,
            Self::Pruned(_) => OK,
            Self::Connection(_) | Self::Late | Self::NoSuchReplica | Self::NoSuchPod => 0,
        }
    }

    /// The object is not there.
    pub(super) fn is_not_found(&self) -> bool {
        matches!(self, Self::Answer(status) if status.is_not_found())
    }

    /// An object of that name is there.
    pub(super) fn is_already_exists(&self) -> bool {
        matches!(self, Self::Answer(status) if status.is_already_exists())
    }

    /// The object is no longer what it was thought to be.
    pub(super) fn is_conflict(&self) -> bool {
        matches!(self, Self::Answer(status) if status.is_conflict())
    }

    /// The server may have done what it was asked for.
    pub(super) fn is_doubtful(&self) -> bool {
        matches!(self.code(), 0 | 500..)
    }

    /// The server will answer the same again until somebody else does something: the request is wrong,
    /// not allowed, or not understood.
    pub(super) fn is_final(&self) -> bool {
        matches!(self.code(), OK | 400..=499)
            && !matches!(self.code(), CONFLICT | TOO_MANY_REQUESTS)
    }
}

/// An object of Kubernetes' own, in a namespace.
pub(super) trait Object:
    Resource<DynamicType = (), Scope = NamespaceResourceScope>
    + Serialize
    + DeserializeOwned
    + Clone
    + Debug
{
}

impl<K> Object for K where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
        + Serialize
        + DeserializeOwned
        + Clone
        + Debug
{
}

/// Sends requests.
#[derive(Clone)]
pub(super) struct Cluster {
    client: Client,
    throttle: Throttle,
}

impl Cluster {
    /// Sends requests with `client`, as `throttle` allows.
    pub(super) fn new(client: Client, throttle: Throttle) -> Self {
        Self { client, throttle }
    }

    /// Each of the places, as soon as `job` may send a request for it.
    pub(super) fn permits(
        &self,
        job: &JobKey,
        places: Range<usize>,
    ) -> impl Stream<Item = (usize, Permit)> + Send {
        let state = (self.throttle.clone(), job.clone(), places);
        stream::unfold(state, async |(throttle, job, mut places)| {
            let place = places.next()?;
            let permit = throttle.permit(&job).await;
            Some(((place, permit), (throttle, job, places)))
        })
    }

    /// Waits until `job` may send a request.
    pub(super) async fn permit(&self, job: &JobKey) -> Permit {
        self.throttle.permit(job).await
    }

    /// Replaces the status, if the job is still at `version`.
    pub(super) async fn write_status(
        &self,
        job: &JobKey,
        version: &str,
        status: &Value,
    ) -> Result<RawJob, Refusal> {
        let patch = replacement(version, "/status", status)?;
        let (jobs, how) = (self.jobs(job), PatchParams::default());
        let written = jobs.patch_status(&job.name, &how, &patch);
        self.send(job, written).await
    }

    /// Replaces the spec, if the job is still at `version`.
    pub(super) async fn write_spec(
        &self,
        job: &JobKey,
        version: &str,
        spec: &Value,
    ) -> Result<RawJob, Refusal> {
        let patch = replacement(version, "/spec", spec)?;
        let (jobs, how) = (self.jobs(job), PatchParams::default());
        self.send(job, jobs.patch(&job.name, &how, &patch)).await
    }

    /// The jobs beside this one.
    fn jobs(&self, job: &JobKey) -> Api<RawJob> {
        raw::jobs(&self.client, job.table(), Some(&job.namespace))
    }

    /// Creates an object.
    pub(super) async fn create<K: Object>(
        &self,
        job: &JobKey,
        permit: Permit,
        object: &K,
    ) -> Result<K, Refusal> {
        let api: Api<K> = Api::namespaced(self.client.clone(), &job.namespace);
        send(permit, api.create(&PostParams::default(), object)).await
    }

    /// Reads an object; `None`: there is none.
    pub(super) async fn read<K: Object>(
        &self,
        job: &JobKey,
        name: &str,
    ) -> Result<Option<K>, Refusal> {
        let api: Api<K> = Api::namespaced(self.client.clone(), &job.namespace);
        self.send(job, api.get_opt(name)).await
    }

    /// Reads all objects in the job's namespace that have these labels, a page at a time.
    pub(super) async fn list<K: Object>(
        &self,
        job: &JobKey,
        labels: &str,
    ) -> Result<Vec<K>, Refusal> {
        let api: Api<K> = Api::namespaced(self.client.clone(), &job.namespace);
        let mut page = ListParams::default().labels(labels).limit(PAGE);
        let mut all = Vec::new();
        loop {
            let found = self.send(job, api.list(&page)).await?;
            let token = found.metadata.continue_.filter(|token| !token.is_empty());
            all.extend(found.items);
            match token {
                Some(token) => page = page.continue_token(&token),
                None => return Ok(all),
            }
        }
    }

    /// Reads the job; `None`: there is none.
    pub(super) async fn read_job(&self, job: &JobKey) -> Result<Option<RawJob>, Refusal> {
        let jobs = self.jobs(job);
        self.send(job, jobs.get_opt(&job.name)).await
    }

    /// Gives an object these labels and owners, if it still is that one; `None`: it is not.
    pub(super) async fn mark<K: Object>(
        &self,
        job: &JobKey,
        permit: Permit,
        target: &Target,
        meta: &ObjectMeta,
    ) -> Result<Option<K>, Refusal> {
        let marks = ObjectMeta {
            uid: Some(target.uid.clone()),
            ..meta.clone()
        };
        let changes = json!({ "metadata": marks });
        self.patch(job, permit, target, &changes).await
    }

    /// Merges that into an object of Kubernetes' own, its owners among themselves too, if it still is that
    /// one; `None`: it is not.
    pub(super) async fn patch<K: Object>(
        &self,
        job: &JobKey,
        permit: Permit,
        target: &Target,
        changes: &Value,
    ) -> Result<Option<K>, Refusal> {
        let api: Api<K> = Api::namespaced(self.client.clone(), &job.namespace);
        let patch = Patch::Strategic(changes);
        let how = PatchParams::default();
        match send(permit, api.patch(&target.name, &how, &patch)).await {
            Ok(object) => Ok(Some(object)),
            Err(refusal) if refusal.is_not_found() || refusal.is_conflict() => Ok(None),
            // So the server calls another uid, too.
            Err(refusal) if refusal.code() == INVALID => {
                let there = self.read::<K>(job, &target.name).await?;
                let is_it = there.is_some_and(|one| one.meta().uid.as_ref() == Some(&target.uid));
                if is_it { Err(refusal) } else { Ok(None) }
            }
            Err(refusal) => Err(refusal),
        }
    }

    /// Deletes an object. That it is gone already is as good.
    pub(super) async fn delete<K: Object>(
        &self,
        job: &JobKey,
        permit: Permit,
        target: &Target,
        how: DeleteParams,
    ) -> Result<(), Refusal> {
        let api: Api<K> = Api::namespaced(self.client.clone(), &job.namespace);
        let how = how.preconditions(only(&target.uid));
        gone_is_fine(send(permit, api.delete(&target.name, &how)).await.map(drop))
    }

    /// Deletes the job, if it still is that one; its dependants go after it.
    pub(super) async fn delete_job(
        &self,
        job: &JobKey,
        permit: Permit,
        uid: &str,
    ) -> Result<(), Refusal> {
        let jobs = self.jobs(job);
        let how = DeleteParams::background().preconditions(only(uid));
        gone_is_fine(send(permit, jobs.delete(&job.name, &how)).await.map(drop))
    }

    async fn send<T>(
        &self,
        job: &JobKey,
        request: impl Future<Output = kube::Result<T>>,
    ) -> Result<T, Refusal> {
        send(self.permit(job).await, request).await
    }
}

async fn send<T>(
    permit: Permit,
    request: impl Future<Output = kube::Result<T>>,
) -> Result<T, Refusal> {
    let result = match tokio::time::timeout(PATIENCE, request).await {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(kube::Error::Api(status))) => Err(Refusal::Answer(status)),
        Ok(Err(error)) => Err(Refusal::Connection(error)),
        Err(_) => Err(Refusal::Late),
    };
    let overloaded = match &result {
        Err(Refusal::Late) => true,
        Err(refusal) => refusal.code() == TOO_MANY_REQUESTS,
        Ok(_) => false,
    };
    permit.settle(if overloaded {
        Verdict::Overloaded
    } else {
        Verdict::Fine
    });
    result
}

/// Puts `value` at `path` of an object that is at `version`.
fn replacement(version: &str, path: &str, value: &Value) -> Result<Patch<()>, Refusal> {
    let steps = serde_json::from_value(json!([
        {"op": "replace", "path": "/metadata/resourceVersion", "value": version},
        {"op": "add", "path": path, "value": value},
    ]));
    let steps = steps.map_err(|error| Refusal::Connection(kube::Error::SerdeError(error)))?;
    Ok(Patch::Json(steps))
}

fn only(uid: &str) -> Preconditions {
    Preconditions {
        uid: Some(uid.to_owned()),
        ..Preconditions::default()
    }
}

fn gone_is_fine(result: Result<(), Refusal>) -> Result<(), Refusal> {
    match result {
        Err(refusal) if refusal.is_not_found() => Ok(()),
        other => other,
    }
}
