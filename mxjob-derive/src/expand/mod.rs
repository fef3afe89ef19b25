//! The table and the trait impls of a role set without mistakes.

mod checks;
mod table;

use proc_macro2::{Literal, TokenStream};
use quote::quote;
use syn::{Ident, Path};

use crate::model::{Base, Role, RoleSet};
use table::{Table, base_table};

/// Everything that the derive writes.
pub(crate) fn role_set(set: &RoleSet) -> TokenStream {
    let role_mod = &role_mod(set.keys.core.as_ref());
    let checks = checks::of(set, role_mod);
    let enum_name = &set.ident;
    let table = Table { set, role_mod }.expression();
    let ids = Ids { set, role_mod };
    let (id, from_id, names) = (ids.id(), ids.role(), ids.names());
    let by_name = by_name(enum_name, role_mod);
    quote! {
        const _: () = #role_mod::assert_role_key::<#enum_name>();
        #checks

        #[automatically_derived]
        impl #role_mod::ReplicaRole for #enum_name
        where
            for<'role> Self: #role_mod::RoleKey,
        {
            const TABLE: &'static #role_mod::RoleTable = #table;

            fn id(self) -> #role_mod::RoleId {
                match self { #id }
            }

            fn from_id(id: #role_mod::RoleId) -> ::core::option::Option<Self> {
                #from_id
            }
        }

        #by_name

        #[automatically_derived]
        impl ::core::fmt::Display for #enum_name {
            fn fmt(&self, formatter: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                formatter.pad(match *self { #names })
            }
        }
    }
}

/// The impls that read and write a role as its name, also as a key of a map.
pub(crate) fn by_name(enum_name: &Ident, role_mod: &TokenStream) -> TokenStream {
    let bound = quote!(where for<'role> Self: #role_mod::RoleKey);
    let result = quote!(::core::result::Result);
    quote! {
        #[automatically_derived]
        impl ::core::str::FromStr for #enum_name #bound {
            type Err = #role_mod::UnknownRole;

            fn from_str(name: &::core::primitive::str) -> #result<Self, #role_mod::UnknownRole> {
                #role_mod::by_name::parse(name)
            }
        }

        #[automatically_derived]
        impl #role_mod::by_name::Serialize for #enum_name #bound {
            fn serialize<S: #role_mod::by_name::Serializer>(&self, serializer: S) -> #result<S::Ok, S::Error> {
                #role_mod::by_name::serialize(*self, serializer)
            }
        }

        #[automatically_derived]
        impl<'de> #role_mod::by_name::Deserialize<'de> for #enum_name #bound {
            fn deserialize<D: #role_mod::by_name::Deserializer<'de>>(deserializer: D) -> #result<Self, D::Error> {
                #role_mod::by_name::deserialize(deserializer)
            }
        }

        #[automatically_derived]
        impl #role_mod::by_name::JsonSchema for #enum_name #bound {
            fn schema_name() -> #role_mod::by_name::SchemaName {
                #role_mod::by_name::SchemaName::Borrowed(::core::stringify!(#enum_name))
            }

            fn json_schema(_: &mut #role_mod::by_name::SchemaGenerator) -> #role_mod::by_name::Schema {
                #role_mod::by_name::schema::<Self>()
            }
        }
    }
}

/// The module that holds the trait and the table.
pub(crate) fn role_mod(core: Option<&Path>) -> TokenStream {
    core.map_or_else(|| quote!(::mxjob_core::role), |path| quote!(#path::role))
}

/// Writes what leads from a role to its place in the table and to its name, and back.
struct Ids<'a> {
    set: &'a RoleSet,
    role_mod: &'a TokenStream,
}

impl Ids<'_> {
    fn id(&self) -> TokenStream {
        let Self { set, role_mod } = self;
        let roles = set.roles.iter().enumerate().map(|(index, role)| {
            let (ident, position) = (&role.ident, Literal::usize_unsuffixed(index));
            let after = self.after_bases(index).map(|count| quote!(.after(#count)));
            quote!(Self::#ident => #role_mod::RoleId::new(#position) #after,)
        });
        let bases = set.bases.iter().enumerate().map(|(position, base)| {
            let (Base { ident, set, .. }, before) = (base, self.before(position));
            quote!(Self::#ident(role) => <#set as #role_mod::ReplicaRole>::id(role).after(#before),)
        });
        quote!(#(#roles)* #(#bases)*)
    }

    fn role(&self) -> TokenStream {
        let Self { set, role_mod } = self;
        let some = |role: &Role| {
            let ident = &role.ident;
            quote!(::core::option::Option::Some(Self::#ident))
        };
        if set.bases.is_empty() {
            let roles = set.roles.iter().enumerate().map(|(index, role)| {
                let (position, some) = (Literal::usize_unsuffixed(index), some(role));
                quote!(#position => #some,)
            });
            return quote!(match id.position() { #(#roles)* _ => ::core::option::Option::None });
        }
        let roles = set.roles.iter().enumerate().map(|(index, role)| {
            let (position, some) = (Literal::usize_unsuffixed(index), some(role));
            let after = self.after_bases(index).map(|count| quote!(.after(#count)));
            quote!(if id == #role_mod::RoleId::new(#position) #after { return #some; })
        });
        let bases = set.bases.iter().enumerate().map(|(position, base)| {
            let (Base { ident, set, .. }, before) = (base, self.before(position));
            quote! {
                if let ::core::option::Option::Some(id) = id.since(#before) {
                    if let ::core::option::Option::Some(role) = <#set as #role_mod::ReplicaRole>::from_id(id) {
                        return ::core::option::Option::Some(Self::#ident(role));
                    }
                }
            }
        });
        quote!(#(#roles)* #(#bases)* ::core::option::Option::None)
    }

    fn names(&self) -> TokenStream {
        let Self { set, role_mod } = self;
        let roles = set
            .roles
            .iter()
            .map(|Role { ident, name, .. }| quote!(Self::#ident => #name,));
        let bases = set.bases.iter().map(|Base { ident, set, .. }| {
            quote!(Self::#ident(role) => <#set as #role_mod::ReplicaRole>::name(role),)
        });
        quote!(#(#roles)* #(#bases)*)
    }

    /// How many roles of base sets come before a role of its own; `None`: none.
    fn after_bases(&self, role: usize) -> Option<TokenStream> {
        let before = self.set.bases.iter().filter(|base| base.after <= role);
        let counts: Vec<_> = before.map(|base| self.count(base)).collect();
        (!counts.is_empty()).then(|| quote!(#(#counts)+*))
    }

    /// How many roles come before those of a base set.
    fn before(&self, position: usize) -> TokenStream {
        let own = self.set.bases.get(position).map_or(0, |base| base.after);
        let own = Literal::usize_unsuffixed(own);
        let counts = self
            .set
            .bases
            .iter()
            .take(position)
            .map(|base| self.count(base));
        quote!(#own #(+ #counts)*)
    }

    fn count(&self, base: &Base) -> TokenStream {
        let table = base_table(self.role_mod, base);
        quote!(#table.roles.len())
    }
}
