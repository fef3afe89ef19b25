//! What the schema of a pod template leaves out.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    JSONSchemaProps, JSONSchemaPropsOrArray,
};

use super::place::{LISTED_TEMPLATE, TEMPLATE, edit};
use super::typed;
use crate::api::Version;

/// A running pod gets these; Kubernetes refuses a pod that is created with one. Their types are an
/// eighth of the definition.
const OF_RUNNING_PODS: &str = "spec.ephemeralContainers";

/// Leaves it out below `root`, the schema of the whole object.
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
}
