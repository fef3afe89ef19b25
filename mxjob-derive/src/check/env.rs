//! Environment variables: set in one place each, with addresses that exist.

use syn::Ident;

use crate::attr::Env;
use crate::errors::Errors;
use crate::model::RoleSet;

/// Addresses are of roles of the same mode, and of ones that have a replica to address.
pub(super) fn addresses(set: &RoleSet, errors: &mut Errors) {
    for mode in &set.keys.modes {
        for env in &mode.keys.env {
            address(set, &mode.name, env, errors);
        }
    }
    for role in &set.roles {
        let Some(mode) = set.mode_name(role) else {
            continue;
        };
        for env in &role.keys.env {
            address(set, mode, env, errors);
        }
    }
}

fn address(set: &RoleSet, mode: &Ident, env: &Env, errors: &mut Errors) {
    let Some((source, reference, single)) = env.source.address() else {
        return;
    };
    let Some(role) = set.find(reference) else {
        return;
    };
    let text = reference.text();
    let other = set.mode_name(role).filter(|other| *other != mode);
    if let Some(other) = other {
        let message = format!(
            "`{source}({text})` names a role of mode `{other}`, which a job of mode `{mode}` never has: \
             name a role of `{mode}`"
        );
        errors.at(&reference.path, message);
    } else if source != "port" && role.keys.services == Some(false) {
        let message = format!(
            "`{source}({text})` needs the address of `{text}`, which has `services = false`: \
             remove that, or name another role"
        );
        errors.at(&reference.path, message);
    } else if single && role.fewest() == 0 {
        let message = format!(
            "`{source}({text})` needs a replica of `{text}`, which may have none: \
             write `hosts({text})`, or let its `replicas` start at 1"
        );
        errors.at(&reference.path, message);
    }
}

/// A variable is set by the mode, by the role or by `config_env`, never by two of them.
pub(super) fn set_once(set: &RoleSet, errors: &mut Errors) {
    let of_modes = set.keys.modes.iter().flat_map(|mode| &mode.keys.env);
    let of_roles = set.roles.iter().flat_map(|role| &role.keys.env);
    let layout = set.keys.config_env.as_ref().map(syn::LitStr::value);
    for name in of_modes
        .chain(of_roles)
        .map(|env| &env.name)
        .filter(|name| layout.as_deref() == Some(name.to_string().as_str()))
    {
        let message =
            format!("`{name}` is the `config_env`, whose value comes from the job: remove it here");
        errors.at(name, message);
    }
    for role in set
        .roles
        .iter()
        .filter(|role| role.keys.mode_env != Some(false))
    {
        let Some(mode) = set.mode_of(role) else {
            continue;
        };
        let of_mode = |name: &Ident| mode.keys.env.iter().any(|env| env.name == *name);
        for name in role
            .keys
            .env
            .iter()
            .map(|env| &env.name)
            .filter(|name| of_mode(name))
        {
            let message = format!(
                "`{name}` is set by the `env` of mode `{}` too: remove one, or add `mode_env = false` here",
                mode.name
            );
            errors.at(name, message);
        }
    }
}
