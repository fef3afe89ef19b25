//! Values of keys: text, numbers, names, lists of them, ports. Each function reads the value of one
//! key for darling, with our own words for what it is not.

use darling::FromMeta;
use darling::util::Flag;
use proc_macro2::TokenStream;
use quote::ToTokens;
use syn::ext::IdentExt;
use syn::{Expr, ExprLit, Ident, Lit, LitStr, Meta, Path};

use super::keys::{Keys, needed, text, ungroup};
use crate::errors::mistake;

/// A value and the tokens that say it, for a mistake found later.
#[derive(Clone, Debug)]
pub(crate) struct At<T> {
    pub(crate) value: T,
    pub(crate) tokens: TokenStream,
}

impl<T> At<T> {
    pub(super) fn new(value: T, tokens: impl ToTokens) -> Self {
        Self {
            value,
            tokens: tokens.into_token_stream(),
        }
    }

    pub(super) fn into_value(self) -> T {
        self.value
    }
}

/// A role named in an attribute: `Worker`, or `Mx::Worker` for one of a base set.
#[derive(Clone, Debug)]
pub(crate) struct RoleRef {
    /// The variant that holds the base set.
    pub(crate) base: Option<Ident>,
    /// The role's variant.
    pub(crate) role: Ident,
    /// As it is written.
    pub(crate) path: Path,
}

impl RoleRef {
    /// Reads a path of one or two plain names.
    pub(super) fn read(value: Expr) -> darling::Result<Self> {
        let value = ungroup(value);
        if let Expr::Path(path) = &value
            && path.qself.is_none()
            && path.path.leading_colon.is_none()
            && path
                .path
                .segments
                .iter()
                .all(|segment| segment.arguments.is_none())
        {
            let mut names = path.path.segments.iter().map(|segment| &segment.ident);
            let (base, role) = match (names.next(), names.next(), names.next()) {
                (Some(role), None, None) => (None, Some(role)),
                (base, role, None) => (base, role),
                _ => (None, None),
            };
            if let Some(role) = role {
                return Ok(Self {
                    base: base.cloned(),
                    role: role.clone(),
                    path: path.path.clone(),
                });
            }
        }
        Err(mistake(
            value,
            "not a role: write a variant's name like `Worker`, or `Base::Worker` for a role of a base set",
        ))
    }

    /// The role as it is written.
    pub(crate) fn text(&self) -> String {
        text(&self.path)
    }

    /// True when it names that variant of the enum itself.
    pub(crate) fn names(&self, variant: &Ident) -> bool {
        self.base.is_none() && self.role.unraw() == variant.unraw()
    }
}

/// `port(name = .., number = ..)`.
#[derive(Clone, Debug, FromMeta)]
pub(crate) struct PortKeys {
    #[darling(default = needed, with = string)]
    pub(crate) name: LitStr,
    #[darling(default, with = port_number)]
    pub(crate) number: u16,
}

impl Keys for PortKeys {
    const OWNER: &'static str = "port";
    const KNOWN: &'static [&'static str] = &["name", "number"];
    const NEEDED: &'static [&'static str] = Self::KNOWN;
    const EXAMPLE: &'static str = "port(name = \"job-port\", number = 9091)";
}

/// A key without a value.
pub(super) fn flag(meta: &Meta) -> darling::Result<Flag> {
    match meta {
        Meta::Path(_) => Flag::from_meta(meta),
        other => {
            let key = text(other.path());
            let message = format!("`{key}` takes no value: write `{key}` or leave it out");
            Err(mistake(other, message))
        }
    }
}

/// What comes after `key =`; `example` is what else the user is told to write there.
pub(super) fn given(meta: &Meta, example: &str) -> darling::Result<Expr> {
    match meta {
        Meta::NameValue(pair) => Ok(ungroup(pair.value.clone())),
        other => {
            let key = text(other.path());
            Err(mistake(
                other,
                format!("`{key}` needs a value: write `{key} = {example}`"),
            ))
        }
    }
}

/// `needs`, with the key before it and what to write after it.
fn other<T>(meta: &Meta, value: &Expr, needs: &str, example: &str) -> darling::Result<T> {
    let key = text(meta.path());
    let message = format!("`{key}` needs {needs}: write `{key} = {example}`");
    Err(mistake(value, message))
}

/// Text.
pub(super) fn string(meta: &Meta) -> darling::Result<LitStr> {
    let example = "\"..\"";
    let value = given(meta, example)?;
    literal(&value).map_or_else(|| other(meta, &value, "text in quotes", example), Ok)
}

/// `true` or `false`.
pub(super) fn boolean(meta: &Meta) -> darling::Result<bool> {
    match given(meta, "false")? {
        Expr::Lit(ExprLit {
            lit: Lit::Bool(value),
            ..
        }) => Ok(value.value),
        value => other(meta, &value, "`true` or `false`", "false"),
    }
}

/// A name.
pub(super) fn name(meta: &Meta) -> darling::Result<Ident> {
    let value = given(meta, "Train")?;
    let name = match &value {
        Expr::Path(path) => path.path.get_ident(),
        _ => None,
    };
    name.map_or_else(
        || other(meta, &value, "a name", "Train"),
        |name| Ok(name.unraw()),
    )
}

/// A path.
pub(super) fn path(meta: &Meta) -> darling::Result<Path> {
    match given(meta, "::mxjob_core")? {
        Expr::Path(path) => Ok(path.path),
        value => other(meta, &value, "a path", "::mxjob_core"),
    }
}

/// A list, each of its values read by `read`.
pub(super) fn list<T>(
    meta: &Meta,
    example: &str,
    read: impl Fn(Expr) -> darling::Result<T>,
) -> darling::Result<At<Vec<T>>> {
    let array = match given(meta, example)? {
        Expr::Array(array) => array,
        value => return other(meta, &value, "a list", example),
    };
    let mut errors = darling::Error::accumulator();
    let tokens = array.to_token_stream();
    let values = array.elems.into_iter().map(ungroup);
    let values = values.filter_map(|value| errors.handle(read(value)));
    let values = values.collect();
    errors.finish_with(At::new(values, tokens))
}

/// Roles.
pub(super) fn roles(meta: &Meta) -> darling::Result<At<Vec<RoleRef>>> {
    list(meta, "[Worker]", RoleRef::read)
}

/// Texts.
pub(super) fn strings(meta: &Meta) -> darling::Result<Vec<LitStr>> {
    let example = "[\"..\"]";
    let read = |value: Expr| {
        literal(&value).map_or_else(|| other(meta, &value, "text in quotes", example), Ok)
    };
    list(meta, example, read).map(At::into_value)
}

fn port_number(meta: &Meta) -> darling::Result<u16> {
    let value = given(meta, "9091")?;
    let port = number(&value)
        .and_then(|number| u16::try_from(number).ok())
        .filter(|port| *port > 0);
    port.ok_or_else(|| mistake(value, "`number` is no port: write a number from 1 to 65535"))
}

/// A string literal's.
pub(super) fn literal(value: &Expr) -> Option<LitStr> {
    match value {
        Expr::Lit(ExprLit {
            lit: Lit::Str(text),
            ..
        }) => Some(text.clone()),
        _ => None,
    }
}

/// An integer literal's, when it is not negative; the highest there is for one beyond counting.
pub(super) fn number(value: &Expr) -> Option<u64> {
    match value {
        Expr::Lit(ExprLit {
            lit: Lit::Int(number),
            ..
        }) => Some(number.base10_digits().parse().unwrap_or(u64::MAX)),
        _ => None,
    }
}
