//! What is odd about a job that may run all the same.

use k8s_openapi::api::core::v1::Container;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;

use crate::accelerators::{ALPHA_GPU, is_accelerator};
use crate::api::v1::{JobSpec, ReplicaSpec};
use crate::problem::Problem;
use crate::role::{Env, Mode, RestartPolicy, Role, RoleTable, Source};
use crate::schema::rule::{containers, effective_mode, failure_rules, has_replica, role_path};

/// What is odd about a spec that may run: settings that are overwritten or have no effect.
pub fn warnings(table: &'static RoleTable, spec: &JobSpec) -> Vec<Problem> {
    let mut found = Vec::new();
    for (key, entry) in &spec.mx_replica_specs {
        let Some(role) = table.find(key).map(|id| table.role(id)) else {
            continue;
        };
        let one = One {
            table,
            spec,
            key,
            entry,
            role,
        };
        found.extend(one.no_replica());
        found.extend(one.left_out());
        found.extend(one.restart_policy());
        found.extend(one.template_restart_policy());
        found.extend(one.label());
        found.extend(one.accelerators());
        found.extend(one.variables());
        found.extend(one.container_names());
        found.extend(one.port_names());
    }
    found.extend(managed_by(table, spec));
    found.extend(retryable(spec));
    found.extend(absent_roles(table, spec));
    found
}

/// One role of a job.
#[derive(Clone, Copy)]
struct One<'a> {
    table: &'static RoleTable,
    spec: &'a JobSpec,
    key: &'a str,
    entry: &'a ReplicaSpec,
    role: &'static Role,
}

impl<'a> One<'a> {
    fn path(&self, field: &str) -> String {
        format!("{}.{field}", role_path(self.key))
    }

    fn warn(&self, field: &str, message: impl Into<String>) -> Problem {
        Problem::warning(self.path(field), message)
    }

    fn mode(&self) -> Option<&'static Mode> {
        effective_mode(self.table, self.spec)
    }

    fn containers(&self) -> impl Iterator<Item = (String, &'a Container)> {
        let prefix = self.path("");
        containers(self.spec).filter(move |(path, _)| path.starts_with(&prefix))
    }

    /// A role that somebody wrote down runs; one whose default is none needs a number.
    fn no_replica(&self) -> Option<Problem> {
        let none = self.entry.replicas.is_none() && self.role.default == 0;
        let message = format!("absent, so no {} runs: say how many", self.role.name);
        none.then(|| self.warn("replicas", message))
    }

    /// Variables of the role's own that it goes without, for a role which the job does not have.
    fn left_out(&self) -> Option<Problem> {
        has_replica(self.spec, self.role).then_some(())?;
        let (of_mode, own) = (self.mode_env(), self.role.env);
        // Of a lone replica the index says nothing.
        let told = |env: &Env| env.source != Source::Index || self.has_peers();
        own.iter().find(|env| told(env))?;
        let (absent, blocks): (_, [&[Env]; 2]) = match self.absent(of_mode) {
            Some(role) => (role, [of_mode, own]),
            None => (self.absent(own)?, [own, &[]]),
        };
        let names: Vec<_> = blocks.into_iter().flatten().map(|env| env.name).collect();
        let message = format!(
            "{} gets no {}: the job has no {}",
            self.role.name,
            names.join(", "),
            absent.name
        );
        Some(Problem::warning(role_path(self.key), message))
    }

    /// Variables that the role has from its mode.
    fn mode_env(&self) -> &'static [Env] {
        let mode = self.mode().filter(|_| self.role.mode_env);
        mode.map(|mode| mode.env).unwrap_or_default()
    }

    /// The first role that a block needs and the job does not have.
    fn absent(&self, block: &[Env]) -> Option<&'static Role> {
        let mut needed = block
            .iter()
            .filter_map(|env| self.table.find(env.source.needs()?));
        needed.find_map(|id| {
            let role = self.table.role(id);
            (!has_replica(self.spec, role)).then_some(role)
        })
    }

    /// True when the job has more than this one replica.
    fn has_peers(&self) -> bool {
        let given = self.entry.replicas;
        self.spec.mx_replica_specs.len() > 1
            || given.map_or(self.role.default > 1, |replicas| replicas > 1)
    }

    fn restart_policy(&self) -> Option<Problem> {
        let given = self.entry.restart_policy;
        if self.spec.failure_policy.is_some() {
            let message = "has no effect: spec.failurePolicy alone decides about failed replicas";
            return given.map(|_| self.warn("restartPolicy", message));
        }
        let policy = given
            .or(self.role.restart.first().copied())
            .unwrap_or_default();
        let cannot_return = self
            .mode()
            .filter(|mode| mode.fixed_membership && self.has_peers() && self.role.mode_env)?;
        let message = format!(
            "{}: a restarted {} cannot rejoin a job of mode {}; at v1, spec.failurePolicy restarts the whole job instead",
            policy.name(),
            self.role.name,
            cannot_return.name
        );
        (policy != RestartPolicy::Never).then(|| self.warn("restartPolicy", message))
    }

    fn template_restart_policy(&self) -> Option<Problem> {
        let given = self.entry.template.spec.as_ref()?.restart_policy.as_ref()?;
        let message =
            format!("{given} is overwritten by restartPolicy of the role: set that instead");
        Some(self.warn("template.spec.restartPolicy", message))
    }

    fn label(&self) -> Option<Problem> {
        let unused = self.entry.label.is_some() && !self.role.label;
        unused.then(|| {
            self.warn(
                "label",
                format!("has no effect: {} has no label", self.role.name),
            )
        })
    }

    fn accelerators(&self) -> Vec<Problem> {
        let mut found = Vec::new();
        for (path, container) in self.containers() {
            let Some(resources) = &container.resources else {
                continue;
            };
            for (list, amounts) in [
                ("limits", &resources.limits),
                ("requests", &resources.requests),
            ] {
                for (name, amount) in amounts.iter().flatten() {
                    let problem = |message| {
                        Problem::warning(format!("{path}.resources.{list}[{name}]"), message)
                    };
                    found.extend(self.accelerator(name, amount).map(problem));
                }
            }
        }
        found
    }

    fn accelerator(&self, name: &str, Quantity(amount): &Quantity) -> Option<String> {
        if name == ALPHA_GPU {
            return Some(
                "gone from Kubernetes, it is replaced by nvidia.com/gpu: write that instead"
                    .to_owned(),
            );
        }
        let users: Vec<_> = self
            .table
            .roles_of(self.role.mode)
            .map(|id| self.table.role(id))
            .collect();
        let users: Vec<_> = users
            .into_iter()
            .filter(|role| role.gpu)
            .map(|role| role.name)
            .collect();
        let users = if users.is_empty() {
            "no role"
        } else {
            &users.join(", ")
        };
        let idle = !self.role.gpu && is_accelerator(name) && amount != "0";
        idle.then(|| {
            format!(
                "{} does not use accelerators (only {users}): they would be idle",
                self.role.name
            )
        })
    }

    /// Variables of the user's that the operator sets to something else.
    fn variables(&self) -> Vec<Problem> {
        let names = self.overwriting();
        let mut found = Vec::new();
        for (path, container) in self
            .containers()
            .filter(|(path, _)| !path.contains(".initContainers["))
        {
            for (at, var) in container.env.iter().flatten().enumerate() {
                let message = || format!("{} is overwritten: the operator sets it", var.name);
                let ours = names.contains(&var.name.as_str());
                found
                    .extend(ours.then(|| Problem::warning(format!("{path}.env[{at}]"), message())));
            }
        }
        found
    }

    /// Names of the variables that the operator sets whatever the user says.
    fn overwriting(&self) -> Vec<&'static str> {
        let (of_mode, own) = (self.mode_env(), self.role.env);
        let blocks: [&[Env]; 2] = match (self.absent(of_mode), self.absent(own)) {
            (Some(_), _) => [&[], &[]],
            (None, Some(_)) => [of_mode, &[]],
            (None, None) => [of_mode, own],
        };
        let declared = blocks.into_iter().flatten();
        let ours = declared
            .filter(|env| !matches!(env.source, Source::Default(_)))
            .map(|env| env.name);
        self.table.config_env.into_iter().chain(ours).collect()
    }

    fn container_names(&self) -> Vec<Problem> {
        let all: Vec<_> = self.containers().collect();
        let seen = |at: usize, name: &str| all.iter().take(at).any(|(_, other)| other.name == name);
        let twice = all
            .iter()
            .enumerate()
            .filter(|(at, (_, one))| seen(*at, &one.name));
        let message = |name: &str| {
            format!("another container is named {name}: the API server refuses such a pod")
        };
        twice
            .map(|(_, (path, one))| Problem::warning(format!("{path}.name"), message(&one.name)))
            .collect()
    }

    /// The API server takes no pod with two ports of one name in a container.
    fn port_names(&self) -> Vec<Problem> {
        let of_one = |(path, container): (String, &'a Container)| {
            let ports = container.ports.iter().flatten().enumerate();
            let named = ports.filter_map(|(at, port)| Some((at, port.name.as_deref()?)));
            let named: Vec<_> = named.filter(|(_, name)| !name.is_empty()).collect();
            let twice = named.clone().into_iter().enumerate();
            let twice = twice.filter(move |(nth, (_, name))| {
                named.iter().take(*nth).any(|(_, other)| other == name)
            });
            twice.map(move |(_, (at, name))| {
                let message = format!(
                    "another port of the container is named {name}: the API server refuses such a pod"
                );
                Problem::warning(format!("{path}.ports[{at}].name"), message)
            })
        };
        self.containers().flat_map(of_one).collect()
    }
}

fn managed_by(table: &RoleTable, spec: &JobSpec) -> Option<Problem> {
    let ours = table.manager();
    let other = spec
        .run_policy
        .as_ref()?
        .managed_by
        .as_ref()
        .filter(|manager| **manager != ours)?;
    let message =
        format!("{other:?} runs this job: mxjob leaves it alone (its own name is {ours:?})");
    Some(Problem::warning("spec.runPolicy.managedBy", message))
}

fn retryable(spec: &JobSpec) -> Option<Problem> {
    let given = spec.run_policy.as_ref()?.retryable_exit_codes.is_some();
    let mut policies = spec
        .mx_replica_specs
        .values()
        .map(|entry| entry.restart_policy);
    let used = policies.any(|policy| policy == Some(RestartPolicy::ExitCode))
        && spec.failure_policy.is_none();
    let message =
        "has no effect: no role has restartPolicy ExitCode, or spec.failurePolicy decides";
    (given && !used).then(|| Problem::warning("spec.runPolicy.retryableExitCodes", message))
}

/// Roles in a failure policy that the job does not have.
fn absent_roles(table: &RoleTable, spec: &JobSpec) -> Vec<Problem> {
    let has = |role: &str| {
        spec.mx_replica_specs
            .keys()
            .any(|key| key.eq_ignore_ascii_case(role))
    };
    let absent = |role: &str| table.find(role).is_some() && !has(role);
    let mut found = Vec::new();
    for (path, rule) in failure_rules(spec) {
        for (at, role) in rule
            .roles
            .iter()
            .flatten()
            .enumerate()
            .filter(|(_, role)| absent(role))
        {
            let message = format!("the job has no {role}: never matches");
            found.push(Problem::warning(format!("{path}.roles[{at}]"), message));
        }
    }
    found
}
