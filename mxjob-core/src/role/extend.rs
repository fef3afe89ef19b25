//! Sets that extend others: their tables joined, and the mistakes that only show when both sets are
//! there. All of it happens while the extending crate is compiled; the derive writes the calls.

use super::message::{Message, same};
use super::table::MOST_ROLES;
use super::{Env, Mode, Role, RoleTable};

pub use super::joined::{Joined, Names, brought, modes, roles};

/// `reference` names a role that the set `base` has.
#[track_caller]
pub const fn known(base: &RoleTable, reference: Reference) {
    if find(base, reference.role).is_none() && !base.roles.is_empty() {
        Message::new("unknown role `", reference.text)
            .and("`: the base set has ")
            .roles(base.roles)
            .fail();
    }
}

/// `source`, an address of the role of `base` that `reference` names, makes sense in a job of `mode`.
/// With `one` it is the address of a single replica.
#[track_caller]
pub const fn address(base: &RoleTable, reference: Reference, source: &str, one: bool, mode: &str) {
    known(base, reference);
    let Some(role) = find(base, reference.role) else {
        return;
    };
    let message = Message::new("`", source).and("(").and(reference.text);
    if !same(role.mode, mode) {
        message
            .and(")` names a role of mode `")
            .and(role.mode)
            .never(mode)
            .fail();
    } else if !role.services && !same(source, "port") {
        message
            .and(")` needs the address of `")
            .and(reference.text)
            .and("`, which has `services = false`: name another role")
            .fail();
    } else if one && role.min == 0 {
        message
            .and(")` needs a replica of `")
            .and(reference.text)
            .and("`, which may have none: write `hosts(")
            .and(reference.text)
            .and(")`")
            .fail();
    }
}

/// A role of `mode` may require the role of `base` that `reference` names.
#[track_caller]
pub const fn requires(base: &RoleTable, reference: Reference, mode: &str) {
    known(base, reference);
    if let Some(role) = find(base, reference.role)
        && !same(role.mode, mode)
    {
        Message::new("`requires` names `", reference.text)
            .and("` of mode `")
            .and(role.mode)
            .never(mode)
            .fail();
    }
}

/// One of `bases` has the mode; `own` are those that the extension declares.
#[track_caller]
pub const fn mode(bases: &[&RoleTable], own: &[&str], mode: &str) {
    let mut message = Message::new("unknown `mode` `", mode).and("`: use one of ");
    let mut separator = "`";
    let mut names = own;
    while let [name, later @ ..] = names {
        message = message.and(separator).and(name).and("`");
        separator = ", `";
        names = later;
    }
    let mut tables = bases;
    while let [table, later @ ..] = tables {
        if mode_of(table, mode).is_some() || table.modes.is_empty() {
            return;
        }
        let mut modes = table.modes;
        while let [one, later @ ..] = modes {
            message = message.and(separator).and(one.name).and("`");
            separator = ", `";
            modes = later;
        }
        tables = later;
    }
    message.fail();
}

/// None of `bases` has a mode of that name.
#[track_caller]
pub const fn new_mode(mut bases: &[&RoleTable], mode: &str) {
    while let [table, later @ ..] = bases {
        if let Some(other) = mode_like(table, mode) {
            let message = Message::new("mode `", mode).and("` is declared by the base set already");
            let message = if same(mode, other.name) {
                message
            } else {
                message.and(", as `").and(other.name).and("`")
            };
            message
                .and(": remove this one, roles may use the base set's")
                .fail();
        }
        bases = later;
    }
}

/// None of `bases` has a role of that name.
#[track_caller]
pub const fn new_role(mut bases: &[&RoleTable], role: &str) {
    while let [table, later @ ..] = bases {
        if let Some(other) = find(table, role) {
            let message = Message::new("role `", role).and("` is in the base set already");
            let message = if same(role, other.name) {
                message
            } else {
                message.and(", as `").and(other.name).and("`")
            };
            message.and(": `rename` this one").fail();
        }
        bases = later;
    }
}

/// The set `base` brings no role and no mode that one of `before` has brought.
#[track_caller]
pub const fn apart(mut before: &[&RoleTable], base: &RoleTable) {
    while let [table, later @ ..] = before {
        let mut roles = base.roles;
        while let [role, later @ ..] = roles {
            if find(table, role.name).is_some() {
                Message::new("role `", role.name)
                    .and("` comes from two base sets, or from one that is extended twice: extend one of them")
                    .fail();
            }
            roles = later;
        }
        let mut modes = base.modes;
        while let [mode, later @ ..] = modes {
            if mode_like(table, mode.name).is_some() {
                Message::new("mode `", mode.name)
                    .and("` comes from two base sets: extend one of them, or give the mode another name in one")
                    .fail();
            }
            modes = later;
        }
        before = later;
    }
}

/// A table has room for the roles of `bases` and for `own` more.
#[track_caller]
pub const fn room(mut bases: &[&RoleTable], own: usize) {
    let mut count = own;
    while let [table, later @ ..] = bases {
        count += table.roles.len();
        bases = later;
    }
    if count > MOST_ROLES {
        Message::new(
            "a set has at most 16 roles, this one has more with those of its base",
            " sets: remove some",
        )
        .fail();
    }
}

/// The variable `name` is set by none of the blocks that a role of `mode` inherits; with `mode_env`
/// it gets the environment of its mode, and `config_env` is the extension's own layout variable.
#[track_caller]
pub const fn variable(
    bases: &[&RoleTable],
    name: &str,
    mode: Option<&str>,
    config_env: Option<&str>,
) {
    let layout = match (config_env, bases) {
        (None, [first, ..]) => first.config_env,
        (own, _) => own,
    };
    if let Some(layout) = layout
        && same(layout, name)
    {
        Message::new("`", name)
            .and("` is the `config_env`, whose value comes from the job: remove it here")
            .fail();
    }
    let Some(mode) = mode else { return };
    let mut tables = bases;
    while let [table, later @ ..] = tables {
        if let Some(mode) = mode_of(table, mode)
            && sets(mode.env, name)
        {
            Message::new("`", name)
                .and("` is set by the `env` of mode `")
                .and(mode.name)
                .and("` too: remove it, or add `mode_env = false` here")
                .fail();
        }
        tables = later;
    }
}

/// No block of `bases` sets the extension's own layout variable.
#[track_caller]
pub const fn layout(mut bases: &[&RoleTable], name: &str) {
    while let [table, later @ ..] = bases {
        if let Some(block) = setting(table, name) {
            Message::new("`config_env` is set by the `env` of ", block.what)
                .and(block.name)
                .and("` of the base set: take another name")
                .fail();
        }
        bases = later;
    }
}

/// No block of `base` sets the layout variable that the extension has from its `first` base set.
#[track_caller]
pub const fn inherited_layout(first: &RoleTable, base: &RoleTable) {
    if let Some(name) = first.config_env
        && let Some(block) = setting(base, name)
    {
        Message::new("`", name)
            .and("` is the `config_env` of the first base set, but the `env` of ")
            .and(block.what)
            .and(block.name)
            .and("` of this one sets it too: write `config_env = \"..\"` with another name in `#[roles(..)]`")
            .fail();
    }
}

/// Whose `env` block it is.
struct Block {
    what: &'static str,
    name: &'static str,
}

/// The first block of a table that sets the variable `name`.
const fn setting(table: &RoleTable, name: &str) -> Option<Block> {
    let mut modes = table.modes;
    while let [mode, later @ ..] = modes {
        if sets(mode.env, name) {
            return Some(Block {
                what: "mode `",
                name: mode.name,
            });
        }
        modes = later;
    }
    let mut roles = table.roles;
    while let [role, later @ ..] = roles {
        if sets(role.env, name) {
            return Some(Block {
                what: "role `",
                name: role.name,
            });
        }
        roles = later;
    }
    None
}

/// A role of a base set, as an extension names it.
#[derive(Clone, Copy, Debug)]
pub struct Reference {
    text: &'static str,
    role: &'static str,
}

impl Reference {
    /// The role `role` of the base set, written `text`, like `Mx::Worker`.
    pub const fn new(text: &'static str, role: &'static str) -> Self {
        Self { text, role }
    }
}

const fn find<'t>(table: &'t RoleTable, name: &str) -> Option<&'t Role> {
    let mut roles = table.roles;
    while let [role, later @ ..] = roles {
        if role.name.eq_ignore_ascii_case(name) {
            return Some(role);
        }
        roles = later;
    }
    None
}

const fn mode_of<'t>(table: &'t RoleTable, name: &str) -> Option<&'t Mode> {
    let mut modes = table.modes;
    while let [mode, later @ ..] = modes {
        if same(mode.name, name) {
            return Some(mode);
        }
        modes = later;
    }
    None
}

/// The mode that is called so but for letter case.
const fn mode_like<'t>(table: &'t RoleTable, name: &str) -> Option<&'t Mode> {
    let mut modes = table.modes;
    while let [mode, later @ ..] = modes {
        if mode.name.eq_ignore_ascii_case(name) {
            return Some(mode);
        }
        modes = later;
    }
    None
}

const fn sets(mut env: &[Env], name: &str) -> bool {
    while let [one, later @ ..] = env {
        if same(one.name, name) {
            return true;
        }
        env = later;
    }
    false
}
