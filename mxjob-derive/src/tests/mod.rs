//! The derive as a plain function of tokens. What the compiler shows of a mistake is in `ui-tests`.

mod expansion;
mod keys;
mod mistakes;
mod suggestions;

use proc_macro2::TokenStream;
use quote::quote;
use syn::DeriveInput;

use crate::check;
use crate::model::RoleSet;

/// The mistakes of a declaration, in the order in which they are reported.
fn mistakes(input: TokenStream) -> Vec<String> {
    let input: DeriveInput = syn::parse2(input).expect("an item");
    match RoleSet::read(&input).and_then(|set| check::role_set(&set)) {
        Ok(()) => Vec::new(),
        Err(errors) => errors.into_iter().map(|error| error.to_string()).collect(),
    }
}

/// The mistakes of a set of two modes, `Train` of `Worker` and `Server` and `Tune` of `Tuner`, with
/// more keys.
fn with(train: &TokenStream, worker: &TokenStream, server: &TokenStream) -> Vec<String> {
    mistakes(quote! {
        #[roles(config_env = "CONFIG", mode(Train, chief = [Worker], #train), mode(Tune, chief = [Tuner]))]
        enum Roles {
            #[role(mode = Train, #worker)]
            Worker,
            #[role(mode = Train, replicas = 0.., #server)]
            Server,
            #[role(mode = Tune, replicas = 1)]
            Tuner,
        }
    })
}
