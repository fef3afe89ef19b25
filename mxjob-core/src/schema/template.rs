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

/// Where the template of a role is.
pub(super) const fn of(version: Version) -> &'static str {
    match version {
        Version::V1Alpha1 => LISTED_TEMPLATE,
        Version::V1Beta1 | Version::V1 => TEMPLATE,
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
