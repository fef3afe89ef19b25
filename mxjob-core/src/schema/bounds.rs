//! Bounds of the spec's fields: those of the contract, and those that keep the cost of the rules
//! within the API server's budget (measured on kube-apiserver 1.36).

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{JSON, JSONSchemaProps};
use serde_json::Value;

use super::place::{LISTED_TEMPLATE, TEMPLATE, edit};
use crate::api::v1alpha1;
use crate::role::{JobMode, RestartPolicy, RoleTable};

/// Most roles in a job, and in a role set.
const ROLES: i64 = 16;
/// Most containers, and as many init containers, in a pod.
const CONTAINERS: i64 = 64;
/// Most ports of a container; from 27 on the rule about them is too dear.
pub(crate) const PORTS: u16 = 16;
/// Most entries in a list of exit codes, and most rules in a failure policy.
const ENTRIES: i64 = 64;
/// Length of `255-255`.
const EXIT_CODE: i64 = 7;
/// Entries of a list beyond one for each role: of so many the rules tell which is wrong.
const MORE: i64 = 3;
/// Length of a DNS label: no role's name is longer.
const LABEL: i64 = 63;

/// Sets the bounds below `root`, the schema of the whole object.
pub(super) fn apply(root: &mut JSONSchemaProps, table: &RoleTable) {
    for (path, bound) in all(table) {
        edit(root, &path, &mut |node| bound.set(node));
    }
}

/// Sets the bounds below `root`, the schema of a whole `v1alpha1` object.
pub(super) fn apply_to_list(root: &mut JSONSchemaProps, table: &RoleTable) {
    let roles = i64::try_from(table.listed_roles().count()).unwrap_or(ROLES);
    let needed = table
        .list_form()
        .is_some_and(|form| form.legacy.job_mode == JobMode::Needed);
    let mode = if needed {
        // In the words of its rule.
        Bound::Length(LABEL)
    } else {
        Bound::OneOf(vec!["", v1alpha1::DIST, v1alpha1::LOCAL])
    };
    // Roles have none here: the pods get the template's.
    let restart = format!("{LISTED_TEMPLATE}.spec.restartPolicy");
    let own = [
        ("spec.jobMode", mode),
        (
            "spec.cleanupPodPolicy",
            Bound::OneOf(vec!["", "All", "Running", "None"]),
        ),
        ("spec.RuntimeId", Bound::Length(LABEL)),
        ("spec.replicaSpecs", Bound::Items(roles + MORE)),
        ("spec.replicaSpecs.[].mxReplicaType", Bound::Length(LABEL)),
        ("spec.replicaSpecs.[].replicas", Bound::Min(0)),
        ("spec.replicaSpecs.[].PsRootPort", Bound::Min(1)),
        ("spec.replicaSpecs.[].PsRootPort", Bound::Max(u16::MAX)),
        (LISTED_TEMPLATE, Bound::Required("spec")),
        (
            &restart,
            Bound::OneOf(vec!["", "Always", "OnFailure", "Never"]),
        ),
        (
            "spec.terminationPolicy.chief.replicaName",
            Bound::Length(LABEL),
        ),
        ("spec.terminationPolicy.chief.replicaIndex", Bound::Min(0)),
    ];
    let own = own.map(|(path, bound)| (path.to_owned(), bound));
    let containers = ["containers", "initContainers"]
        .into_iter()
        .flat_map(|list| of_containers(LISTED_TEMPLATE, list));
    for (path, bound) in own.into_iter().chain(containers) {
        edit(root, &path, &mut |node| bound.set(node));
    }
}

/// A bound of a field.
enum Bound {
    OneOf(Vec<&'static str>),
    Min(u16),
    Max(u16),
    Entries(i64, i64),
    Items(i64),
    Length(i64),
    Required(&'static str),
}

impl Bound {
    fn set(&self, node: &mut JSONSchemaProps) {
        match self {
            Self::OneOf(names) => {
                node.enum_ = Some(names.iter().map(|name| JSON(Value::from(*name))).collect());
            }
            Self::Min(least) => node.minimum = Some(f64::from(*least)),
            Self::Max(most) => node.maximum = Some(f64::from(*most)),
            Self::Entries(least, most) => {
                node.min_properties = Some(*least);
                node.max_properties = Some(*most);
            }
            Self::Items(most) => node.max_items = Some(*most),
            Self::Length(most) => node.max_length = Some(*most),
            Self::Required(field) => node.required = Some(vec![(*field).to_owned()]),
        }
    }
}

/// Every bound and the path of its field.
fn all(table: &RoleTable) -> Vec<(String, Bound)> {
    let own = [
        (
            "spec.jobMode",
            Bound::OneOf(table.modes.iter().map(|mode| mode.name).collect()),
        ),
        ("spec.mxReplicaSpecs", Bound::Entries(1, ROLES)),
        (
            "spec.mxReplicaSpecs.{}.restartPolicy",
            Bound::OneOf(restart_policies(table)),
        ),
        (TEMPLATE, Bound::Required("spec")),
        ("spec.failurePolicy.rules", Bound::Items(ENTRIES)),
        ("spec.failurePolicy.rules.[].reasons", Bound::Items(ENTRIES)),
        ("spec.failurePolicy.rules.[].roles", Bound::Items(ROLES)),
        ("spec.failurePolicy.rules.[].roles.[]", Bound::Length(LABEL)),
        (
            "spec.failurePolicy.rules.[].exitCodes",
            Bound::Items(ENTRIES),
        ),
        (
            "spec.failurePolicy.rules.[].exitCodes.[]",
            Bound::Length(EXIT_CODE),
        ),
        ("spec.runPolicy.retryableExitCodes", Bound::Items(ENTRIES)),
        (
            "spec.runPolicy.retryableExitCodes.[]",
            Bound::Length(EXIT_CODE),
        ),
    ];
    let own = own.into_iter().chain(
        MINIMUMS
            .iter()
            .map(|(path, least)| (*path, Bound::Min(*least))),
    );
    let own = own.map(|(path, bound)| (path.to_owned(), bound));
    own.chain(
        ["containers", "initContainers"]
            .into_iter()
            .flat_map(|list| of_containers(TEMPLATE, list)),
    )
    .collect()
}

fn of_containers(template: &str, list: &str) -> impl Iterator<Item = (String, Bound)> + use<> {
    let list = format!("{template}.spec.{list}");
    let bounds = [
        ("", Bound::Items(CONTAINERS)),
        (".[].ports", Bound::Items(PORTS.into())),
        (".[].ports.[].containerPort", Bound::Min(1)),
        (".[].ports.[].containerPort", Bound::Max(u16::MAX)),
        // Also what makes comparing them cheap.
        (
            ".[].ports.[].protocol",
            Bound::OneOf(vec!["TCP", "UDP", "SCTP"]),
        ),
    ];
    bounds
        .into_iter()
        .map(move |(field, bound)| (format!("{list}{field}"), bound))
}

/// For tests: where the bounds are.
#[cfg(test)]
pub(super) fn paths(table: &RoleTable) -> Vec<String> {
    all(table).into_iter().map(|(path, _)| path).collect()
}

const MINIMUMS: &[(&str, u16)] = &[
    ("spec.mxReplicaSpecs.{}.replicas", 0),
    ("spec.runPolicy.ttlSecondsAfterFinished", 0),
    ("spec.runPolicy.activeDeadlineSeconds", 1),
    ("spec.runPolicy.backoffLimit", 0),
    ("spec.runPolicy.schedulingPolicy.minAvailable", 0),
    ("spec.runPolicy.schedulingPolicy.scheduleTimeoutSeconds", 0),
    ("spec.ttlSecondsAfterFinished", 0),
    ("spec.activeDeadlineSeconds", 1),
    ("spec.backoffLimit", 0),
    ("spec.schedulingPolicy.minAvailable", 0),
    ("spec.schedulingPolicy.scheduleTimeoutSeconds", 0),
    ("spec.failurePolicy.maxRestarts", 0),
];

/// Those that any role allows, in the usual order.
fn restart_policies(table: &RoleTable) -> Vec<&'static str> {
    let allowed =
        |policy: &&RestartPolicy| table.roles.iter().any(|role| role.restart.contains(policy));
    RestartPolicy::ALL
        .iter()
        .filter(allowed)
        .map(|policy| policy.name())
        .collect()
}
