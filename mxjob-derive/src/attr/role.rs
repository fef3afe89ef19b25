//! `#[role(..)]` on a variant.

use syn::{Attribute, Expr, ExprLit, Ident, Lit, LitStr, Meta, Path};

use super::env::Env;
use super::keys::Keys;
use super::replicas::Replicas;
use super::value::{At, PortKeys, RoleRef};
use crate::errors::Errors;
use crate::suggest;

/// The keys of one role.
#[derive(Debug)]
pub(crate) struct RoleKeys {
    /// True when the variant has a `#[role(..)]`.
    pub(crate) present: bool,
    pub(crate) mode: Option<Ident>,
    pub(crate) replicas: Option<At<Replicas>>,
    pub(crate) default: Option<At<u32>>,
    pub(crate) requires: Vec<RoleRef>,
    pub(crate) restart: Vec<&'static str>,
    /// The keys that are on or off, where they differ from a role without keys.
    pub(crate) switches: Vec<Switch>,
    pub(crate) env: Vec<Env>,
    pub(crate) container: Option<LitStr>,
    pub(crate) port: Option<PortKeys>,
    pub(crate) rename: Option<LitStr>,
    /// The variant holds a base set.
    pub(crate) extend: Option<Path>,
    /// The doc comment.
    pub(crate) doc: String,
}

/// A key that is on or off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Switch {
    /// `optional`
    Optional,
    /// `gpu`
    Gpu,
    /// `label`
    Label,
    /// `mode_env = false`
    WithoutModeEnv,
    /// `services = false`
    WithoutServices,
}

const KNOWN: &[&str] = &[
    "mode",
    "replicas",
    "default",
    "optional",
    "requires",
    "restart",
    "gpu",
    "label",
    "env",
    "mode_env",
    "services",
    "container",
    "port",
    "rename",
    "extend",
];

/// The restart policies, as `mxjob_core::role::RestartPolicy` spells them.
const POLICIES: &[&str] = &["Never", "OnFailure", "Always", "ExitCode"];

impl RoleKeys {
    /// Reads the attributes of a variant.
    pub(crate) fn read(attributes: &[Attribute], errors: &mut Errors) -> Self {
        let present = attributes
            .iter()
            .any(|attribute| attribute.path().is_ident("role"));
        misplaced(attributes, errors);
        let mut keys = Keys::of_attributes(attributes, "role", KNOWN, errors);
        let extend = keys.path("extend");
        if extend.is_some() {
            keys.only(
                "extend",
                "`extend` stands alone, the base set brings the keys of its roles: remove this one",
            );
        }
        keys.flag("extend");
        Self {
            present,
            mode: keys.ident("mode", "mode = Train"),
            replicas: keys.replicas(),
            default: keys.count("default"),
            requires: keys
                .roles("requires")
                .map(|roles| roles.value)
                .unwrap_or_default(),
            restart: policies(&mut keys),
            switches: switches(&mut keys),
            env: keys.env(),
            container: keys.string("container"),
            port: keys.port(),
            rename: keys.string("rename"),
            extend,
            doc: doc(attributes),
        }
    }
}

fn misplaced(attributes: &[Attribute], errors: &mut Errors) {
    for attribute in attributes
        .iter()
        .filter(|attribute| attribute.path().is_ident("roles"))
    {
        errors.at(
            attribute,
            "`roles` is for the enum: write `#[role(..)]` on a variant",
        );
    }
}

fn switches(keys: &mut Keys<'_>) -> Vec<Switch> {
    let flags = [
        ("optional", Switch::Optional),
        ("gpu", Switch::Gpu),
        ("label", Switch::Label),
    ];
    let blocks = [
        ("mode_env", Switch::WithoutModeEnv),
        ("services", Switch::WithoutServices),
    ];
    let mut switches = Vec::new();
    switches.extend(flags.into_iter().filter(|(key, _)| keys.flag(key)));
    switches.extend(
        blocks
            .into_iter()
            .filter(|(key, _)| keys.boolean(key) == Some(false)),
    );
    switches.into_iter().map(|(_, switch)| switch).collect()
}

fn policies(keys: &mut Keys<'_>) -> Vec<&'static str> {
    let Some(list) = keys.list("restart", "restart = [Never, OnFailure]") else {
        return Vec::new();
    };
    if list.value.is_empty() {
        keys.errors.at(
            list.tokens,
            "`restart` allows no policy: name at least one, the default first",
        );
    }
    let mut policies = Vec::new();
    for value in list.value {
        let name = match &value {
            Expr::Path(path) => path.path.get_ident().map(ToString::to_string),
            _ => None,
        };
        let known = POLICIES
            .iter()
            .find(|known| name.as_deref() == Some(**known));
        match known {
            Some(policy) if policies.contains(policy) => {
                keys.errors.at(
                    value,
                    format!("`{policy}` is in `restart` twice: remove one"),
                );
            }
            Some(policy) => policies.push(*policy),
            None => {
                let message = format!(
                    "unknown policy in `restart`: use one of {}",
                    suggest::list(POLICIES)
                );
                keys.errors.at(value, message);
            }
        }
    }
    policies
}

/// The lines of the doc comment as one line.
fn doc(attributes: &[Attribute]) -> String {
    let lines = attributes
        .iter()
        .filter_map(|attribute| match &attribute.meta {
            Meta::NameValue(pair) if pair.path.is_ident("doc") => match &pair.value {
                Expr::Lit(ExprLit {
                    lit: Lit::Str(text),
                    ..
                }) => Some(text.value()),
                _ => None,
            },
            _ => None,
        });
    let words = lines.collect::<Vec<_>>().join("\n");
    words
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect::<Vec<_>>()
        .join(" ")
}
