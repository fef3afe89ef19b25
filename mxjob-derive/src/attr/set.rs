//! `#[roles(..)]` on the enum.

use proc_macro2::TokenStream;
use syn::ext::IdentExt;
use syn::parse::{ParseStream, Parser};
use syn::{Attribute, Expr, Ident, LitStr, Meta, Path, Token};

use super::env::Env;
use super::keys::{Keys, text};
use super::value::{At, PortKeys, RoleRef};
use crate::errors::Errors;

/// The keys of the whole set.
#[derive(Debug)]
pub(crate) struct SetKeys {
    pub(crate) container: Option<LitStr>,
    pub(crate) port: Option<PortKeys>,
    pub(crate) config_env: Option<LitStr>,
    pub(crate) modes: Vec<ModeKeys>,
    pub(crate) crd: Option<CrdKeys>,
    /// Where mxjob-core is; `None`: where cargo puts it.
    pub(crate) core: Option<Path>,
}

/// The keys of one mode.
#[derive(Debug)]
pub(crate) struct ModeKeys {
    pub(crate) name: Ident,
    pub(crate) chief: Option<At<Vec<RoleRef>>>,
    pub(crate) workers: Vec<RoleRef>,
    pub(crate) fixed_membership: bool,
    pub(crate) env: Vec<Env>,
}

/// The names of the custom resource.
#[derive(Debug)]
pub(crate) struct CrdKeys {
    pub(crate) group: LitStr,
    pub(crate) kind: LitStr,
    pub(crate) plural: Option<LitStr>,
    pub(crate) singular: Option<LitStr>,
    pub(crate) short_names: Vec<LitStr>,
}

const KNOWN: &[&str] = &["container", "port", "config_env", "mode", "crd", "crate"];
const OF_MODE: &[&str] = &["chief", "workers", "fixed_membership", "env"];
const OF_CRD: &[&str] = &["group", "kind", "plural", "singular", "short_names"];

impl SetKeys {
    /// Reads the attributes of the enum.
    pub(crate) fn read(attributes: &[Attribute], errors: &mut Errors) -> Self {
        for attribute in attributes
            .iter()
            .filter(|attribute| attribute.path().is_ident("role"))
        {
            errors.at(
                attribute,
                "`role` is for a variant: write `#[roles(..)]` on the enum",
            );
        }
        let mut keys = Keys::of_attributes(attributes, "roles", KNOWN, errors);
        Self {
            container: keys.string("container"),
            port: keys.port(),
            config_env: keys.string("config_env"),
            modes: modes(&mut keys),
            crd: crd(&mut keys),
            core: core(&mut keys),
        }
    }
}

fn modes(keys: &mut Keys<'_>) -> Vec<ModeKeys> {
    let mut modes = Vec::new();
    for meta in keys.take_all("mode") {
        match meta {
            Meta::List(list) => {
                let named = (|input: ParseStream<'_>| named(input)).parse2(list.tokens.clone());
                match named {
                    Ok((name, rest)) => modes.push(mode(name, rest, keys.errors)),
                    Err(_) => keys.errors.at(
                        list,
                        "`mode` starts with its name: write `mode(Train, chief = [Worker])`",
                    ),
                }
            }
            other => keys.errors.at(
                other,
                "`mode` needs parentheses: write `mode(Train, chief = [Worker])`",
            ),
        }
    }
    modes
}

/// A mode's name and what comes after the comma.
fn named(input: ParseStream<'_>) -> syn::Result<(Ident, TokenStream)> {
    let name = input.parse::<Ident>()?.unraw();
    if !input.is_empty() {
        input.parse::<Token![,]>()?;
    }
    Ok((name, input.parse()?))
}

fn mode(name: Ident, tokens: TokenStream, errors: &mut Errors) -> ModeKeys {
    let mut keys = Keys::of_block(tokens, "mode", OF_MODE, errors);
    ModeKeys {
        name,
        chief: keys.roles("chief"),
        workers: keys
            .roles("workers")
            .map(|roles| roles.value)
            .unwrap_or_default(),
        fixed_membership: keys.flag("fixed_membership"),
        env: keys.env(),
    }
}

fn crd(keys: &mut Keys<'_>) -> Option<CrdKeys> {
    const EXAMPLE: &str = "crd(group = \"example.org\", kind = \"TrainJob\")";
    let path = keys.path("crd")?;
    let tokens = keys.block("crd", EXAMPLE)?;
    let mut keys = Keys::of_block(tokens, "crd", OF_CRD, keys.errors);
    if keys.lacks("group") || keys.lacks("kind") {
        keys.errors.at(
            path,
            format!("`crd` needs `group` and `kind`: write `{EXAMPLE}`"),
        );
    }
    let (group, kind) = (keys.string("group"), keys.string("kind"));
    let (plural, singular) = (keys.string("plural"), keys.string("singular"));
    let short_names = keys.strings("short_names").unwrap_or_default();
    Some(CrdKeys {
        group: group?,
        kind: kind?,
        plural,
        singular,
        short_names,
    })
}

/// Where mxjob-core is, when the key says so.
fn core(keys: &mut Keys<'_>) -> Option<Path> {
    let value = keys.value("crate", "crate = ::mxjob_core")?;
    let Expr::Path(path) = value else {
        keys.errors
            .at(value, "`crate` needs a path: write `crate = ::mxjob_core`");
        return None;
    };
    let mut path = path.path;
    let first = path
        .segments
        .first()
        .map(|segment| segment.ident.to_string())?;
    if path.leading_colon.is_some() || first == "crate" {
        return Some(path);
    }
    keys.errors.at(
        &path,
        format!(
            "`crate` needs an absolute path: write `crate = ::{}`",
            text(&path)
        ),
    );
    if ["self", "super", "Self"].contains(&first.as_str()) {
        return None;
    }
    path.leading_colon = Some(<Token![::]>::default());
    Some(path)
}
