//! What a role set is: the trait that `#[derive(ReplicaRole)]` implements and the table behind it.

mod apis;
#[doc(hidden)]
pub mod by_name;
mod crd;
mod custom;
mod env;
#[doc(hidden)]
pub mod extend;
mod joined;
mod list_form;
mod message;
pub mod mx;
mod restart;
pub mod table;

use std::fmt;
use std::hash::Hash;

pub use apis::apis;
pub use crd::{Children, Crd, JobMode, LabelValue, Legacy};
pub use custom::{Custom, Customized, EditPod, Peers};
pub use env::{Env, Source};
pub use list_form::ListForm;
pub use restart::RestartPolicy;
pub use table::{Mode, Port, Role, RoleTable};

/// The place of a role in its [`RoleTable`]: what the planner and the wiring pass around instead of
/// a name. Roles are ordered as they are declared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RoleId(u8);

impl RoleId {
    /// The id of the role at `position` in its table; a table holds at most 16 roles.
    pub const fn new(position: u8) -> Self {
        Self(position)
    }

    /// The position in the table.
    pub const fn position(self) -> usize {
        self.0 as usize
    }

    /// The place in a table where `count` roles come before this one's table.
    #[must_use]
    pub fn after(self, count: usize) -> Self {
        Self(u8::try_from(self.position() + count).unwrap_or(u8::MAX))
    }

    /// The place in the table that starts after `count` roles; `None`: it is one of those.
    pub fn since(self, count: usize) -> Option<Self> {
        let position = self.position().checked_sub(count)?;
        u8::try_from(position).ok().map(Self)
    }
}

/// A set of replica roles, declared as an enum with `#[derive(ReplicaRole)]`.
///
/// The trait is implemented by the derive; everything that mxjob does with a role set reads
/// [`TABLE`](ReplicaRole::TABLE).
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a set of replica roles",
    label = "not a role set",
    note = "declare an enum with `#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, ReplicaRole)]`"
)]
pub trait ReplicaRole: RoleKey {
    /// Everything that was declared about the set, flattened when it extends another one.
    const TABLE: &'static RoleTable;

    /// This role's place in [`TABLE`](ReplicaRole::TABLE).
    fn id(self) -> RoleId;

    /// The role at that place, if there is one.
    fn from_id(id: RoleId) -> Option<Self>;

    /// The role of that name, in any letter case.
    fn parse(name: &str) -> Option<Self> {
        Self::TABLE.find(name).and_then(Self::from_id)
    }

    /// The role's name as manifests spell it, like `Worker`.
    fn name(self) -> &'static str {
        Self::TABLE.role(self.id()).name
    }
}

/// What every set of roles is besides: small values with an order, keys of maps.
///
/// Nobody implements it, whatever has the derives has it. Being one trait it gives one error when
/// some of them are missing.
#[diagnostic::on_unimplemented(
    message = "the role set `{Self}` lacks a derive that `ReplicaRole` needs",
    label = "lacks one of `Clone`, `Copy`, `Debug`, `PartialEq`, `Eq`, `PartialOrd`, `Ord`, `Hash`",
    note = "write `#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, ReplicaRole)]`"
)]
pub trait RoleKey: Copy + fmt::Debug + Ord + Hash + Send + Sync + 'static {}

#[diagnostic::do_not_recommend]
impl<T: Copy + fmt::Debug + Ord + Hash + Send + Sync + 'static> RoleKey for T {}

/// Compiles for what has the derives; the derive of [`ReplicaRole`] mentions it once, so that
/// missing ones are reported in that place and no other.
#[doc(hidden)]
pub const fn assert_role_key<T: RoleKey>() {}

/// No role of the set has that name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown role `{name}`: use one of {known}")]
pub struct UnknownRole {
    name: String,
    known: String,
}

impl UnknownRole {
    /// `name` is none of the roles of `table`.
    pub fn new(name: &str, table: &RoleTable) -> Self {
        let known: Vec<_> = table
            .roles
            .iter()
            .map(|role| format!("`{}`", role.name))
            .collect();
        Self {
            name: name.to_owned(),
            known: known.join(", "),
        }
    }
}
