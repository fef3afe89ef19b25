//! Names: what may be one, and that no two are the same.

use syn::LitStr;

use crate::attr::env::is_env_name;
use crate::attr::{CrdKeys, PortKeys};
use crate::errors::Errors;
use crate::model::{Role, RoleSet};

/// Longest DNS label: RFC 1035, section 2.3.4.
const DNS_LABEL: usize = 63;

/// What a pod's name `<job>-<role>-<index>` needs besides the role: a letter, a digit, two dashes.
const BESIDE_ROLE: usize = 4;

/// Most roles of a table in mxjob-core.
const MOST_ROLES: usize = 16;

/// Role names: part of a DNS label each, and different ones.
pub(super) fn of_roles(set: &RoleSet, errors: &mut Errors) {
    for (position, role) in set.roles.iter().enumerate() {
        of_role(role, errors);
        let mut before = set.roles.iter().take(position);
        if let Some(other) = before.find(|other| other.name.eq_ignore_ascii_case(&role.name)) {
            let (name, other) = (&role.name, &other.name);
            let but = if name == other {
                ""
            } else {
                " but for letter case"
            };
            errors.at(
                role.named_by(),
                format!("roles `{other}` and `{name}` are the same{but}: `rename` one"),
            );
        }
    }
    if let Some(role) = set.roles.get(MOST_ROLES) {
        let count = set.roles.len();
        errors.at(
            &role.ident,
            format!("a set has at most {MOST_ROLES} roles, this one has {count}: remove some"),
        );
    }
}

fn of_role(role: &Role, errors: &mut Errors) {
    let name = &role.name;
    let plain = name.starts_with(|first: char| first.is_ascii_alphabetic())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let most = DNS_LABEL - BESIDE_ROLE;
    if plain && name.len() > most {
        let message = format!(
            "role `{name}` leaves no room in a DNS label, `<job>-<role>-<index>` has {DNS_LABEL} characters: \
             use at most {most}"
        );
        errors.at(role.named_by(), message);
    } else if !plain && role.keys.rename.is_some() {
        let message =
            format!("`rename` to `{name}` is no role name: use letters and digits, a letter first");
        errors.at(role.named_by(), message);
    } else if !plain {
        let message = format!(
            "role `{name}` cannot be part of a DNS label: use letters and digits, or add `rename = \"..\"`"
        );
        errors.at(role.named_by(), message);
    }
}

/// Names of containers, ports, the layout variable and the custom resource.
pub(super) fn of_set(set: &RoleSet, errors: &mut Errors) {
    let roles = || set.roles.iter().map(|role| &role.keys);
    for container in set
        .keys
        .container
        .iter()
        .chain(roles().filter_map(|keys| keys.container.as_ref()))
    {
        label("container", container, DNS_LABEL, errors);
    }
    for port in set
        .keys
        .port
        .iter()
        .chain(roles().filter_map(|keys| keys.port.as_ref()))
    {
        of_port(port, errors);
    }
    if let Some(name) = set
        .keys
        .config_env
        .as_ref()
        .filter(|name| !is_env_name(&name.value()))
    {
        let message = format!(
            "`config_env` is no name for an environment variable, `{}`: use capital letters, digits and `_`",
            name.value()
        );
        errors.at(name, message);
    }
    if let Some(crd) = &set.keys.crd {
        of_crd(crd, errors);
    }
}

/// Port names are IANA service names: RFC 6335, section 5.1.
fn of_port(port: &PortKeys, errors: &mut Errors) {
    let name = port.name.value();
    if !is_label(&name, 15)
        || name.contains("--")
        || !name.bytes().any(|byte| byte.is_ascii_lowercase())
    {
        let message = format!(
            "`{name}` is no `name` of a port: use at most 15 lower-case letters, digits and single inner `-`"
        );
        errors.at(&port.name, message);
    }
}

fn of_crd(crd: &CrdKeys, errors: &mut Errors) {
    let group = crd.group.value();
    if !group.contains('.') || !group.split('.').all(|part| is_label(part, DNS_LABEL)) {
        errors.at(
            &crd.group,
            format!("`group` is no domain, `{group}`: write one like `example.org`"),
        );
    }
    let kind = crd.kind.value();
    if !is_label(&kind.to_ascii_lowercase(), DNS_LABEL)
        || !kind.starts_with(|first: char| first.is_ascii_uppercase())
    {
        errors.at(
            &crd.kind,
            format!("`kind` is no name of a resource, `{kind}`: write one like `TrainJob`"),
        );
    }
    let named = [
        ("plural", crd.plural.as_ref()),
        ("singular", crd.singular.as_ref()),
    ];
    let short = crd.short_names.iter().map(|name| ("short_names", name));
    for (key, name) in named
        .into_iter()
        .filter_map(|(key, name)| Some((key, name?)))
        .chain(short)
    {
        label(key, name, DNS_LABEL, errors);
    }
}

fn label(key: &str, name: &LitStr, most: usize, errors: &mut Errors) {
    let text = name.value();
    if !is_label(&text, most) {
        let message = format!(
            "`{key}` is no DNS label, `{text}`: use at most {most} lower-case letters, digits and inner `-`"
        );
        errors.at(name, message);
    }
}

/// True for a DNS label: RFC 1123, section 2.1, in lower case.
fn is_label(name: &str, most: usize) -> bool {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (1..=most).contains(&name.len())
        && name.bytes().all(plain)
        && !name.starts_with('-')
        && !name.ends_with('-')
}
