//! Defaults, filled in on every read and never stored. Applied to what the checks let pass; what
//! they should have refused is refused here once more rather than guessed at.

use std::sync::Arc;

use k8s_openapi::api::core::v1::{Container, ContainerPort, PodTemplateSpec};

use super::{FailureRule, FailureSpec, Profile, RoleSpec, Spec};
use crate::api::v1::{self, FailurePolicy, JobSpec, ReplicaSpec};
use crate::conversion::Ports;
use crate::exit_codes::ExitCodes;
use crate::problem::Problem;
use crate::role::{Mode, Port, RoleId, RoleTable};

/// Pod-template annotation that overrides a role's label: what TVM's start scripts call the key.
pub const LABEL_ANNOTATION: &str = "tuner-server-key";

/// Whole-job restarts of a failure policy that does not say.
const MAX_RESTARTS: i32 = 3;

pub(super) fn spec(
    table: &'static RoleTable,
    spec: &JobSpec,
    ports: &Ports,
) -> Result<Spec, Problem> {
    let run = spec.run_policy.clone().unwrap_or_default();
    let retryable = match &run.retryable_exit_codes {
        Some(codes) => exit_codes("spec.runPolicy.retryableExitCodes", codes)?,
        None => ExitCodes::signals(),
    };
    Ok(Spec {
        mode: mode(table, spec)?,
        roles: roles(table, spec, ports)?,
        success: spec.success_policy.unwrap_or_default(),
        failure: spec
            .failure_policy
            .as_ref()
            .map(|policy| failure(table, policy))
            .transpose()?,
        services: spec
            .network
            .as_ref()
            .and_then(|network| network.services)
            .unwrap_or_default(),
        clean: run
            .clean_pod_policy
            .or(spec.clean_pod_policy)
            .unwrap_or_default(),
        deadline: run.active_deadline_seconds.or(spec.active_deadline_seconds),
        backoff_limit: run.backoff_limit.or(spec.backoff_limit),
        retryable,
        suspend: run.suspend.unwrap_or(false),
        profile: Profile::default(),
        kept: None,
        closed: None,
    })
}

/// The mode that a spec names, or the one that all its roles belong to.
fn mode(table: &'static RoleTable, spec: &JobSpec) -> Result<&'static Mode, Problem> {
    let roles = spec
        .mx_replica_specs
        .keys()
        .filter_map(|key| table.find(key));
    let name = spec
        .job_mode
        .as_deref()
        .or_else(|| roles.map(|id| table.role(id).mode).next());
    name.and_then(|name| table.mode(name)).ok_or_else(|| {
        let modes: Vec<_> = table.modes.iter().map(|mode| mode.name).collect();
        Problem::error(
            "spec.jobMode",
            format!("must be one of {}", modes.join(", ")),
        )
    })
}

fn roles(
    table: &'static RoleTable,
    spec: &JobSpec,
    ports: &Ports,
) -> Result<Vec<RoleSpec>, Problem> {
    let mut roles = Vec::with_capacity(spec.mx_replica_specs.len());
    for (key, replicas) in &spec.mx_replica_specs {
        let path = format!("spec.mxReplicaSpecs.{key}");
        let id = table
            .find(key)
            .ok_or_else(|| Problem::error(path, "unknown replica type"))?;
        roles.push(role(table, id, replicas, ports));
    }
    roles.sort_by_key(|role| role.id);
    Ok(roles)
}

fn role(table: &'static RoleTable, id: RoleId, spec: &ReplicaSpec, ports: &Ports) -> RoleSpec {
    let role = table.role(id);
    let annotations = spec
        .template
        .metadata
        .as_ref()
        .and_then(|meta| meta.annotations.as_ref());
    let annotated = annotations
        .and_then(|all| all.get(LABEL_ANNOTATION))
        .cloned();
    let mut template = spec.template.clone();
    let port = job_port(
        &mut template,
        role.container.unwrap_or(table.container),
        ports.port(table, id),
        ports.given(id).is_some(),
    );
    RoleSpec {
        id,
        role,
        replicas: spec.replicas.map_or(role.default, |replicas| {
            u32::try_from(replicas).unwrap_or(0)
        }),
        restart: spec
            .restart_policy
            .or(role.restart.first().copied())
            .unwrap_or_default(),
        own_restart: None,
        label: annotated.or_else(|| spec.label.clone()).unwrap_or_default(),
        port,
        template: Arc::new(template),
    }
}

/// Makes sure that the job's container has the job's port, and says its number: the user's port of
/// that name unless it is known `by_number`, else the user's port of that number, else one is added.
fn job_port(template: &mut PodTemplateSpec, container: &str, port: Port, by_number: bool) -> u16 {
    let containers = template.spec.as_mut().map(|spec| &mut spec.containers);
    let Some(container) = containers
        .into_iter()
        .flatten()
        .find(|one| one.name == container)
    else {
        return port.number;
    };
    let same = |one: &ContainerPort| {
        one.container_port == i32::from(port.number)
            && one.protocol.as_deref().is_none_or(|name| name == "TCP")
    };
    let named = ports(container)
        .iter()
        .find(|one| one.name.as_deref() == Some(port.name));
    let by_number = by_number && ports(container).iter().any(same);
    if let Some(named) = named.filter(|_| !by_number) {
        return u16::try_from(named.container_port).unwrap_or(port.number);
    }
    // No two ports of a container have one name.
    let is_free = named.is_none();
    let mut all = container.ports.iter_mut().flatten();
    if let Some(same) = all.find(|one| same(one)) {
        if is_free {
            same.name.get_or_insert_with(|| port.name.to_owned());
        }
        return port.number;
    }
    container.ports.get_or_insert_default().push(ContainerPort {
        name: Some(port.name.to_owned()),
        container_port: i32::from(port.number),
        ..ContainerPort::default()
    });
    port.number
}

fn ports(container: &Container) -> &[ContainerPort] {
    container.ports.as_deref().unwrap_or_default()
}

fn failure(table: &'static RoleTable, policy: &FailurePolicy) -> Result<FailureSpec, Problem> {
    let rules = policy
        .rules
        .as_deref()
        .unwrap_or_default()
        .iter()
        .enumerate();
    Ok(FailureSpec {
        max_restarts: policy.max_restarts.unwrap_or(MAX_RESTARTS),
        rules: rules
            .map(|(at, one)| rule(table, at, one))
            .collect::<Result<_, _>>()?,
    })
}

fn rule(
    table: &'static RoleTable,
    at: usize,
    rule: &v1::FailureRule,
) -> Result<FailureRule, Problem> {
    let path = format!("spec.failurePolicy.rules[{at}]");
    let known = |name: &String| {
        let unknown = || {
            Problem::error(
                format!("{path}.roles"),
                format!("unknown replica type {name:?}"),
            )
        };
        table.find(name).ok_or_else(unknown)
    };
    let roles = rule
        .roles
        .as_ref()
        .map(|names| names.iter().map(known).collect::<Result<Vec<_>, _>>());
    let codes = rule
        .exit_codes
        .as_ref()
        .map(|codes| exit_codes(&format!("{path}.exitCodes"), codes));
    Ok(FailureRule {
        action: rule.action,
        roles: roles.transpose()?,
        exit_codes: codes.transpose()?,
        reasons: rule.reasons.clone(),
        counts: rule.counts_toward_limit.unwrap_or(true),
    })
}

fn exit_codes(path: &str, entries: &[String]) -> Result<ExitCodes, Problem> {
    ExitCodes::parse(entries).map_err(|bad| {
        Problem::error(
            path,
            format!("{bad:?} must be \"N\" or \"N-M\" with 1 <= N <= M <= 255"),
        )
    })
}
