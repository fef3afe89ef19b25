//! The environment of a replica's containers.

use k8s_openapi::api::core::v1::{EnvVar, EnvVarSource, ObjectFieldSelector};

use super::Wiring;
use crate::job::{Replica, RoleSpec, Spec};
use crate::role::{Env, Source};

/// A variable of the operator's, and whether the user's own of that name is left alone.
pub(super) struct Variable {
    pub(super) var: EnvVar,
    pub(super) user_wins: bool,
}

/// The operator's variables of a replica, in order.
pub(super) fn of_replica(wiring: &Wiring<'_>, role: &RoleSpec, replica: Replica) -> Vec<Variable> {
    let layout = wiring.job.table.config_env.zip(wiring.layout.as_ref());
    let layout = layout.map(|(name, layout)| Variable {
        var: literal(name, layout.render(role, replica)),
        user_wins: false,
    });
    let declared = declared(wiring.spec, role);
    layout
        .into_iter()
        .chain(declared.filter_map(|env| variable(wiring, env, role, replica)))
        .collect()
}

/// What the table declares for a role in this job: the blocks whose roles the job all has.
pub(crate) fn declared(spec: &Spec, role: &RoleSpec) -> impl Iterator<Item = &'static Env> {
    let has = |env: &Env| {
        env.source
            .needs()
            .is_none_or(|name| spec.role_named(name).is_some_and(|role| role.replicas > 0))
    };
    let whole = |block: &'static [Env]| if block.iter().all(has) { block } else { &[] };
    let of_mode = if role.role.mode_env {
        whole(spec.mode.env)
    } else {
        &[]
    };
    let of_job = if of_mode.is_empty() {
        &[]
    } else {
        spec.profile.env
    };
    // The mode's block is left out whole; so is what a role adds to it when it says where to meet.
    let of_role = if of_mode.is_empty() && role.role.mode_env && !spec.mode.env.is_empty() {
        &[]
    } else {
        whole(role.role.env)
    };
    of_mode.iter().chain(of_job).chain(of_role)
}

fn variable(wiring: &Wiring<'_>, env: &Env, role: &RoleSpec, replica: Replica) -> Option<Variable> {
    let named = |name: &str| wiring.spec.role_named(name);
    let first = |role: &RoleSpec| Replica {
        role: role.id,
        index: 0,
    };
    let value = match env.source {
        Source::Literal(text) | Source::Default(text) => text.to_owned(),
        Source::Role => role.role.name.to_ascii_lowercase(),
        Source::Index => replica.index.to_string(),
        Source::Count(name) => named(name).map_or(0, |role| role.replicas).to_string(),
        Source::Host(name) => wiring.host(first(named(name)?)),
        Source::Port(name) => named(name)
            .map(|role| wiring.port(role, first(role)))?
            .to_string(),
        Source::Hosts(name) => hosts(wiring, named(name)?),
        Source::Field(path) => {
            return Some(Variable {
                var: field(env.name, path),
                user_wins: false,
            });
        }
    };
    let user_wins = matches!(env.source, Source::Default(_));
    Some(Variable {
        var: literal(env.name, value),
        user_wins,
    })
}

fn hosts(wiring: &Wiring<'_>, role: &RoleSpec) -> String {
    let address = |replica| format!("{}:{}", wiring.host(replica), wiring.port(role, replica));
    role.replicas().map(address).collect::<Vec<_>>().join(",")
}

fn literal(name: &str, value: String) -> EnvVar {
    EnvVar {
        name: name.to_owned(),
        value: Some(value),
        value_from: None,
    }
}

fn field(name: &str, path: &str) -> EnvVar {
    let selector = ObjectFieldSelector {
        field_path: path.to_owned(),
        ..ObjectFieldSelector::default()
    };
    let source = EnvVarSource {
        field_ref: Some(selector),
        ..EnvVarSource::default()
    };
    EnvVar {
        name: name.to_owned(),
        value: None,
        value_from: Some(source),
    }
}

/// The user's variables without those that the operator sets, then the operator's without those
/// that the user may set: each name once.
pub(super) fn merge(user: Option<Vec<EnvVar>>, ours: &[Variable]) -> Vec<EnvVar> {
    let user = user.unwrap_or_default();
    let set_by_user = |name: &str| user.iter().any(|var| var.name == name);
    let added: Vec<_> = ours
        .iter()
        .filter(|one| !(one.user_wins && set_by_user(&one.var.name)))
        .map(|one| one.var.clone())
        .collect();
    let mut merged: Vec<EnvVar> = Vec::with_capacity(user.len() + added.len());
    for var in user
        .iter()
        .filter(|var| !added.iter().any(|other| other.name == var.name))
    {
        // Of a name given twice the kubelet uses the last.
        merged.retain(|other| other.name != var.name);
        merged.push(var.clone());
    }
    merged.extend(added);
    merged
}
