//! What a manifest says and a single machine does not do: one line for each kind.

use k8s_openapi::api::core::v1::{Container, PodSpec};
use mxjob_core::job::Spec;
use mxjob_core::role::RoleTable;

use super::program::Machine;

/// Whether a pod, in which a container does the replica's work, has something.
type Has = fn(&PodSpec, &Container) -> bool;

/// What is left out, and which pods have it.
const LEFT_OUT: [(&str, Has); 5] = [
    ("volumes are not mounted", |pod, container| {
        is_filled(pod.volumes.as_ref()) || is_filled(container.volume_mounts.as_ref())
    }),
    ("init containers are not run", |pod, _| {
        is_filled(pod.init_containers.as_ref())
    }),
    (
        "containers beside the replica's own are not run",
        |pod, _| pod.containers.len() > 1,
    ),
    ("envFrom is not read", |_, container| {
        is_filled(container.env_from.as_ref())
    }),
    ("resource limits are not set", |_, container| {
        container
            .resources
            .as_ref()
            .is_some_and(|resources| resources.limits.as_ref().is_some_and(|all| !all.is_empty()))
    }),
];

/// The remarks about a job, each with the roles that it is about.
pub(super) fn of(spec: &Spec, table: &RoleTable, machine: &Machine) -> Vec<String> {
    let mut remarks: Vec<_> = LEFT_OUT
        .into_iter()
        .filter_map(|(what, has)| {
            Some(format!(
                "on this machine {what} ({})",
                roles(spec, table, has)?
            ))
        })
        .collect();
    if let Some(roles) = roles(spec, table, |_, container| {
        machine.missing_dir(container).is_some()
    }) {
        let folder = machine.folder.display();
        remarks.push(format!(
            "workingDir is not on this machine: running in {folder} ({roles})"
        ));
    }
    remarks
}

/// The roles whose pods have something; `None`: no role.
fn roles(
    spec: &Spec,
    table: &RoleTable,
    has: impl Fn(&PodSpec, &Container) -> bool,
) -> Option<String> {
    let mut names = Vec::new();
    for role in spec.roles.iter().filter(|role| role.replicas > 0) {
        let pod = role.template.spec.as_ref();
        let container = |pod: &PodSpec| {
            pod.containers
                .iter()
                .find(|one| one.name == role.container(table))
                .cloned()
        };
        if pod.is_some_and(|pod| container(pod).is_some_and(|container| has(pod, &container))) {
            names.push(role.role.name);
        }
    }
    (!names.is_empty()).then(|| names.join(", "))
}

fn is_filled<T>(list: Option<&Vec<T>>) -> bool {
    list.is_some_and(|list| !list.is_empty())
}
