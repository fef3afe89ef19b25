//! `#[role(..)]` on a variant.

use darling::FromMeta;
use darling::util::Flag;
use syn::{Attribute, Expr, ExprLit, Ident, Lit, LitStr, Meta};

use super::env::{Env, variables};
use super::keys::{Keys, block, of_attributes};
use super::replicas::{Replicas, replica_count, replica_range};
use super::value::{At, PortKeys, RoleRef, boolean, flag, list, name, roles, string};
use crate::errors::{Errors, mistake};
use crate::suggest;

/// The keys of one role.
#[derive(Debug, Default, FromMeta)]
#[darling(default)]
pub(crate) struct RoleKeys {
    /// True when the variant has a `#[role(..)]`.
    #[darling(skip)]
    pub(crate) present: bool,
    /// The doc comment.
    #[darling(skip)]
    pub(crate) doc: String,
    #[darling(with = name, map = Some)]
    pub(crate) mode: Option<Ident>,
    #[darling(with = replica_range, map = Some)]
    pub(crate) replicas: Option<At<Replicas>>,
    #[darling(with = replica_count, map = Some)]
    pub(crate) default: Option<At<u32>>,
    #[darling(with = flag)]
    pub(crate) optional: Flag,
    #[darling(with = roles, map = At::into_value)]
    pub(crate) requires: Vec<RoleRef>,
    #[darling(with = policies)]
    pub(crate) restart: Vec<&'static str>,
    #[darling(with = flag)]
    pub(crate) gpu: Flag,
    #[darling(with = flag)]
    pub(crate) label: Flag,
    #[darling(with = variables)]
    pub(crate) env: Vec<Env>,
    #[darling(with = boolean, map = Some)]
    pub(crate) mode_env: Option<bool>,
    #[darling(with = boolean, map = Some)]
    pub(crate) services: Option<bool>,
    #[darling(with = string, map = Some)]
    pub(crate) container: Option<LitStr>,
    #[darling(with = block, map = Some)]
    pub(crate) port: Option<PortKeys>,
    #[darling(with = string, map = Some)]
    pub(crate) rename: Option<LitStr>,
    /// The variant holds a base set.
    #[darling(with = flag)]
    pub(crate) extend: Flag,
}

impl Keys for RoleKeys {
    const OWNER: &'static str = "role";
    const KNOWN: &'static [&'static str] = &[
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
}

/// The restart policies, as `mxjob_core::role::RestartPolicy` spells them.
const POLICIES: &[&str] = &["Never", "OnFailure", "Always", "ExitCode"];

impl RoleKeys {
    /// Reads the attributes of a variant. Of keys one of which is not what it needs there remains
    /// whether the variant is a role or a base set.
    pub(crate) fn read(attributes: &[Attribute], errors: &mut Errors) -> Self {
        let called = |name| move |attribute: &&Attribute| attribute.path().is_ident(name);
        for attribute in attributes.iter().filter(called("roles")) {
            let message = "`roles` is for the enum: write `#[role(..)]` on a variant";
            errors.at(attribute, message);
        }
        let mut metas = of_attributes::<Self>(attributes, errors);
        let is_extend = |meta: &Meta| meta.path().is_ident("extend");
        let mut only = Self::default();
        if metas.iter().any(is_extend) {
            only.extend = Flag::present();
            for other in metas.extract_if(.., |meta| !is_extend(meta)) {
                let message = "`extend` stands alone, the base set brings the keys of its roles: remove this one";
                errors.at(other, message);
            }
        }
        let keys = errors.taken(Self::of(metas)).unwrap_or(only);
        Self {
            present: attributes.iter().any(|one| called("role")(&one)),
            doc: doc(attributes),
            ..keys
        }
    }
}

fn policies(meta: &Meta) -> darling::Result<Vec<&'static str>> {
    let read = |value: Expr| {
        let name = match &value {
            Expr::Path(path) => path.path.get_ident().map(ToString::to_string),
            _ => None,
        };
        let mut known = POLICIES.iter();
        let known = known.find(|known| name.as_deref() == Some(**known));
        known.map(|policy| (*policy, value.clone())).ok_or_else(|| {
            let known = suggest::list(POLICIES);
            let message = format!("unknown policy in `restart`: use one of {known}");
            mistake(value, message)
        })
    };
    let list = list(meta, "[Never, OnFailure]", read)?;
    let mut errors = darling::Error::accumulator();
    if list.value.is_empty() {
        let message = "`restart` allows no policy: name at least one, the default first";
        errors.push(mistake(list.tokens, message));
    }
    let mut policies = Vec::new();
    for (policy, value) in list.value {
        if policies.contains(&policy) {
            let message = format!("`{policy}` is in `restart` twice: remove one");
            errors.push(mistake(value, message));
        }
        policies.push(policy);
    }
    errors.finish_with(policies)
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
