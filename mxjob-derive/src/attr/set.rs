//! `#[roles(..)]` on the enum.

use darling::FromMeta;
use darling::util::Flag;
use proc_macro2::TokenStream;
use syn::ext::IdentExt;
use syn::parse::{ParseStream, Parser};
use syn::{Attribute, Ident, LitStr, Meta, Path, Token};

use super::env::{Env, variables};
use super::keys::{Keys, block, needed, of_attributes, of_block, parentheses, text};
use super::value::{At, PortKeys, RoleRef, flag, path, roles, string, strings};
use crate::errors::{Errors, mistake};

/// The keys of the whole set.
#[derive(Debug, Default, FromMeta)]
#[darling(default)]
pub(crate) struct SetKeys {
    #[darling(with = string, map = Some)]
    pub(crate) container: Option<LitStr>,
    #[darling(with = block, map = Some)]
    pub(crate) port: Option<PortKeys>,
    #[darling(with = string, map = Some)]
    pub(crate) config_env: Option<LitStr>,
    #[darling(rename = "mode", multiple, with = Mode::read)]
    pub(crate) modes: Vec<Mode>,
    #[darling(with = block, map = Some)]
    pub(crate) crd: Option<CrdKeys>,
    /// Where mxjob-core is; `None`: where cargo puts it.
    #[darling(rename = "crate", with = core_path, map = Some)]
    pub(crate) core: Option<Path>,
}

impl Keys for SetKeys {
    const OWNER: &'static str = "roles";
    const KNOWN: &'static [&'static str] =
        &["container", "port", "config_env", "mode", "crd", "crate"];
    const REPEATED: &'static [&'static str] = &["mode"];
}

/// One mode.
#[derive(Debug)]
pub(crate) struct Mode {
    pub(crate) name: Ident,
    pub(crate) keys: ModeKeys,
}

/// The keys of one mode.
#[derive(Debug, Default, FromMeta)]
#[darling(default)]
pub(crate) struct ModeKeys {
    #[darling(with = roles, map = Some)]
    pub(crate) chief: Option<At<Vec<RoleRef>>>,
    #[darling(with = roles, map = At::into_value)]
    pub(crate) workers: Vec<RoleRef>,
    #[darling(with = flag)]
    pub(crate) fixed_membership: Flag,
    #[darling(with = variables)]
    pub(crate) env: Vec<Env>,
}

impl Keys for ModeKeys {
    const OWNER: &'static str = "mode";
    const KNOWN: &'static [&'static str] = &["chief", "workers", "fixed_membership", "env"];
    const EXAMPLE: &'static str = "mode(Train, chief = [Worker])";
}

/// The names of the custom resource.
#[derive(Debug, FromMeta)]
pub(crate) struct CrdKeys {
    #[darling(default = needed, with = string)]
    pub(crate) group: LitStr,
    #[darling(default = needed, with = string)]
    pub(crate) kind: LitStr,
    #[darling(default, with = string, map = Some)]
    pub(crate) plural: Option<LitStr>,
    #[darling(default, with = string, map = Some)]
    pub(crate) singular: Option<LitStr>,
    #[darling(default, with = strings)]
    pub(crate) short_names: Vec<LitStr>,
}

impl Keys for CrdKeys {
    const OWNER: &'static str = "crd";
    const KNOWN: &'static [&'static str] = &["group", "kind", "plural", "singular", "short_names"];
    const NEEDED: &'static [&'static str] = &["group", "kind"];
    const EXAMPLE: &'static str = "crd(group = \"example.org\", kind = \"TrainJob\")";
}

impl SetKeys {
    /// Reads the attributes of the enum; `None`: a value is not what its key needs.
    pub(crate) fn read(attributes: &[Attribute], errors: &mut Errors) -> Option<Self> {
        for attribute in attributes
            .iter()
            .filter(|attribute| attribute.path().is_ident("role"))
        {
            let message = "`role` is for a variant: write `#[roles(..)]` on the enum";
            errors.at(attribute, message);
        }
        let metas = of_attributes::<Self>(attributes, errors);
        errors.taken(Self::of(metas))
    }

    /// Where mxjob-core is, of attributes that may have mistakes.
    pub(crate) fn core(attributes: &[Attribute]) -> Option<Path> {
        let metas = of_attributes::<Self>(attributes, &mut Errors::default());
        let core = metas.iter().find(|meta| meta.path().is_ident("crate"))?;
        let mut path = path(core).ok()?;
        if !is_absolute(&path) {
            path.leading_colon = Some(<Token![::]>::default());
        }
        let first = path.segments.first()?.ident.to_string();
        (!["self", "super", "Self"].contains(&first.as_str())).then_some(path)
    }
}

/// Where mxjob-core is, whatever module the set is in.
fn core_path(meta: &Meta) -> darling::Result<Path> {
    let path = path(meta)?;
    if is_absolute(&path) {
        return Ok(path);
    }
    let message = format!(
        "`crate` needs an absolute path: write `crate = ::{}`",
        text(&path)
    );
    Err(mistake(path, message))
}

/// True for a path that means the same wherever it stands.
fn is_absolute(path: &Path) -> bool {
    let first = path.segments.first();
    path.leading_colon.is_some() || first.is_some_and(|first| first.ident == "crate")
}

impl Mode {
    fn read(meta: &Meta) -> darling::Result<Self> {
        let tokens = parentheses(meta, ModeKeys::EXAMPLE)?;
        let (name, keys) = named.parse2(tokens).map_err(|_| {
            let message = format!("`mode` starts with its name: write `{}`", ModeKeys::EXAMPLE);
            mistake(meta, message)
        })?;
        let keys = of_block(meta.path(), keys)?;
        Ok(Self { name, keys })
    }
}

/// A mode's name and what comes after the comma.
fn named(input: ParseStream<'_>) -> syn::Result<(Ident, TokenStream)> {
    let name = input.parse::<Ident>()?.unraw();
    if !input.is_empty() {
        input.parse::<Token![,]>()?;
    }
    Ok((name, input.parse()?))
}
