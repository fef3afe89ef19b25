//! The table and the trait impls of a role set without mistakes.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Ident, LitStr, Path};

use crate::attr::{CrdKeys, Env, ModeKeys, PortKeys, RoleRef, Source, Switch};
use crate::model::{Role, RoleSet};

/// Everything that the derive writes.
pub(crate) fn role_set(set: &RoleSet) -> TokenStream {
    let role_mod = role_mod(set.keys.core.as_ref());
    let at = Paths {
        set,
        role_mod: &role_mod,
    };
    let enum_name = &set.ident;
    let table = at.table();
    let idents: Vec<&Ident> = set.roles.iter().map(|role| &role.ident).collect();
    let names = set.roles.iter().map(|role| &role.name);
    let positions = (0..set.roles.len()).map(proc_macro2::Literal::usize_unsuffixed);
    let positions: Vec<_> = positions.collect();
    quote! {
        const _: () = #role_mod::assert_role_key::<#enum_name>();

        #[automatically_derived]
        impl #role_mod::ReplicaRole for #enum_name
        where
            for<'role> Self: #role_mod::RoleKey,
        {
            const TABLE: &'static #role_mod::RoleTable = &#table;

            fn id(self) -> #role_mod::RoleId {
                #role_mod::RoleId::new(match self { #(Self::#idents => #positions,)* })
            }

            fn from_id(id: #role_mod::RoleId) -> ::core::option::Option<Self> {
                match id.position() {
                    #(#positions => ::core::option::Option::Some(Self::#idents),)*
                    _ => ::core::option::Option::None,
                }
            }
        }

        #[automatically_derived]
        impl ::core::str::FromStr for #enum_name
        where
            for<'role> Self: #role_mod::RoleKey,
        {
            type Err = #role_mod::UnknownRole;

            fn from_str(name: &::core::primitive::str) -> ::core::result::Result<Self, Self::Err> {
                <Self as #role_mod::ReplicaRole>::parse(name)
                    .ok_or_else(|| #role_mod::UnknownRole::new(name, <Self as #role_mod::ReplicaRole>::TABLE))
            }
        }

        #[automatically_derived]
        impl ::core::fmt::Display for #enum_name {
            fn fmt(&self, formatter: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                formatter.pad(match *self { #(Self::#idents => #names,)* })
            }
        }
    }
}

/// The module that holds the trait and the table.
pub(crate) fn role_mod(core: Option<&Path>) -> TokenStream {
    core.map_or_else(|| quote!(::mxjob_core::role), |path| quote!(#path::role))
}

/// Writes the parts of the table.
struct Paths<'a> {
    set: &'a RoleSet,
    role_mod: &'a TokenStream,
}

impl Paths<'_> {
    fn table(&self) -> TokenStream {
        let Self { set, role_mod } = self;
        let modes = set.keys.modes.iter().map(|mode| self.mode(mode));
        let roles = set.roles.iter().map(|role| self.role(role));
        let crd = set.keys.crd.as_ref().map(|crd| {
            let crd = self.crd(crd);
            quote!(.crd(#crd))
        });
        let container = set
            .keys
            .container
            .as_ref()
            .map(|name| quote!(.container(#name)));
        let port = self.port(set.keys.port.as_ref());
        let config_env = set
            .keys
            .config_env
            .as_ref()
            .map(|name| quote!(.config_env(#name)));
        quote!(#role_mod::RoleTable::new(&[#(#modes),*], &[#(#roles),*]) #crd #container #port #config_env)
    }

    fn crd(&self, crd: &CrdKeys) -> TokenStream {
        let role_mod = self.role_mod;
        let CrdKeys {
            group,
            kind,
            short_names,
            ..
        } = crd;
        let lower = kind.value().to_ascii_lowercase();
        let singular = crd.singular.as_ref().map_or(lower, LitStr::value);
        let plural = crd
            .plural
            .as_ref()
            .map_or_else(|| format!("{singular}s"), LitStr::value);
        quote!(#role_mod::Crd::new(#group, #kind, #plural, #singular, &[#(#short_names),*]))
    }

    fn port(&self, port: Option<&PortKeys>) -> Option<TokenStream> {
        let role_mod = self.role_mod;
        port.map(|PortKeys { name, number }| quote!(.port(#role_mod::Port::new(#name, #number))))
    }

    fn mode(&self, mode: &ModeKeys) -> TokenStream {
        let role_mod = self.role_mod;
        let name = mode.name.to_string();
        let chief = self.names(mode.chief.iter().flat_map(|roles| &roles.value));
        let workers = (!mode.workers.is_empty()).then(|| {
            let workers = self.names(&mode.workers);
            quote!(.workers(#workers))
        });
        let fixed = mode.fixed_membership.then(|| quote!(.fixed_membership()));
        let env = self.env(&mode.env);
        quote!(#role_mod::Mode::new(#name, #chief) #workers #fixed #env)
    }

    fn role(&self, role: &Role) -> TokenStream {
        let role_mod = self.role_mod;
        let Role { name, keys, .. } = role;
        let mode = keys
            .mode
            .as_ref()
            .map(ToString::to_string)
            .unwrap_or_default();
        let (min, max) = keys
            .replicas
            .as_ref()
            .map_or((1, None), |range| (range.value.min, range.value.max));
        let max = max.map_or_else(|| quote!(None), |max| quote!(Some(#max)));
        let doc = &keys.doc;
        let doc = (!doc.is_empty()).then(|| quote!(.doc(#doc)));
        let default = keys.default.as_ref().map(|count| {
            let count = count.value;
            quote!(.default(#count))
        });
        let requires = (!keys.requires.is_empty()).then(|| {
            let requires = self.names(&keys.requires);
            quote!(.requires(#requires))
        });
        let restart = self.restart(&keys.restart);
        let switches = keys.switches.iter().copied().map(switch);
        let container = keys
            .container
            .as_ref()
            .map(|name| quote!(.container(#name)));
        let port = self.port(keys.port.as_ref());
        let env = self.env(&keys.env);
        quote! {
            #role_mod::Role::new(#name, #mode, #min, ::core::option::Option::#max)
                #doc #default #requires #restart #(#switches)* #container #port #env
        }
    }

    fn restart(&self, policies: &[&str]) -> Option<TokenStream> {
        let role_mod = self.role_mod;
        let policies: Vec<_> = policies
            .iter()
            .map(|name| Ident::new(name, proc_macro2::Span::call_site()))
            .collect();
        (!policies.is_empty())
            .then(|| quote!(.restart(&[#(#role_mod::RestartPolicy::#policies),*])))
    }

    fn env(&self, variables: &[Env]) -> Option<TokenStream> {
        let role_mod = self.role_mod;
        let variables: Vec<_> = variables
            .iter()
            .map(|variable| {
                let name = variable.name.to_string();
                let source = self.source(&variable.source);
                quote!(#role_mod::Env::new(#name, #role_mod::Source::#source))
            })
            .collect();
        (!variables.is_empty()).then(|| quote!(.env(&[#(#variables),*])))
    }

    fn source(&self, source: &Source) -> TokenStream {
        let name = source.role().map(|role| self.name(role));
        match source {
            Source::Literal(text) => quote!(Literal(#text)),
            Source::Default(text) => quote!(Default(#text)),
            Source::Role => quote!(Role),
            Source::Index => quote!(Index),
            Source::Count(_) => quote!(Count(#name)),
            Source::Host(_) => quote!(Host(#name)),
            Source::Port(_) => quote!(Port(#name)),
            Source::Hosts(_) => quote!(Hosts(#name)),
            Source::Field(path) => quote!(Field(#path)),
        }
    }

    /// The names of roles as a constant slice.
    fn names<'r>(&self, roles: impl IntoIterator<Item = &'r RoleRef>) -> TokenStream {
        let names = roles.into_iter().map(|role| self.name(role));
        quote!(&[#(#names),*])
    }

    /// The name of a role in manifests.
    fn name(&self, role: &RoleRef) -> String {
        self.set
            .find(role)
            .map_or_else(|| role.role.to_string(), |found| found.name.clone())
    }
}

/// The keys that are on or off.
fn switch(switch: Switch) -> TokenStream {
    match switch {
        Switch::Optional => quote!(.optional()),
        Switch::Gpu => quote!(.gpu()),
        Switch::Label => quote!(.label()),
        Switch::WithoutModeEnv => quote!(.without_mode_env()),
        Switch::WithoutServices => quote!(.without_services()),
    }
}
