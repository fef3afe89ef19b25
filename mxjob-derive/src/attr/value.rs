//! Values of keys: text, numbers, names, lists of them, ports.

use proc_macro2::TokenStream;
use quote::ToTokens;
use syn::ext::IdentExt;
use syn::{Expr, ExprLit, Ident, Lit, LitStr, Path};

use super::keys::{Keys, text, ungroup};
use crate::errors::Errors;

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
    pub(super) fn read(value: Expr, errors: &mut Errors) -> Option<Self> {
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
            let names: Vec<_> = path
                .path
                .segments
                .iter()
                .map(|segment| segment.ident.clone())
                .collect();
            let path = path.path.clone();
            match names.as_slice() {
                [role] => {
                    return Some(Self {
                        base: None,
                        role: role.clone(),
                        path,
                    });
                }
                [base, role] => {
                    return Some(Self {
                        base: Some(base.clone()),
                        role: role.clone(),
                        path,
                    });
                }
                _ => {}
            }
        }
        errors.at(value, "not a role: write a variant's name like `Worker`, or `Base::Worker` for a role of a base set");
        None
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
#[derive(Clone, Debug)]
pub(crate) struct PortKeys {
    pub(crate) name: LitStr,
    pub(crate) number: u16,
}

impl Keys<'_> {
    /// The text after `key =`.
    pub(super) fn string(&mut self, key: &str) -> Option<LitStr> {
        let value = self.value(key, &format!("{key} = \"..\""))?;
        let text = string(&value);
        if text.is_none() {
            self.errors.at(
                value,
                format!("`{key}` needs text in quotes: write `{key} = \"..\"`"),
            );
        }
        text
    }

    /// `true` or `false` after `key =`.
    pub(super) fn boolean(&mut self, key: &str) -> Option<bool> {
        match self.value(key, &format!("{key} = false"))? {
            Expr::Lit(ExprLit {
                lit: Lit::Bool(value),
                ..
            }) => Some(value.value),
            other => {
                self.errors.at(
                    other,
                    format!("`{key}` needs `true` or `false`: write `{key} = false`"),
                );
                None
            }
        }
    }

    /// The name after `key =`.
    pub(super) fn ident(&mut self, key: &str, example: &str) -> Option<Ident> {
        let value = self.value(key, example)?;
        if let Expr::Path(path) = &value
            && let Some(name) = path.path.get_ident()
        {
            return Some(name.unraw());
        }
        self.errors
            .at(value, format!("`{key}` needs a name: write `{example}`"));
        None
    }

    /// The number of replicas after `key =`.
    pub(super) fn count(&mut self, key: &str) -> Option<At<u32>> {
        let value = self.value(key, &format!("{key} = 1"))?;
        let Some(count) = number(&value) else {
            let message = format!("`{key}` needs a whole number, 0 or more: write `{key} = 1`");
            self.errors.at(value, message);
            return None;
        };
        let count = replicas(key, count, MOST_REPLICAS, &value, self.errors)?;
        Some(At::new(count, value))
    }

    /// The list after `key =`.
    pub(super) fn list(&mut self, key: &str, example: &str) -> Option<At<Vec<Expr>>> {
        match self.value(key, example)? {
            Expr::Array(array) => Some(At::new(
                array.elems.iter().cloned().map(ungroup).collect(),
                array,
            )),
            other => {
                self.errors
                    .at(other, format!("`{key}` needs a list: write `{example}`"));
                None
            }
        }
    }

    /// The roles after `key =`.
    pub(super) fn roles(&mut self, key: &str) -> Option<At<Vec<RoleRef>>> {
        let list = self.list(key, &format!("{key} = [Worker]"))?;
        let roles = list
            .value
            .into_iter()
            .filter_map(|role| RoleRef::read(role, self.errors))
            .collect();
        Some(At {
            value: roles,
            tokens: list.tokens,
        })
    }

    /// The texts after `key =`.
    pub(super) fn strings(&mut self, key: &str) -> Option<Vec<LitStr>> {
        let list = self.list(key, &format!("{key} = [\"..\"]"))?;
        let mut texts = Vec::new();
        for value in list.value {
            match string(&value) {
                Some(text) => texts.push(text),
                None => self.errors.at(
                    value,
                    format!("`{key}` needs text in quotes: write `{key} = [\"..\"]`"),
                ),
            }
        }
        Some(texts)
    }

    /// The block `port(name = .., number = ..)`.
    pub(super) fn port(&mut self) -> Option<PortKeys> {
        const EXAMPLE: &str = "port(name = \"job-port\", number = 9091)";
        let path = self.path("port")?;
        let tokens = self.block("port", EXAMPLE)?;
        let mut keys = Keys::of_block(tokens, "port", &["name", "number"], self.errors);
        if keys.lacks("name") || keys.lacks("number") {
            keys.errors.at(
                path,
                format!("`port` needs `name` and `number`: write `{EXAMPLE}`"),
            );
        }
        let name = keys.string("name");
        let number = keys.value("number", "number = 9091");
        let number = number.and_then(|value| port_number(&value, keys.errors));
        Some(PortKeys {
            name: name?,
            number: number?,
        })
    }
}

/// Most replicas of a job in mxjob-core.
pub(super) const MOST_REPLICAS: u32 = 100_000;

/// `count` as a number of replicas, not above `most`.
pub(super) fn replicas(
    key: &str,
    count: u64,
    most: u32,
    at: &Expr,
    errors: &mut Errors,
) -> Option<u32> {
    let small = u32::try_from(count).ok().filter(|count| *count <= most);
    if small.is_none() {
        errors.at(
            at,
            format!("`{key}` is beyond the {MOST_REPLICAS} replicas that a job may have: write a smaller number"),
        );
    }
    small
}

fn port_number(value: &Expr, errors: &mut Errors) -> Option<u16> {
    let port = number(value)
        .and_then(|number| u16::try_from(number).ok())
        .filter(|port| *port > 0);
    if port.is_none() {
        errors.at(value, "`number` is no port: write a number from 1 to 65535");
    }
    port
}

/// A string literal's.
pub(super) fn string(value: &Expr) -> Option<LitStr> {
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
