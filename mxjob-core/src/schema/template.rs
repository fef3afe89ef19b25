//! What the schema of a pod template leaves out: a definition of three versions has three of them,
//! and is to be far from the 262,144 bytes of an annotation that a client-side apply has.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    JSONSchemaProps, JSONSchemaPropsOrArray,
};

use super::place::{LISTED_TEMPLATE, TEMPLATE, edit};
use super::typed;
use crate::api::Version;

/// A running pod gets these; Kubernetes refuses a pod that is created with one. Their types are an
/// eighth of the definition.
const OF_RUNNING_PODS: &str = "spec.ephemeralContainers";

/// Fields of a pod spec that the definition leaves open, at every version: a fifth of it, and hardly
/// anything of a training job. Wrong types in them are found by `lint` and by the operator. Rules
/// compare them by their values, but for fields in the place of as many others: CEL compares the
/// numbers of fields and those that both have.
pub(super) const NOT_LOOKED_INTO: [&str; 21] = [
    "containers.[].lifecycle",
    "initContainers.[].lifecycle",
    "initContainers.[].livenessProbe",
    "initContainers.[].readinessProbe",
    "initContainers.[].startupProbe",
    "volumes.[].awsElasticBlockStore",
    "volumes.[].azureDisk",
    "volumes.[].azureFile",
    "volumes.[].cephfs",
    "volumes.[].cinder",
    "volumes.[].ephemeral",
    "volumes.[].fc",
    "volumes.[].flexVolume",
    "volumes.[].gcePersistentDisk",
    "volumes.[].glusterfs",
    "volumes.[].iscsi",
    "volumes.[].quobyte",
    "volumes.[].rbd",
    "volumes.[].scaleIO",
    "volumes.[].storageos",
    "volumes.[].vsphereVolume",
];

/// Where the template of a role is.
pub(super) const fn of(version: Version) -> &'static str {
    match version {
        Version::V1Alpha1 => LISTED_TEMPLATE,
        Version::V1Beta1 | Version::V1 => TEMPLATE,
    }
}

/// Makes `root`, the schema of the whole object, one of a definition. The API server has three of
/// them in memory and looks into them the same, so that what it takes at one it can write at another.
pub(crate) fn leave_open(root: &mut JSONSchemaProps, version: Version) {
    for field in NOT_LOOKED_INTO {
        let path = format!("{}.spec.{field}", of(version));
        edit(root, &path, &mut |node| {
            *node = JSONSchemaProps {
                x_kubernetes_preserve_unknown_fields: Some(true),
                ..typed("object")
            };
        });
    }
}

/// Leaves out what no version has, below `root`, the schema of the whole object.
pub(super) fn shorten(root: &mut JSONSchemaProps, version: Version) {
    edit(
        root,
        &format!("{}.{OF_RUNNING_PODS}", of(version)),
        &mut |node| {
            node.items = Some(JSONSchemaPropsOrArray::Schema(Box::new(typed("object"))));
            node.max_items = Some(0);
        },
    );
}
