//! Places in the schema, as dotted paths: a name, `{}` for the values of a map, `[]` for the items
//! of a list.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    JSONSchemaProps, JSONSchemaPropsOrArray, JSONSchemaPropsOrBool,
};

/// The schema of one replica role's pod template.
pub(super) const TEMPLATE: &str = "spec.mxReplicaSpecs.{}.template";
/// The same in `v1alpha1`.
pub(super) const LISTED_TEMPLATE: &str = "spec.replicaSpecs.[].template";

/// A place that rules are attached to; `self` in their text is the value there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Place {
    /// The whole object.
    Object,
    /// Its spec.
    Spec,
    /// The map of roles.
    Roles,
    /// The pod spec of a role's template.
    PodSpec,
    /// A container, init containers included.
    Container,
    /// An entry of a list of exit codes.
    ExitCode,
    /// A role named by a rule of a failure policy.
    FailureRole,
    /// An entry of `v1alpha1`'s list of roles.
    Entry,
    /// A container of such an entry, init containers included.
    EntryContainer,
}

impl Place {
    /// Where that is in the schema.
    pub const fn paths(self) -> &'static [&'static str] {
        match self {
            Self::Object => &[""],
            Self::Spec => &["spec"],
            Self::Roles => &["spec.mxReplicaSpecs"],
            Self::PodSpec => &["spec.mxReplicaSpecs.{}.template.spec"],
            Self::Container => &[
                "spec.mxReplicaSpecs.{}.template.spec.containers.[]",
                "spec.mxReplicaSpecs.{}.template.spec.initContainers.[]",
            ],
            Self::ExitCode => &[
                "spec.runPolicy.retryableExitCodes.[]",
                "spec.failurePolicy.rules.[].exitCodes.[]",
            ],
            Self::FailureRole => &["spec.failurePolicy.rules.[].roles.[]"],
            Self::Entry => &["spec.replicaSpecs.[]"],
            Self::EntryContainer => &[
                "spec.replicaSpecs.[].template.spec.containers.[]",
                "spec.replicaSpecs.[].template.spec.initContainers.[]",
            ],
        }
    }
}

/// Calls `change` with the schema at `path` below `node`, if there is one.
pub(super) fn edit(
    node: &mut JSONSchemaProps,
    path: &str,
    change: &mut dyn FnMut(&mut JSONSchemaProps),
) {
    let (step, rest) = path.split_once('.').unwrap_or((path, ""));
    let below = match step {
        "" => return change(node),
        "{}" => match &mut node.additional_properties {
            Some(JSONSchemaPropsOrBool::Schema(below)) => Some(&mut **below),
            _ => None,
        },
        "[]" => match &mut node.items {
            Some(JSONSchemaPropsOrArray::Schema(below)) => Some(&mut **below),
            _ => None,
        },
        name => node
            .properties
            .as_mut()
            .and_then(|fields| fields.get_mut(name)),
    };
    if let Some(below) = below {
        edit(below, rest, change);
    }
}
