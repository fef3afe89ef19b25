//! Base sets: each extended once.

use quote::ToTokens;

use crate::errors::Errors;
use crate::model::RoleSet;

/// No set is extended twice.
pub(super) fn once(set: &RoleSet, errors: &mut Errors) {
    for (position, base) in set.bases.iter().enumerate() {
        let name = base.set.to_token_stream().to_string();
        let mut before = set.bases.iter().take(position);
        if before.any(|other| other.set.to_token_stream().to_string() == name) {
            let message = format!("`{name}` is extended twice: remove one");
            errors.at(&base.set, message);
        }
    }
}
