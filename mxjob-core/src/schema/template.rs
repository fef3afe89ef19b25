//! What the schema of a pod template leaves out. All types of all versions would be 207 KB, which
//! every client of the API server reads and a client-side apply puts into an annotation.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    JSONSchemaProps, JSONSchemaPropsOrArray,
};

use super::place::{LISTED_TEMPLATE, TEMPLATE, edit};
use super::typed;
use crate::api::Version;

/// A running pod gets these; Kubernetes refuses a pod that is created with one.
const OF_RUNNING_PODS: &str = "spec.ephemeralContainers";

/// Volumes of drivers that Kubernetes has no more, and metadata that no pod takes from its template:
/// whatever they hold is kept, and not looked at.
const DEAD: &[&str] = &[
    "metadata.managedFields.[]",
    "metadata.ownerReferences.[]",
    "spec.volumes.[].cephfs",
    "spec.volumes.[].ephemeral.volumeClaimTemplate.metadata.managedFields.[]",
    "spec.volumes.[].ephemeral.volumeClaimTemplate.metadata.ownerReferences.[]",
    "spec.volumes.[].flocker",
    "spec.volumes.[].glusterfs",
    "spec.volumes.[].photonPersistentDisk",
    "spec.volumes.[].quobyte",
    "spec.volumes.[].rbd",
    "spec.volumes.[].scaleIO",
    "spec.volumes.[].storageos",
];

/// Of the versions before `v1` also what is large and no manifest of their time has, most of it
/// because Kubernetes had not. The conversion to `v1` and `mxjob lint` look at it all the same.
const LATER: &[&str] = &[
    "spec.affinity.podAffinity",
    "spec.affinity.podAntiAffinity",
    "spec.containers.[].resizePolicy.[]",
    "spec.containers.[].restartPolicyRules.[]",
    "spec.initContainers.[].lifecycle",
    "spec.initContainers.[].livenessProbe",
    "spec.initContainers.[].readinessProbe",
    "spec.initContainers.[].resizePolicy.[]",
    "spec.initContainers.[].restartPolicyRules.[]",
    "spec.initContainers.[].startupProbe",
    "spec.topologySpreadConstraints.[]",
    "spec.volumes.[].ephemeral",
];

/// Leaves them out below `root`, the schema of the whole object.
pub(super) fn shorten(root: &mut JSONSchemaProps, version: Version) {
    let template = match version {
        Version::V1Alpha1 => LISTED_TEMPLATE,
        Version::V1Beta1 | Version::V1 => TEMPLATE,
    };
    edit(
        root,
        &format!("{template}.{OF_RUNNING_PODS}"),
        &mut |node| {
            node.items = Some(JSONSchemaPropsOrArray::Schema(Box::new(typed("object"))));
            node.max_items = Some(0);
        },
    );
    for field in open(version) {
        edit(root, &format!("{template}.{field}"), &mut |node| {
            *node = JSONSchemaProps {
                x_kubernetes_preserve_unknown_fields: Some(true),
                ..typed("object")
            };
        });
    }
}

/// The fields of a template whose content is kept as it is.
pub(super) fn open(version: Version) -> impl Iterator<Item = &'static str> {
    let later = LATER.iter().filter(move |_| version != Version::V1);
    DEAD.iter().chain(later).copied()
}
