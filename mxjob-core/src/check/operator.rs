//! What only the operator can check: too dear for the API server's cost budget.

use k8s_openapi::api::core::v1::ContainerPort;

use crate::api::v1::{JobSpec, ReplicaSpec};
use crate::conversion::Ports;
use crate::problem::Problem;
use crate::role::{Port, RoleTable};
use crate::schema::rule::{port_number, role_path, same_port};

/// Two ports of one number and protocol in two containers of a pod: they share its network. Init
/// containers have ended by then.
pub(super) fn port_clashes(table: &RoleTable, spec: &JobSpec, own: &Ports) -> Vec<Problem> {
    let mut found = Vec::new();
    for (key, entry) in &spec.mx_replica_specs {
        let Some(id) = table.find(key) else {
            continue;
        };
        let work = table.role(id).container.unwrap_or(table.container);
        let ports = ports(own.port(table, id), work, entry);
        for (at, port) in ports.iter().enumerate() {
            let clash = ports.iter().take(at).find(|other| {
                other.container != port.container && same_port(&other.port, &port.port)
            });
            let message = |other: &Listed| {
                let number = port_number(&port.port);
                format!(
                    "port {number} is also a port of container {}: containers of a pod share its ports",
                    other.name
                )
            };
            let path = format!(
                "{}.template.spec.containers[{}]{}",
                role_path(key),
                port.container,
                port.place
            );
            found.extend(clash.map(|other| Problem::error(path, message(other))));
        }
    }
    found
}

/// A port of a pod.
struct Listed {
    /// Position of its container.
    container: usize,
    /// Name of its container.
    name: String,
    /// Where in the container.
    place: String,
    port: ContainerPort,
}

/// The ports of a role's containers; of the work's container first, with the one that it gets by
/// default.
fn ports(job_port: Port, work: &str, entry: &ReplicaSpec) -> Vec<Listed> {
    let containers = entry
        .template
        .spec
        .iter()
        .flat_map(|spec| &spec.containers)
        .enumerate();
    let mut all = Vec::new();
    for (at, container) in containers {
        let listed = |place: String, port: ContainerPort| Listed {
            container: at,
            name: container.name.clone(),
            place,
            port,
        };
        let given = container.ports.as_deref().unwrap_or_default();
        all.extend(
            given
                .iter()
                .enumerate()
                .map(|(index, port)| listed(format!(".ports[{index}]"), port.clone())),
        );
        let has_job_port = given
            .iter()
            .any(|port| port.name.as_deref() == Some(job_port.name));
        if container.name == work && !has_job_port {
            let default = ContainerPort {
                container_port: job_port.number.into(),
                ..ContainerPort::default()
            };
            all.push(listed(String::new(), default));
        }
    }
    all.sort_by_key(|one| (one.name != work, one.container));
    all
}
