//! From the enum's tokens to the impl's: read, check, write; beside a mistake a stub.

use proc_macro2::TokenStream;
use syn::DeriveInput;

use crate::model::RoleSet;
use crate::{check, expand, fallback};

/// The derive as a plain function.
pub(crate) fn replica_role(input: TokenStream) -> TokenStream {
    let input: DeriveInput = match syn::parse2(input) {
        Ok(input) => input,
        Err(error) => return error.into_compile_error(),
    };
    let checked = RoleSet::read(&input).and_then(|set| check::role_set(&set).map(|()| set));
    match checked {
        Ok(set) => expand::role_set(&set),
        Err(errors) => {
            let mut tokens = errors.into_compile_error();
            tokens.extend(fallback::stub(&input));
            tokens
        }
    }
}
