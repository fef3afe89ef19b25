//! Mistakes that show when the parts of a declaration are compared.
//!
//! Every check looks at the whole set and skips what another one reports, so that one mistake gives
//! one error: a role that is not known is nobody's chief, a mode that is not declared has no chief.
//! What needs the table of a base set is checked when the compiler has it: see `expand::checks`.

mod bases;
mod env;
mod modes;
mod names;
mod references;
mod replicas;
mod requires;

use crate::errors::Errors;
use crate::model::RoleSet;

/// All checks, in one go.
pub(crate) fn role_set(set: &RoleSet) -> syn::Result<()> {
    let mut errors = Errors::default();
    bases::once(set, &mut errors);
    names::of_roles(set, &mut errors);
    names::of_set(set, &mut errors);
    replicas::of_roles(set, &mut errors);
    modes::of_roles(set, &mut errors);
    modes::of_set(set, &mut errors);
    references::known(set, &mut errors);
    requires::of_roles(set, &mut errors);
    env::addresses(set, &mut errors);
    env::set_once(set, &mut errors);
    errors.finish(())
}
