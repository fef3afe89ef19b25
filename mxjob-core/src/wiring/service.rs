//! The headless services: they give replicas their names.

use k8s_openapi::api::core::v1::{Service, ServicePort, ServiceSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use std::collections::BTreeMap;

use super::{Wiring, labels};
use crate::job::{Replica, RoleSpec};

pub(super) fn of_replica(wiring: &Wiring<'_>, role: &RoleSpec, replica: Replica) -> Service {
    let selector = labels::of_replica(wiring.job, replica);
    let mut labels = labels::of_profile(wiring.job, wiring.spec, replica);
    labels.extend(selector.clone());
    let name = wiring.name(replica);
    let ports = ports(wiring, role);
    headless(wiring, name, labels, selector, Some(ports))
}

pub(super) fn of_job(wiring: &Wiring<'_>) -> Service {
    let labels = labels::of_job(wiring.job);
    let name = wiring.job.meta.name.clone();
    headless(wiring, name, labels.clone(), labels, None)
}

fn headless(
    wiring: &Wiring<'_>,
    name: String,
    labels: BTreeMap<String, String>,
    selector: BTreeMap<String, String>,
    ports: Option<Vec<ServicePort>>,
) -> Service {
    Service {
        metadata: ObjectMeta {
            name: Some(name),
            namespace: wiring.namespace(),
            labels: Some(labels),
            owner_references: Some(vec![wiring.owner()]),
            ..ObjectMeta::default()
        },
        spec: Some(ServiceSpec {
            cluster_ip: Some("None".to_owned()),
            selector: Some(selector),
            ports,
            publish_not_ready_addresses: Some(true),
            ..ServiceSpec::default()
        }),
        status: None,
    }
}

/// Every named port of the job's container.
fn ports(wiring: &Wiring<'_>, role: &RoleSpec) -> Vec<ServicePort> {
    let spec = role.template.spec.as_ref();
    let container = role.container(wiring.job.table);
    let container = spec.and_then(|spec| spec.containers.iter().find(|one| one.name == container));
    let ports = container
        .and_then(|container| container.ports.as_deref())
        .unwrap_or_default();
    let named = |port: &k8s_openapi::api::core::v1::ContainerPort| {
        Some(ServicePort {
            name: Some(port.name.clone()?),
            port: port.container_port,
            protocol: Some(port.protocol.clone().unwrap_or_else(|| "TCP".to_owned())),
            target_port: Some(IntOrString::Int(port.container_port)),
            ..ServicePort::default()
        })
    };
    ports.iter().filter_map(named).collect()
}
