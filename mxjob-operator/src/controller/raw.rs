//! A job as it is stored, of whatever shape: a typed watch would stop at the first object of the
//! wrong types.

use std::borrow::Cow;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::core::{ApiResource, DynamicResourceScope, GroupVersionKind};
use kube::{Api, Client, Resource};
use mxjob_core::RoleTable;
use mxjob_core::api::Version;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// An object of the role set's kind. The server guarantees the shape of its metadata only.
#[derive(Clone, Debug)]
pub(super) struct RawJob {
    metadata: ObjectMeta,
    /// The whole object.
    pub(super) object: Value,
}

impl<'de> Deserialize<'de> for RawJob {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut object = Value::deserialize(deserializer)?;
        let meta = object
            .get_mut("metadata")
            .ok_or_else(|| D::Error::missing_field("metadata"))?;
        if let Some(meta) = meta.as_object_mut() {
            meta.remove("managedFields");
        }
        let metadata = ObjectMeta::deserialize(&*meta).map_err(D::Error::custom)?;
        Ok(Self { metadata, object })
    }
}

impl Resource for RawJob {
    type DynamicType = ApiResource;
    type Scope = DynamicResourceScope;

    fn kind(resource: &ApiResource) -> Cow<'_, str> {
        resource.kind.as_str().into()
    }

    fn group(resource: &ApiResource) -> Cow<'_, str> {
        resource.group.as_str().into()
    }

    fn version(resource: &ApiResource) -> Cow<'_, str> {
        resource.version.as_str().into()
    }

    fn plural(resource: &ApiResource) -> Cow<'_, str> {
        resource.plural.as_str().into()
    }

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}

/// Where the jobs of a role set are served.
pub(super) fn resource(table: &RoleTable) -> ApiResource {
    let version = Version::stored(table).name_in(table);
    let kind = GroupVersionKind::gvk(table.crd.group, version, table.crd.kind);
    ApiResource::from_gvk_with_plural(&kind, table.crd.plural)
}

/// The jobs of one namespace, or of all.
pub(super) fn jobs(client: &Client, table: &RoleTable, namespace: Option<&str>) -> Api<RawJob> {
    match namespace {
        Some(namespace) => Api::namespaced_with(client.clone(), namespace, &resource(table)),
        None => Api::all_with(client.clone(), &resource(table)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_of_the_wrong_types_is_read_all_the_same() {
        let text =
            r#"{"metadata":{"name":"bad","managedFields":[]},"spec":["replicas"],"status":7}"#;
        let job: RawJob = serde_json::from_str(text).unwrap();
        assert_eq!(job.meta().name.as_deref(), Some("bad"));
        assert_eq!(job.object["status"], 7);
        assert!(job.object["metadata"].get("managedFields").is_none());
    }
}
