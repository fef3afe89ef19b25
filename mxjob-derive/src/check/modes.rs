//! Modes: declared once, with roles, and with a chief among them.

use syn::ext::IdentExt;

use crate::attr::{Mode, RoleRef};
use crate::errors::Errors;
use crate::model::RoleSet;
use crate::suggest;

/// Every role belongs to a declared mode.
pub(super) fn of_roles(set: &RoleSet, errors: &mut Errors) {
    let declared: Vec<_> = set
        .keys
        .modes
        .iter()
        .map(|mode| mode.name.to_string())
        .collect();
    for role in set.roles.iter().filter(|role| role.keys.present) {
        let ident = &role.ident;
        match &role.keys.mode {
            None => errors.at(
                ident,
                format!(
                    "role `{ident}` has no `mode`: add `mode = {}`",
                    example(&declared)
                ),
            ),
            // Whether a base set has it shows when that is compiled: see `expand::checks`.
            Some(mode) if set.mode_of(role).is_none() && set.bases.is_empty() => {
                let message = suggest::unknown("`mode`", &mode.to_string(), &declared);
                let declare =
                    format!("declare `mode({mode}, chief = [{ident}])` in `#[roles(..)]`");
                let joint = if declared.is_empty() { ": " } else { ", or " };
                let message = if message.ends_with('?') {
                    message
                } else {
                    format!("{message}{joint}{declare}")
                };
                errors.at(mode, message);
            }
            Some(_) => {}
        }
    }
}

fn example(declared: &[String]) -> &str {
    declared.first().map_or("Train", String::as_str)
}

/// Every mode is declared once, has roles, and a chief among them.
pub(super) fn of_set(set: &RoleSet, errors: &mut Errors) {
    for (position, mode) in set.keys.modes.iter().enumerate() {
        let name = &mode.name;
        let text = name.to_string();
        if !text.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
            errors.at(
                name,
                format!("`{text}` is no name of a mode: use letters from A to Z and digits"),
            );
        }
        let mut before = set.keys.modes.iter().take(position);
        let same = |other: &&Mode| other.name.to_string().eq_ignore_ascii_case(&text);
        if let Some(other) = before.find(same) {
            let message = if other.name == *name {
                format!("mode `{name}` is declared twice: remove one `mode({name}, ..)`")
            } else {
                let other = &other.name;
                format!(
                    "modes `{other}` and `{name}` are the same but for letter case: give one another name"
                )
            };
            errors.at(name, message);
            continue;
        }
        if set.roles_of(mode).next().is_some() {
            of_mode(set, mode, errors);
        } else if !set.bases.is_empty() || set.roles.iter().all(|role| set.mode_of(role).is_some())
        {
            let message =
                format!("mode `{name}` has no role: remove it, or write `mode = {name}` on a role");
            errors.at(name, message);
        }
    }
}

fn of_mode(set: &RoleSet, mode: &Mode, errors: &mut Errors) {
    let name = &mode.name;
    match &mode.keys.chief {
        None => {
            let role = set
                .roles_of(mode)
                .next()
                .map_or_else(|| name.unraw(), |role| role.ident.clone());
            errors.at(
                name,
                format!("mode `{name}` has no `chief`: add `chief = [{role}]`"),
            );
        }
        Some(chief) if chief.value.is_empty() => {
            errors.at(
                &chief.tokens,
                "`chief` is empty: name the role that decides whether the job succeeded",
            );
        }
        Some(chief) => members(set, mode, "chief", &chief.value, errors),
    }
    members(set, mode, "workers", &mode.keys.workers, errors);
}

/// The roles of a list are of the mode, each once.
fn members(set: &RoleSet, mode: &Mode, key: &str, roles: &[RoleRef], errors: &mut Errors) {
    let name = &mode.name;
    for (position, reference) in roles.iter().enumerate() {
        let text = reference.text();
        if set.base_of(reference).is_some() {
            let message = format!(
                "`{key}` of mode `{name}` names `{text}`, which is of a mode of the base set: \
                 name a role of `{name}`"
            );
            errors.at(&reference.path, message);
        }
        let Some(role) = set.find(reference) else {
            continue;
        };
        if roles
            .iter()
            .take(position)
            .any(|other| other.names(&role.ident))
        {
            errors.at(
                &reference.path,
                format!("`{text}` is in `{key}` twice: remove one"),
            );
        }
        if let Some(other) = set.mode_of(role).filter(|other| other.name != *name) {
            let message = format!(
                "`{key}` of mode `{name}` names `{text}`, which is of mode `{}`: name a role of `{name}`",
                other.name
            );
            errors.at(&reference.path, message);
        }
    }
}
