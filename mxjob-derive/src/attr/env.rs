//! `env(NAME = source, ..)`: environment variables and where their values come from.

use quote::ToTokens;
use syn::{Expr, ExprCall, Ident, LitStr, Meta};

use super::keys::{parentheses, split, text, ungroup};
use super::value::{RoleRef, literal};
use crate::errors::mistake;
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

/// The variables of a block `env(..)`.
pub(super) fn variables(meta: &Meta) -> darling::Result<Vec<Env>> {
    let tokens = parentheses(meta, "env(NAME = \"text\")")?;
    let metas = split(tokens)?;
    let mut errors = darling::Error::accumulator();
    let mut variables: Vec<Env> = Vec::new();
    for meta in metas {
        let Some(variable) = errors.handle(variable(meta)) else {
            continue;
        };
        let name = &variable.name;
        if variables.iter().any(|other| other.name == *name) {
            let message = format!("`{name}` is set twice in this `env`: remove one");
            errors.push(mistake(name, message));
        }
        variables.push(variable);
    }
    errors.finish_with(variables)
}

fn variable(meta: Meta) -> darling::Result<Env> {
    let name = name(&meta)?;
    let Meta::NameValue(pair) = meta else {
        let message =
            format!("`{name}` needs a value: write `{name} = \"text\"` or `{name} = host(Role)`");
        return Err(mistake(meta, message));
    };
    let source = source(&name, &ungroup(pair.value))?;
    Ok(Env { name, source })
}

fn name(meta: &Meta) -> darling::Result<Ident> {
    let path = meta.path();
    let name = path
        .get_ident()
        .filter(|name| is_env_name(&name.to_string()));
    name.cloned().ok_or_else(|| {
        let message = format!(
            "`{}` is no name for an environment variable: use capital letters, digits and `_`, no digit first",
            text(path)
        );
        mistake(path, message)
    })
}

/// True for `[A-Z_][A-Z0-9_]*`.
pub(crate) fn is_env_name(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_';
    !name.is_empty()
        && !name.starts_with(|first: char| first.is_ascii_digit())
        && name.bytes().all(plain)
}

fn source(variable: &Ident, value: &Expr) -> darling::Result<Source> {
    if let Some(text) = literal(value) {
        return Ok(Source::Literal(text));
    }
    let message = match value {
        Expr::Path(path) => return plain(&text(&path.path), path),
        Expr::Call(call) if let Expr::Path(path) = &*call.func => {
            return called(&text(&path.path), call);
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
    Err(mistake(value, message))
}

fn plain(name: &str, at: &syn::ExprPath) -> darling::Result<Source> {
    let message = match name {
        "role" => return Ok(Source::Role),
        "index" => return Ok(Source::Index),
        "count" | "host" | "port" | "hosts" => {
            format!("`{name}` needs a role: write `{name}(Role)`")
        }
        "default" | "field" => format!("`{name}` needs a text: write `{name}(\"..\")`"),
        _ => suggest::unknown("`env` source", name, SOURCES),
    };
    Err(mistake(at, message))
}

fn called(name: &str, call: &ExprCall) -> darling::Result<Source> {
    let message = match name {
        "count" => return one_role(name, call).map(Source::Count),
        "host" => return one_role(name, call).map(Source::Host),
        "port" => return one_role(name, call).map(Source::Port),
        "hosts" => return one_role(name, call).map(Source::Hosts),
        "default" => return one_text(name, call).map(Source::Default),
        "field" => return field(one_text(name, call)?),
        "role" | "index" => format!("`{name}` takes nothing in parentheses: write `{name}`"),
        _ => {
            let message = suggest::unknown("`env` source", name, SOURCES);
            return Err(mistake(&call.func, message));
        }
    };
    Err(mistake(call, message))
}

fn one_role(name: &str, call: &ExprCall) -> darling::Result<RoleRef> {
    let only = call.args.first().filter(|_| call.args.len() == 1);
    let Some(role) = only else {
        let message = format!("`{name}` takes exactly one role: write `{name}(Role)`");
        return Err(mistake(call, message));
    };
    RoleRef::read(role.clone())
}

fn one_text(name: &str, call: &ExprCall) -> darling::Result<LitStr> {
    let only = call.args.first().filter(|_| call.args.len() == 1);
    let text = only.cloned().map(ungroup);
    text.as_ref().and_then(literal).ok_or_else(|| {
        let message = format!("`{name}` takes exactly one text in quotes: write `{name}(\"..\")`");
        mistake(call, message)
    })
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

fn field(path: LitStr) -> darling::Result<Source> {
    let text = path.value();
    let keyed = ["metadata.labels['", "metadata.annotations['"];
    let key = keyed
        .iter()
        .find_map(|start| text.strip_prefix(start)?.strip_suffix("']"));
    if FIELDS.contains(&text.as_str()) || key.is_some_and(|key| !key.is_empty()) {
        return Ok(Source::Field(path));
    }
    Err(mistake(
        path,
        suggest::unknown("pod `field`", &text, FIELDS),
    ))
}
