//! The table, as calls of the constant functions of `mxjob_core::role`.

use proc_macro2::TokenStream;
use quote::quote;
use syn::ext::IdentExt;
use syn::{Ident, LitStr};

use crate::attr::{CrdKeys, Env, Mode, PortKeys, RoleKeys, RoleRef, Source};
use crate::model::{Base, Role, RoleSet};

/// Writes the parts of the table.
pub(super) struct Table<'a> {
    pub(super) set: &'a RoleSet,
    pub(super) role_mod: &'a TokenStream,
}

impl Table<'_> {
    /// The whole expression.
    pub(super) fn expression(&self) -> TokenStream {
        let Self { set, role_mod } = self;
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
        let names = quote!(#crd #container #port #config_env);
        let modes = set.keys.modes.iter().map(|mode| self.mode(mode));
        let modes = quote!(&[#(#modes),*]);
        let Some(first) = set.bases.first() else {
            let roles = set.roles.iter().map(|role| self.role(role));
            return quote!(&#role_mod::RoleTable::new(#modes, &[#(#roles),*]) #names);
        };
        let first = base_table(role_mod, first);
        let base_modes = set.bases.iter().map(|base| {
            let table = base_table(role_mod, base);
            quote!(#table.modes)
        });
        let roles = self.parts();
        quote! {{
            const MODES: #role_mod::extend::Joined<#role_mod::Mode> =
                #role_mod::extend::modes(&[#(#base_modes,)* #modes]);
            const ROLES: #role_mod::extend::Joined<#role_mod::Role> =
                #role_mod::extend::roles(&[#(#roles),*]);
            &#role_mod::RoleTable::extending(#first, MODES.items(), ROLES.items()) #names
        }}
    }

    /// The roles of an extension: its own, and those of base sets where their variants stand.
    fn parts(&self) -> Vec<TokenStream> {
        let Self { set, role_mod } = self;
        let mut parts = Vec::new();
        let mut own = set.roles.as_slice();
        let mut done = 0;
        let container = set.keys.container.is_some();
        let port = set.keys.port.is_some();
        let mut first = None;
        for base in &set.bases {
            let (before, after) = own.split_at(own.len().min(base.after - done));
            parts.extend(self.part(before));
            let table = base_table(role_mod, base);
            parts.push(match &first {
                None => quote!(#table.roles),
                Some(first) => quote! {
                    #role_mod::extend::brought(#first, #table, #role_mod::extend::Names::new(#container, #port)).items()
                },
            });
            first.get_or_insert(table);
            (own, done) = (after, base.after);
        }
        parts.extend(self.part(own));
        parts
    }

    fn part(&self, roles: &[Role]) -> Option<TokenStream> {
        let written = roles.iter().map(|role| self.role(role));
        (!roles.is_empty()).then(|| quote!(&[#(#written),*]))
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

    fn mode(&self, Mode { name, keys }: &Mode) -> TokenStream {
        let role_mod = self.role_mod;
        let name = name.to_string();
        let chief = self.names(keys.chief.iter().flat_map(|roles| &roles.value));
        let workers = (!keys.workers.is_empty()).then(|| {
            let workers = self.names(&keys.workers);
            quote!(.workers(#workers))
        });
        let fixed = keys
            .fixed_membership
            .is_present()
            .then(|| quote!(.fixed_membership()));
        let env = self.env(&keys.env);
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
        let switches = switches(keys);
        let container = keys
            .container
            .as_ref()
            .map(|name| quote!(.container(#name)));
        let port = self.port(keys.port.as_ref());
        let env = self.env(&keys.env);
        quote! {
            #role_mod::Role::new(#name, #mode, #min, ::core::option::Option::#max)
                #doc #default #requires #restart #switches #container #port #env
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
            .map_or_else(|| role.role.unraw().to_string(), |found| found.name.clone())
    }
}

/// The keys that are on or off.
fn switches(keys: &RoleKeys) -> TokenStream {
    let calls = [
        (keys.optional.is_present(), quote!(.optional())),
        (keys.gpu.is_present(), quote!(.gpu())),
        (keys.label.is_present(), quote!(.label())),
        (keys.mode_env == Some(false), quote!(.without_mode_env())),
        (keys.services == Some(false), quote!(.without_services())),
    ];
    let calls = calls.into_iter().filter(|(on, _)| *on);
    calls.map(|(_, call)| call).collect()
}

/// The table of a base set. What is wrong with the type is said with the same words wherever this
/// stands, so that the compiler says it once.
pub(super) fn base_table(role_mod: &TokenStream, base: &Base) -> TokenStream {
    let set = &base.set;
    quote!(<#set as #role_mod::ReplicaRole>::TABLE)
}
