//! What only the operator can check: too dear for the API server's cost budget.

use k8s_openapi::api::core::v1::{ContainerPort, PodSpec};

use crate::api::v1::JobSpec;
use crate::job::Problem;
use crate::schema::rule::{port_number, pods, same_port};

/// Two ports of one number and protocol in two containers of a pod: they share its network. Init
/// containers have ended by then.
pub(super) fn port_clashes(spec: &JobSpec) -> Vec<Problem> {
    let problem = |key: &str, (path, name, port): (String, &str, &ContainerPort)| {
        let message = format!(
            "port {} is also a port of container {name}: containers of a pod share its ports",
            port_number(port)
        );
        Problem::error(format!("spec.mxReplicaSpecs.{key}.template.spec.{path}"), message)
    };
    pods(spec).flat_map(|(key, pod)| clashes(pod).into_iter().map(move |clash| problem(key, clash))).collect()
}

/// The ports that an earlier container has: path, that container's name, port.
fn clashes(pod: &PodSpec) -> Vec<(String, &str, &ContainerPort)> {
    let ports = || {
        pod.containers.iter().enumerate().flat_map(|(at, container)| {
            let ports = container.ports.iter().flatten().enumerate();
            ports.map(move |(index, port)| (at, index, container.name.as_str(), port))
        })
    };
    let clash = |(at, index, _, port): (usize, usize, &str, &'_ ContainerPort)| {
        let (_, _, name, _) = ports().find(|(other, .., taken)| *other < at && same_port(taken, port))?;
        Some((at, index, name))
    };
    ports()
        .filter_map(|one| clash(one).map(|(at, index, name)| (format!("containers[{at}].ports[{index}]"), name, one.3)))
        .collect()
}
