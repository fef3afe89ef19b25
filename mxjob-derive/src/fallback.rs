//! The impls written beside a mistake, so that the rest of the user's code compiles and only the
//! mistake is reported.

use proc_macro2::TokenStream;
use quote::quote;
use syn::DeriveInput;

use crate::attr::SetKeys;
use crate::expand::{by_name, role_mod};

/// Impls that compile; they never run.
pub(crate) fn stub(input: &DeriveInput) -> TokenStream {
    let role_mod = role_mod(SetKeys::core(&input.attrs).as_ref());
    let ident = &input.ident;
    let (impl_generics, type_generics, clause) = input.generics.split_for_impl();
    let bounds = (!input.generics.params.is_empty()).then(|| {
        let given = clause
            .map(|clause| clause.predicates.iter())
            .into_iter()
            .flatten();
        quote! {
            where #(#given,)* Self: ::core::marker::Copy + ::core::fmt::Debug + ::core::cmp::Ord
                + ::core::hash::Hash + ::core::marker::Send + ::core::marker::Sync + 'static
        }
    });
    let by_name = input
        .generics
        .params
        .is_empty()
        .then(|| by_name(ident, &role_mod));
    quote! {
        #by_name

        #[automatically_derived]
        impl #impl_generics #role_mod::ReplicaRole for #ident #type_generics #bounds {
            const TABLE: &'static #role_mod::RoleTable = &#role_mod::RoleTable::new(&[], &[]);

            fn id(self) -> #role_mod::RoleId {
                #role_mod::RoleId::new(0)
            }

            fn from_id(_: #role_mod::RoleId) -> ::core::option::Option<Self> {
                ::core::option::Option::None
            }
        }

        #[automatically_derived]
        impl #impl_generics ::core::fmt::Display for #ident #type_generics #clause {
            fn fmt(&self, _: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                ::core::result::Result::Ok(())
            }
        }
    }
}
