//! `env(NAME = source, ..)`: environment variables and where their values come from.

use proc_macro2::TokenStream;
use quote::ToTokens;
use syn::{Expr, ExprCall, Ident, LitStr, Meta};

use super::keys::{Keys, split, text, ungroup};
use super::value::{RoleRef, string};
use crate::errors::Errors;
use crate::suggest;

/// One environment variable.
#[derive(Clone, Debug)]
pub(crate) struct Env {
    pub(crate) name: Ident,
    pub(crate) source: Source,
}

/// Where a variable's value comes from.
#[derive(Clone, Debug)]
pub(crate) enum Source {
    Literal(LitStr),
    Default(LitStr),
    Role,
    Index,
    Count(RoleRef),
    Host(RoleRef),
    Port(RoleRef),
    Hosts(RoleRef),
    Field(LitStr),
}

impl Source {
    /// The key, the role, and whether only one replica is meant, of a value that is an address.
    pub(crate) fn address(&self) -> Option<(&'static str, &RoleRef, bool)> {
        match self {
            Self::Host(role) => Some(("host", role, true)),
            Self::Port(role) => Some(("port", role, true)),
            Self::Hosts(role) => Some(("hosts", role, false)),
            _ => None,
        }
    }

    /// The role that the value is about.
    pub(crate) fn role(&self) -> Option<&RoleRef> {
        match self {
            Self::Count(role) | Self::Host(role) | Self::Port(role) | Self::Hosts(role) => {
                Some(role)
            }
            Self::Literal(_) | Self::Default(_) | Self::Role | Self::Index | Self::Field(_) => None,
        }
    }
}

/// The sources that have a name.
const SOURCES: &[&str] = &[
    "default", "role", "index", "count", "host", "port", "hosts", "field",
];

impl Keys<'_> {
    /// The variables of the block `env(..)`.
    pub(super) fn env(&mut self) -> Vec<Env> {
        let tokens = self.block("env", "env(NAME = \"text\")");
        tokens
            .map(|tokens| variables(tokens, self.errors))
            .unwrap_or_default()
    }
}

fn variables(tokens: TokenStream, errors: &mut Errors) -> Vec<Env> {
    let mut variables: Vec<Env> = Vec::new();
    for meta in split(tokens, errors).into_iter().flatten() {
        let Some(name) = name(&meta, errors) else {
            continue;
        };
        let Meta::NameValue(pair) = meta else {
            let message = format!(
                "`{name}` needs a value: write `{name} = \"text\"` or `{name} = host(Role)`"
            );
            errors.at(meta, message);
            continue;
        };
        let Some(source) = source(&name, ungroup(pair.value), errors) else {
            continue;
        };
        if variables.iter().any(|other| other.name == name) {
            errors.at(
                &name,
                format!("`{name}` is set twice in this `env`: remove one"),
            );
            continue;
        }
        variables.push(Env { name, source });
    }
    variables
}

fn name(meta: &Meta, errors: &mut Errors) -> Option<Ident> {
    let path = meta.path();
    let name = path
        .get_ident()
        .filter(|name| is_env_name(&name.to_string()));
    if name.is_none() {
        let message = format!(
            "`{}` is no name for an environment variable: use capital letters, digits and `_`, no digit first",
            text(path)
        );
        errors.at(path, message);
    }
    name.cloned()
}

/// True for `[A-Z_][A-Z0-9_]*`.
pub(crate) fn is_env_name(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_';
    !name.is_empty()
        && !name.starts_with(|first: char| first.is_ascii_digit())
        && name.bytes().all(plain)
}

fn source(variable: &Ident, value: Expr, errors: &mut Errors) -> Option<Source> {
    if let Some(text) = string(&value) {
        return Some(Source::Literal(text));
    }
    let called_path = |call: &ExprCall| match &*call.func {
        Expr::Path(path) => Some(text(&path.path)),
        _ => None,
    };
    let message = match &value {
        Expr::Path(path) => return plain(&text(&path.path), path, errors),
        Expr::Call(call) if let Some(name) = called_path(call) => {
            return called(&name, call, errors);
        }
        Expr::Lit(literal) => {
            let text = literal.to_token_stream().to_string();
            let text = text.trim_matches('\'');
            format!("`{variable}` needs its text in quotes: write `{variable} = \"{text}\"`")
        }
        _ => format!(
            "`{variable}` needs text in quotes or one of {}",
            suggest::list(SOURCES)
        ),
    };
    errors.at(value, message);
    None
}

fn plain(name: &str, at: &syn::ExprPath, errors: &mut Errors) -> Option<Source> {
    match name {
        "role" => return Some(Source::Role),
        "index" => return Some(Source::Index),
        "count" | "host" | "port" | "hosts" => {
            errors.at(at, format!("`{name}` needs a role: write `{name}(Role)`"));
        }
        "default" | "field" => {
            errors.at(at, format!("`{name}` needs a text: write `{name}(\"..\")`"));
        }
        _ => errors.at(at, suggest::unknown("`env` source", name, SOURCES)),
    }
    None
}

fn called(name: &str, call: &ExprCall, errors: &mut Errors) -> Option<Source> {
    match name {
        "count" => one_role(name, call, errors).map(Source::Count),
        "host" => one_role(name, call, errors).map(Source::Host),
        "port" => one_role(name, call, errors).map(Source::Port),
        "hosts" => one_role(name, call, errors).map(Source::Hosts),
        "default" => one_text(name, call, errors).map(Source::Default),
        "field" => one_text(name, call, errors).and_then(|path| field(path, errors)),
        "role" | "index" => {
            errors.at(
                call,
                format!("`{name}` takes nothing in parentheses: write `{name}`"),
            );
            None
        }
        _ => {
            errors.at(&call.func, suggest::unknown("`env` source", name, SOURCES));
            None
        }
    }
}

fn one_role(name: &str, call: &ExprCall, errors: &mut Errors) -> Option<RoleRef> {
    if call.args.len() == 1 {
        return call
            .args
            .first()
            .and_then(|role| RoleRef::read(role.clone(), errors));
    }
    errors.at(
        call,
        format!("`{name}` takes exactly one role: write `{name}(Role)`"),
    );
    None
}

fn one_text(name: &str, call: &ExprCall, errors: &mut Errors) -> Option<LitStr> {
    let only = call.args.first().filter(|_| call.args.len() == 1);
    let text = only.cloned().map(ungroup).and_then(|value| string(&value));
    if text.is_none() {
        errors.at(
            call,
            format!("`{name}` takes exactly one text in quotes: write `{name}(\"..\")`"),
        );
    }
    text
}

/// What the downward API gives to environment variables:
/// <https://kubernetes.io/docs/concepts/workloads/pods/downward-api/>.
const FIELDS: &[&str] = &[
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "metadata.labels['<KEY>']",
    "metadata.annotations['<KEY>']",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
];

fn field(path: LitStr, errors: &mut Errors) -> Option<Source> {
    let text = path.value();
    let keyed = ["metadata.labels['", "metadata.annotations['"];
    let key = keyed
        .iter()
        .find_map(|start| text.strip_prefix(start)?.strip_suffix("']"));
    if FIELDS.contains(&text.as_str()) || key.is_some_and(|key| !key.is_empty()) {
        return Some(Source::Field(path));
    }
    errors.at(path, suggest::unknown("pod `field`", &text, FIELDS));
    None
}
