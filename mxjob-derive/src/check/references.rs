//! Roles named in attributes exist.

use crate::attr::RoleRef;
use crate::errors::Errors;
use crate::model::RoleSet;
use crate::suggest;

/// Every role that is named somewhere is one of the set.
pub(super) fn known(set: &RoleSet, errors: &mut Errors) {
    let variants: Vec<_> = set
        .roles
        .iter()
        .map(|role| role.ident.to_string())
        .collect();
    let unknown =
        |reference: &&RoleRef| set.find(reference).is_none() && set.base_of(reference).is_none();
    for reference in all(set).filter(unknown) {
        let text = reference.text();
        let own = reference
            .base
            .as_ref()
            .is_some_and(|base| base == "Self" || *base == set.ident);
        let renamed = || {
            let mut roles = set.roles.iter();
            roles.find(|role| reference.base.is_none() && role.name == text)
        };
        let message = match (&reference.base, set.bases.first()) {
            (Some(_), _) if own && variants.contains(&reference.role.to_string()) => format!(
                "`{text}` names a role of this enum, which stands alone: write `{}`",
                reference.role
            ),
            (Some(_), _) if own => suggest::unknown("role", &reference.role.to_string(), &variants),
            (None, _) if let Some(role) = renamed() => format!(
                "unknown role `{text}`: roles go by their variants here, write `{}`",
                role.ident
            ),
            (Some(base), None) => format!(
                "`{text}` names a base set that is not there: add a variant `{base}` marked `#[role(extend)]`"
            ),
            (Some(_), Some(first)) => format!(
                "`{text}` names a base set that is not there: write `{}::{}`",
                first.ident, reference.role
            ),
            (None, Some(first)) => format!(
                "{}; a role of the base set is written `{}::{text}`",
                suggest::unknown("role", &text, &variants).trim_end_matches('?'),
                first.ident
            ),
            (None, None) => suggest::unknown("role", &text, &variants),
        };
        errors.at(&reference.path, message);
    }
}

fn all(set: &RoleSet) -> impl Iterator<Item = &RoleRef> {
    let of_modes = set.keys.modes.iter().flat_map(|mode| {
        let chief = mode.keys.chief.iter().flat_map(|chief| &chief.value);
        chief
            .chain(&mode.keys.workers)
            .chain(mode.keys.env.iter().filter_map(|env| env.source.role()))
    });
    let of_roles = set.roles.iter().flat_map(|role| {
        role.keys
            .requires
            .iter()
            .chain(role.keys.env.iter().filter_map(|env| env.source.role()))
    });
    of_modes.chain(of_roles)
}
