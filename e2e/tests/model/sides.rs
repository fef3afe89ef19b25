//! The model and the real server, and one call to both.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Result, ensure};
use e2e::ControlPlane;
use e2e::deadline::{Seen, until};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{ConfigMap, Pod, Service};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Client;
use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams, Preconditions};
use kube::core::{ApiResource, DynamicObject, GroupVersionKind};
use mxjob_core::model::{self, ApiError, Deletion, Part, Server, Stored, StoredJob};
use mxjob_core::{MxRole, ReplicaRole as _, schema};

use crate::calls::{Call, Kind, Only, Verb};
use crate::subject::{Subject, change, fresh, named};

const PATIENCE: Duration = Duration::from_mins(2);
const KINDS: [Kind; 4] = [Kind::Job, Kind::Pod, Kind::Service, Kind::ConfigMap];

pub(crate) fn definition() -> CustomResourceDefinition {
    schema::crd(MxRole::TABLE)
}

/// What both sides must agree on about an object.
#[derive(Clone, Debug, PartialEq)]
struct Look {
    generation: Option<i64>,
    deleting: bool,
    grace: Option<i64>,
    finalizers: Vec<String>,
    label: Option<String>,
}

impl Look {
    fn at(meta: &ObjectMeta) -> Self {
        Self {
            generation: meta.generation,
            deleting: meta.deletion_timestamp.is_some(),
            grace: meta.deletion_grace_period_seconds,
            finalizers: meta.finalizers.clone().unwrap_or_default(),
            label: meta.labels.as_ref().and_then(|all| all.get("v").cloned()),
        }
    }
}

pub(crate) struct Sides {
    client: Client,
    namespace: String,
    model: Server,
}

impl Sides {
    pub(crate) async fn new(plane: &ControlPlane) -> Result<Self> {
        Ok(Self {
            client: plane.client().await?,
            namespace: plane.namespace("model").await?,
            model: Server::default(),
        })
    }

    /// Sends a call to both; says what both answered.
    pub(crate) async fn play(&mut self, call: &Call) -> Result<String> {
        let before = (self.meta(call), self.real_meta(call).await?);
        let real = self.ask_server(call, before.1.as_ref()).await?;
        let model = match call.kind {
            Kind::Job => self.ask_model::<StoredJob>(call, before.0.as_ref()),
            Kind::Pod => self.ask_model::<Pod>(call, before.0.as_ref()),
            Kind::Service => self.ask_model::<Service>(call, before.0.as_ref()),
            Kind::ConfigMap => self.ask_model::<ConfigMap>(call, before.0.as_ref()),
        };
        let said = |error: &ApiError| (error.code(), error.reason().to_owned());
        let model = model.err().as_ref().map(said);
        ensure!(
            model == real,
            "the model says {model:?}, the server {real:?}"
        );
        let after = (self.meta(call), self.real_meta(call).await?);
        let changed = |(old, new): (&Option<ObjectMeta>, &Option<ObjectMeta>)| {
            let version = |meta: &ObjectMeta| meta.resource_version.clone();
            old.as_ref().map(version) != new.as_ref().map(version)
        };
        let (here, there) = (
            changed((&before.0, &after.0)),
            changed((&before.1, &after.1)),
        );
        // The collector may have come to a dependant already; what is left is compared below.
        let is_owned = |meta: &Option<ObjectMeta>| {
            meta.as_ref()
                .is_some_and(|meta| meta.owner_references.is_some())
        };
        if !is_owned(&after.0) {
            ensure!(
                here == there,
                "changed: the model says {here}, the server {there}"
            );
        }
        self.model.collect_garbage(Timestamp::now());
        self.agree().await?;
        Ok(real.map_or_else(|| "done".to_owned(), |(_, reason)| reason))
    }

    /// Waits until the server's collector is done too; then both have the same objects.
    async fn agree(&self) -> Result<()> {
        let here = self.all();
        until("the same objects on both sides", PATIENCE, || async {
            let mut there = BTreeMap::new();
            for kind in KINDS {
                for object in self
                    .api(kind)
                    .list(&kube::api::ListParams::default())
                    .await?
                {
                    let name = object.metadata.name.clone().unwrap_or_default();
                    if ["one", "two"].contains(&name.as_str()) {
                        there.insert(format!("{kind:?}/{name}"), Look::at(&object.metadata));
                    }
                }
            }
            Ok(if here == there {
                Seen::Done(())
            } else {
                Seen::NotYet(format!("model: {here:?}, server: {there:?}"))
            })
        })
        .await
    }

    fn all(&self) -> BTreeMap<String, Look> {
        fn of<T: Stored>(model: &Server, kind: Kind) -> Vec<(String, Look)> {
            let look = |object: &std::sync::Arc<T>| {
                let meta = object.meta();
                (
                    format!("{kind:?}/{}", meta.name.as_deref().unwrap_or_default()),
                    Look::at(meta),
                )
            };
            model.list::<T>().map(look).collect()
        }
        let mut all = of::<StoredJob>(&self.model, Kind::Job);
        all.extend(of::<Pod>(&self.model, Kind::Pod));
        all.extend(of::<Service>(&self.model, Kind::Service));
        all.extend(of::<ConfigMap>(&self.model, Kind::ConfigMap));
        all.into_iter().collect()
    }

    fn meta(&self, call: &Call) -> Option<ObjectMeta> {
        let (model, name) = (&self.model, call.name);
        match call.kind {
            Kind::Job => model
                .get::<StoredJob>(name)
                .map(|one| one.metadata.clone())
                .ok(),
            Kind::Pod => model.get::<Pod>(name).map(|one| one.metadata.clone()).ok(),
            Kind::Service => model
                .get::<Service>(name)
                .map(|one| one.metadata.clone())
                .ok(),
            Kind::ConfigMap => model
                .get::<ConfigMap>(name)
                .map(|one| one.metadata.clone())
                .ok(),
        }
    }

    async fn real_meta(&self, call: &Call) -> Result<Option<ObjectMeta>> {
        let found = self.api(call.kind).get_opt(call.name).await?;
        Ok(found.map(|object| object.metadata))
    }

    fn api(&self, kind: Kind) -> Api<DynamicObject> {
        let (group, kind) = match kind {
            Kind::Job => ("kubeflow.org", "MXJob"),
            Kind::Pod => ("", "Pod"),
            Kind::Service => ("", "Service"),
            Kind::ConfigMap => ("", "ConfigMap"),
        };
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, "v1", kind));
        Api::namespaced_with(self.client.clone(), &self.namespace, &resource)
    }

    async fn ask_server(
        &self,
        call: &Call,
        meta: Option<&ObjectMeta>,
    ) -> Result<Option<(u16, String)>> {
        let (api, name) = (self.api(call.kind), call.name);
        let answer = match &call.verb {
            Verb::Create { .. } => {
                let owner = self.owner(call).await?;
                let object = serde_json::from_value(fresh(call, owner))?;
                api.create(&PostParams::default(), &object).await.map(drop)
            }
            Verb::Get => api.get(name).await.map(drop),
            Verb::Replace(label, only) => match api.get(name).await {
                Err(error) => Err(error),
                Ok(mut object) => {
                    let labels = object.metadata.labels.get_or_insert_default();
                    labels.insert("v".to_owned(), label.to_string());
                    let (uid, version) = named(*only, meta);
                    object.metadata.uid = uid;
                    object.metadata.resource_version = version;
                    api.replace(name, &PostParams::default(), &object)
                        .await
                        .map(drop)
                }
            },
            Verb::Label(..) | Verb::Hold(_) | Verb::Spec(_) | Verb::Status(..) => {
                let (how, change) = (PatchParams::default(), change(call, meta));
                let done = match call.verb {
                    Verb::Status(..) => api.patch_status(name, &how, &Patch::Merge(change)).await,
                    // Of a list a merge patch would be the whole.
                    Verb::Spec(_) if call.kind == Kind::Pod => {
                        api.patch(name, &how, &Patch::Strategic(change)).await
                    }
                    _ => api.patch(name, &how, &Patch::Merge(change)).await,
                };
                done.map(drop)
            }
            Verb::Delete(only, grace) => {
                let (uid, resource_version) = named(*only, meta);
                let mut how = DeleteParams::background().preconditions(Preconditions {
                    uid,
                    resource_version,
                });
                how.grace_period_seconds = *grace;
                api.delete(name, &how).await.map(drop)
            }
        };
        match answer {
            Ok(()) => Ok(None),
            Err(kube::Error::Api(status)) => Ok(Some((status.code, status.reason.clone()))),
            Err(error) => Err(error.into()),
        }
    }

    /// The owner that a fresh object names.
    async fn owner(&self, call: &Call) -> Result<Option<(String, String)>> {
        let Verb::Create {
            owner: Some(owner), ..
        } = &call.verb
        else {
            return Ok(None);
        };
        let job = Call {
            kind: Kind::Job,
            name: owner,
            verb: Verb::Get,
        };
        let meta = self.real_meta(&job).await?;
        Ok(meta.and_then(|meta| Some(((*owner).to_owned(), meta.uid?))))
    }

    fn ask_model<T: Subject>(
        &mut self,
        call: &Call,
        meta: Option<&ObjectMeta>,
    ) -> Result<(), ApiError> {
        let (name, now) = (call.name, Timestamp::now());
        let only = |only: Only| {
            let (uid, version) = named(only, meta);
            model::Preconditions { uid, version }
        };
        let any = model::Preconditions::default();
        let model = &mut self.model;
        match &call.verb {
            Verb::Create { owner, .. } => {
                let owner = owner.and_then(|owner| {
                    let job = model.get::<StoredJob>(owner).ok()?;
                    Some((owner.to_owned(), job.metadata.uid.clone()?))
                });
                model.create(T::read(fresh(call, owner)), now).map(drop)
            }
            Verb::Get => model.get::<T>(name).map(drop),
            Verb::Replace(value, pick) => {
                let mut object = T::clone(&*model.get::<T>(name)?);
                object.set_label(*value);
                model.replace(name, &only(*pick), object).map(drop)
            }
            Verb::Label(value, pick) => {
                let edit = |object: &mut T| object.set_label(*value);
                let only = only(*pick);
                model.update(name, &only, Part::Main, edit).map(drop)
            }
            Verb::Hold(hold) => {
                let edit = |object: &mut T| object.hold(*hold);
                model.update(name, &any, Part::Main, edit).map(drop)
            }
            Verb::Spec(value) => {
                let edit = |object: &mut T| object.set_spec(*value);
                model.update(name, &any, Part::Main, edit).map(drop)
            }
            Verb::Status(value, pick) => {
                let edit = |object: &mut T| object.set_status(*value);
                let only = only(*pick);
                model.update(name, &only, Part::Status, edit).map(drop)
            }
            Verb::Delete(pick, grace) => {
                let (only, grace) = (only(*pick), grace.map(i64::from));
                model.delete::<T>(name, &Deletion { only, grace }, now)
            }
        }
    }
}
