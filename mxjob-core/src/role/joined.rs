//! Roles and modes of several tables in one, put together in constants.

use super::message::same;
use super::table::MOST_ROLES;
use super::{EditPod, Mode, Role, RoleTable};

/// Roles or modes of several sets, one after the other; those that a table has no room for are left
/// out, [`room`](super::extend::room) reports them.
#[derive(Debug)]
pub struct Joined<T> {
    items: [T; MOST_ROLES],
    length: usize,
}

impl<T> Joined<T> {
    /// All of them.
    pub const fn items(&self) -> &[T] {
        self.items.split_at(self.length).0
    }
}

/// The modes of several sets.
pub const fn modes(parts: &[&[Mode]]) -> Joined<Mode> {
    join(Mode::new("", &[]), parts)
}

/// The roles of several sets.
pub const fn roles(parts: &[&[Role]]) -> Joined<Role> {
    join(Role::new("", "", 0, None), parts)
}

/// The roles of a base set that is not the first: with the names of their set where the extension,
/// which has those of `first`, has others. What `own` says is for all roles.
pub const fn brought(first: &RoleTable, base: &RoleTable, own: Names) -> Joined<Role> {
    let mut roles = roles(&[base.roles]);
    let container = !own.container && !same(first.container, base.container);
    let port = !own.port
        && (first.port.number != base.port.number || !same(first.port.name, base.port.name));
    let mut rest = roles.items.as_mut_slice();
    while let [role, later @ ..] = rest {
        if container && role.container.is_none() {
            role.container = Some(base.container);
        }
        if port && role.port.is_none() {
            role.port = Some(base.port);
        }
        rest = later;
    }
    roles
}

/// Which names of its base sets an extension replaces by its own.
#[derive(Clone, Copy, Debug)]
pub struct Names {
    container: bool,
    port: bool,
}

impl Names {
    /// Those that are `true`.
    pub const fn new(container: bool, port: bool) -> Self {
        Self { container, port }
    }
}

/// The roles of `table` with code that changes their pods.
pub(super) const fn edited(table: &RoleTable, edit: EditPod) -> Joined<Role> {
    let mut roles = roles(&[table.roles]);
    let mut rest = roles.items.as_mut_slice();
    while let [role, later @ ..] = rest {
        role.edit_pod = Some(edit);
        rest = later;
    }
    roles
}

const fn join<T: Copy>(blank: T, mut parts: &[&[T]]) -> Joined<T> {
    let mut items = [blank; MOST_ROLES];
    let mut length = 0;
    while let [part, later @ ..] = parts {
        let (_, free) = items.split_at_mut(length);
        let count = if part.len() < free.len() {
            part.len()
        } else {
            free.len()
        };
        free.split_at_mut(count)
            .0
            .copy_from_slice(part.split_at(count).0);
        length += count;
        parts = later;
    }
    Joined { items, length }
}
