//! Bounds of the spec's fields: those of the contract, and those that keep the cost of the rules
//! within the API server's budget (measured on kube-apiserver 1.36).

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{JSON, JSONSchemaProps};
use serde_json::Value;

use super::place::{TEMPLATE, edit};
use crate::role::{RestartPolicy, RoleTable};

/// Most roles in a job, and in a role set.
const ROLES: i64 = 16;
/// Most containers, and as many init containers, in a pod.
const CONTAINERS: i64 = 64;
/// Most ports of a container; from 27 on the rule about them is too dear.
const PORTS: i64 = 16;
/// Most entries in a list of exit codes, and most rules in a failure policy.
const ENTRIES: i64 = 64;
/// Length of `255-255`.
const EXIT_CODE: i64 = 7;
/// Length of a DNS label: no role's name is longer.
const LABEL: i64 = 63;

/// Sets the bounds below `root`, the schema of the whole object.
pub(super) fn apply(root: &mut JSONSchemaProps, table: &RoleTable) {
    let mut set = |path: &str, change: &mut dyn FnMut(&mut JSONSchemaProps)| edit(root, path, change);
    set("spec.jobMode", &mut |node| node.enum_ = Some(texts(table.modes.iter().map(|mode| mode.name))));
    set("spec.mxReplicaSpecs", &mut |node| {
        node.min_properties = Some(1);
        node.max_properties = Some(ROLES);
    });
    set("spec.mxReplicaSpecs.{}.restartPolicy", &mut |node| node.enum_ = Some(texts(restart_policies(table))));
    set(TEMPLATE, &mut |node| node.required = Some(vec!["spec".to_owned()]));
    for list in ["containers", "initContainers"] {
        set(&format!("{TEMPLATE}.spec.{list}"), &mut |node| node.max_items = Some(CONTAINERS));
        set(&format!("{TEMPLATE}.spec.{list}.[].ports"), &mut |node| node.max_items = Some(PORTS));
        set(&format!("{TEMPLATE}.spec.{list}.[].ports.[].containerPort"), &mut |node| {
            node.minimum = Some(1.0);
            node.maximum = Some(f64::from(u16::MAX));
        });
    }
    for (path, least) in MINIMUMS {
        set(path, &mut |node| node.minimum = Some(f64::from(*least)));
    }
    for path in ["spec.runPolicy.retryableExitCodes", "spec.failurePolicy.rules.[].exitCodes"] {
        set(path, &mut |node| node.max_items = Some(ENTRIES));
        set(&format!("{path}.[]"), &mut |node| node.max_length = Some(EXIT_CODE));
    }
    set("spec.failurePolicy.rules", &mut |node| node.max_items = Some(ENTRIES));
    set("spec.failurePolicy.rules.[].reasons", &mut |node| node.max_items = Some(ENTRIES));
    set("spec.failurePolicy.rules.[].roles", &mut |node| node.max_items = Some(ROLES));
    set("spec.failurePolicy.rules.[].roles.[]", &mut |node| node.max_length = Some(LABEL));
}

const MINIMUMS: &[(&str, u8)] = &[
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
fn restart_policies(table: &RoleTable) -> impl Iterator<Item = &'static str> {
    let allowed = |policy: &&RestartPolicy| table.roles.iter().any(|role| role.restart.contains(policy));
    RestartPolicy::ALL.iter().filter(allowed).map(|policy| policy.name())
}

fn texts(names: impl Iterator<Item = &'static str>) -> Vec<JSON> {
    names.map(|name| JSON(Value::from(name))).collect()
}
