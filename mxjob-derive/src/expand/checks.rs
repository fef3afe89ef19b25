//! Checks of an extension that need the tables of its base sets: constants that the compiler
//! evaluates, each with the span of what it is about.

use proc_macro2::{Delimiter, Group, Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote, quote_spanned};

use super::table::base_table;
use crate::attr::{Env, RoleRef};
use crate::model::{Role, RoleSet};

/// One constant a check, none for a set that extends nothing.
pub(super) fn of(set: &RoleSet, role_mod: &TokenStream) -> TokenStream {
    let checks = Checks { set, role_mod };
    if set.bases.is_empty() {
        TokenStream::new()
    } else {
        checks.all()
    }
}

struct Checks<'a> {
    set: &'a RoleSet,
    role_mod: &'a TokenStream,
}

impl Checks<'_> {
    fn all(&self) -> TokenStream {
        let set = self.set;
        let mut all = self.bases();
        let tables = self.tables(set.bases.len());
        if let Some(name) = &set.keys.config_env {
            all.extend(self.check(name, "layout", &quote!(#tables, #name)));
        }
        for mode in &set.keys.modes {
            let name = mode.name.to_string();
            all.extend(self.check(&mode.name, "new_mode", &quote!(#tables, #name)));
            for env in &mode.keys.env {
                all.extend(self.value(env, &name));
                all.extend(self.variable(env, None));
            }
        }
        for role in &set.roles {
            all.extend(self.role(role));
        }
        all
    }

    /// Of the base sets among themselves.
    fn bases(&self) -> TokenStream {
        let set = self.set;
        let later = set.bases.iter().enumerate().skip(1);
        let mut all: TokenStream = later
            .map(|(position, base)| {
                let (before, table) = (self.tables(position), base_table(self.role_mod, base));
                self.check(&base.set, "apart", &quote!(#before, #table))
            })
            .collect();
        if let (Some(first), None) = (set.bases.first(), &set.keys.config_env) {
            let first = base_table(self.role_mod, first);
            for base in set.bases.iter().skip(1) {
                let table = base_table(self.role_mod, base);
                all.extend(self.check(&base.set, "inherited_layout", &quote!(#first, #table)));
            }
        }
        let (tables, own) = (self.tables(set.bases.len()), set.roles.len());
        all.extend(self.check(&set.ident, "room", &quote!(#tables, #own)));
        all
    }

    fn role(&self, role: &Role) -> TokenStream {
        let (set, name) = (self.set, &role.name);
        let tables = self.tables(set.bases.len());
        let mut all = self.check(role.named_by(), "new_role", &quote!(#tables, #name));
        let Some(mode) = &role.keys.mode else {
            return all;
        };
        let text = mode.to_string();
        if set.mode_of(role).is_none() {
            let own = set.keys.modes.iter().map(|mode| mode.name.to_string());
            all.extend(self.check(mode, "mode", &quote!(#tables, &[#(#own),*], #text)));
        }
        for reference in &role.keys.requires {
            all.extend(self.reference("requires", reference, &quote!(#text)));
        }
        let inherits = role.keys.mode_env != Some(false);
        for env in &role.keys.env {
            all.extend(self.value(env, &text));
            all.extend(self.variable(env, inherits.then_some(&text)));
        }
        all
    }

    /// The role that a variable's value is about.
    fn value(&self, env: &Env, mode: &str) -> TokenStream {
        if let Some((source, reference, one)) = env.source.address() {
            return self.reference("address", reference, &quote!(#source, #one, #mode));
        }
        let role = env.source.role();
        role.map(|role| self.reference("known", role, &TokenStream::new()))
            .unwrap_or_default()
    }

    /// The variable is set nowhere else.
    fn variable(&self, env: &Env, mode: Option<&String>) -> TokenStream {
        let (tables, name) = (self.tables(self.set.bases.len()), env.name.to_string());
        let mode = option(mode);
        let layout = option(self.set.keys.config_env.as_ref());
        self.check(
            &env.name,
            "variable",
            &quote!(#tables, #name, #mode, #layout),
        )
    }

    /// A check of a role of a base set; of a role of its own there is none.
    fn reference(&self, check: &str, reference: &RoleRef, more: &TokenStream) -> TokenStream {
        let Some(base) = self.set.base_of(reference) else {
            return TokenStream::new();
        };
        let (role_mod, text) = (self.role_mod, reference.text());
        let table = base_table(role_mod, base);
        let role = syn::ext::IdentExt::unraw(&reference.role).to_string();
        let arguments = quote!(#table, #role_mod::extend::Reference::new(#text, #role), #more);
        self.check(&reference.path, check, &arguments)
    }

    /// The tables of the first base sets.
    fn tables(&self, count: usize) -> TokenStream {
        let bases = self.set.bases.iter().take(count);
        let tables = bases.map(|base| base_table(self.role_mod, base));
        quote!(&[#(#tables),*])
    }

    /// A constant that calls a function of `mxjob_core::role::extend`; an error underlines `tokens`.
    fn check(&self, tokens: impl ToTokens, function: &str, arguments: &TokenStream) -> TokenStream {
        let mut spans = tokens.into_token_stream().into_iter();
        let first = spans
            .next()
            .as_ref()
            .map_or_else(Span::call_site, TokenTree::span);
        let last = spans.last().as_ref().map_or(first, TokenTree::span);
        let role_mod = self.role_mod;
        let function = Ident::new(function, first);
        let path: TokenStream = quote!(#role_mod::extend::#function)
            .into_iter()
            .map(|mut token| {
                token.set_span(first);
                token
            })
            .collect();
        // From the first token to the last: the compiler underlines a call from end to end.
        let mut arguments = Group::new(Delimiter::Parenthesis, arguments.clone());
        arguments.set_span(last);
        quote_spanned!(first=> const _: () = #path #arguments;)
    }
}

fn option(value: Option<&impl ToTokens>) -> TokenStream {
    value.map_or_else(
        || quote!(::core::option::Option::None),
        |value| quote!(::core::option::Option::Some(#value)),
    )
}
