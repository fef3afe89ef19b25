//! Rules about the pod template of a role.

use k8s_openapi::api::core::v1::{Container, ContainerPort, PodSpec};

use super::roles::path;
use super::{Rule, Validation, cel};
use crate::api::v1::JobSpec;
use crate::problem::Problem;
use crate::role::{Role, RoleTable};
use crate::schema::Place;

/// One rule for every name that the work's container has in some role.
pub(super) fn rules(table: &'static RoleTable) -> Vec<Rule> {
    let mut names: Vec<_> = table
        .roles
        .iter()
        .map(|role| container_of(table, role))
        .collect();
    names.sort_unstable();
    names.dedup();
    let mut rules: Vec<_> = names.into_iter().map(Rule::WorkContainer).collect();
    rules.extend([Rule::Image, Rule::Ports]);
    rules
}

fn container_of(table: &RoleTable, role: &Role) -> &'static str {
    role.container.unwrap_or(table.container)
}

/// The roles whose work runs in the container `name`; `None`: all.
fn roles_with(table: &RoleTable, name: &str) -> Option<Vec<&'static str>> {
    let roles = table
        .roles
        .iter()
        .filter(|role| container_of(table, role) == name)
        .map(|role| role.name);
    let roles: Vec<_> = roles.collect();
    (roles.len() < table.roles.len()).then_some(roles)
}

pub(super) fn work_cel(table: &RoleTable, name: &str) -> Validation {
    let named = format!("exists(c, has(c.name) && c.name == {})", cel::text(name));
    let message = work_message(name);
    let Some(roles) = roles_with(table, name) else {
        let rule = format!("has(self.containers) && self.containers.{named}");
        return Validation::new(Place::PodSpec, rule, message).about(".containers");
    };
    let spec = "self[k].template.spec";
    let lacking = format!(
        "{} && has(self[k].template) && has({spec}) && !(has({spec}.containers) && {spec}.containers.{named})",
        cel::is_one_of("k", roles.iter().copied())
    );
    let message = format!("{}: {message}", cel::list(roles));
    Validation::new(Place::Roles, format!("!self.exists(k, {lacking})"), message)
}

pub(super) fn work(table: &RoleTable, name: &str, spec: &JobSpec) -> Vec<Problem> {
    let ours = |key: &str| {
        table
            .find(key)
            .is_some_and(|id| container_of(table, table.role(id)) == name)
    };
    // Without a table entry, the rule on the pod spec looks at the role all the same.
    let looked_at = |key: &str| ours(key) || roles_with(table, name).is_none();
    let lacking = pods(spec).filter(|(_, pod)| {
        !pod.containers
            .iter()
            .any(|container| container.name == name)
    });
    lacking
        .filter(|(key, _)| looked_at(key))
        .map(|(key, _)| {
            Problem::error(
                format!("{}.template.spec.containers", path(key)),
                work_message(name),
            )
        })
        .collect()
}

fn work_message(name: &str) -> String {
    format!("needs a container named {name}")
}

/// The pod specs, by the key of their role.
fn pods(spec: &JobSpec) -> impl Iterator<Item = (&String, &PodSpec)> {
    spec.mx_replica_specs
        .iter()
        .filter_map(|(key, entry)| Some((key, entry.template.spec.as_ref()?)))
}

/// Every container of every role with its path, init containers last.
pub(crate) fn containers(spec: &JobSpec) -> impl Iterator<Item = (String, &Container)> {
    pods(spec).flat_map(|(key, pod)| {
        let init = pod.init_containers.iter().flatten();
        let lists = [
            ("containers", pod.containers.iter().collect()),
            ("initContainers", init.collect::<Vec<_>>()),
        ];
        lists.into_iter().flat_map(move |(list, containers)| {
            containers
                .into_iter()
                .enumerate()
                .map(move |(at, container)| {
                    (
                        format!("{}.template.spec.{list}[{at}]", path(key)),
                        container,
                    )
                })
        })
    })
}

const IMAGE: &str = "is required: name the image that the container runs";

pub(super) fn image_cel() -> Validation {
    Validation::new(
        Place::Container,
        "has(self.image) && size(self.image) > 0",
        format!("image {IMAGE}"),
    )
    .about(".image")
}

pub(super) fn image(spec: &JobSpec) -> Vec<Problem> {
    let bare =
        containers(spec).filter(|(_, one)| one.image.as_deref().unwrap_or_default().is_empty());
    bare.map(|(path, _)| Problem::error(format!("{path}.image"), IMAGE))
        .collect()
}

pub(super) fn ports_cel() -> Validation {
    let protocol = |port: &str| format!("(has({port}.protocol) ? {port}.protocol : 'TCP')");
    let rule = format!(
        "!has(self.ports) || self.ports.all(p, self.ports.exists_one(q, q.containerPort == p.containerPort && {} == {}))",
        protocol("q"),
        protocol("p")
    );
    Validation::new(
        Place::Container,
        rule,
        "two ports of one number and protocol: keep one",
    )
    .about(".ports")
}

pub(super) fn ports(spec: &JobSpec) -> Vec<Problem> {
    let twice = containers(spec).flat_map(|(path, container)| {
        let ports = container.ports.as_deref().unwrap_or_default();
        let seen = |at: usize, port: &ContainerPort| {
            ports.iter().take(at).any(|other| is_same(other, port))
        };
        let twice = ports
            .iter()
            .enumerate()
            .filter(|(at, port)| seen(*at, port));
        let problem = |(at, port): (usize, &ContainerPort)| {
            let message = format!(
                "two ports of one number and protocol ({}): keep one",
                number(port)
            );
            Problem::error(format!("{path}.ports[{at}]"), message)
        };
        twice.map(problem).collect::<Vec<_>>()
    });
    twice.collect()
}

/// True for two ports of one number and protocol.
pub(crate) fn is_same(one: &ContainerPort, other: &ContainerPort) -> bool {
    one.container_port == other.container_port && protocol(one) == protocol(other)
}

/// A port as a person reads it: `9091/TCP`.
pub(crate) fn number(port: &ContainerPort) -> String {
    format!("{}/{}", port.container_port, protocol(port))
}

fn protocol(port: &ContainerPort) -> &str {
    port.protocol.as_deref().unwrap_or("TCP")
}
