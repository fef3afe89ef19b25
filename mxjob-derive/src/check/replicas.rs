//! Numbers of replicas: said, and the default among them.

use crate::errors::Errors;
use crate::model::{Role, RoleSet};

/// Every role says how many replicas it has.
pub(super) fn of_roles(set: &RoleSet, errors: &mut Errors) {
    for role in &set.roles {
        of_role(role, errors);
    }
}

fn of_role(role: &Role, errors: &mut Errors) {
    let (ident, keys) = (&role.ident, &role.keys);
    let Some(replicas) = &keys.replicas else {
        let message = if keys.present {
            format!("role `{ident}` has no `replicas`: add `replicas = 1`, or a range like `1..`")
        } else {
            format!(
                "role `{ident}` has no `replicas` and no `mode`: write `#[role(mode = .., replicas = 1)]`"
            )
        };
        errors.at(ident, message);
        return;
    };
    let Some(default) = keys
        .default
        .as_ref()
        .filter(|default| !replicas.value.contains(default.value))
    else {
        return;
    };
    let allowed = &replicas.tokens;
    let message = format!(
        "`default` is outside `replicas = {}`: write a number of the range",
        compact(allowed)
    );
    errors.at(&default.tokens, message);
}

/// A range without the spaces that tokens are printed with.
fn compact(tokens: &proc_macro2::TokenStream) -> String {
    tokens.to_string().replace(' ', "")
}
