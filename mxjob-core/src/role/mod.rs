//! What a role set is: the trait that `#[derive(ReplicaRole)]` implements and the table behind it.

pub mod mx;
pub mod table;

use std::fmt;
use std::hash::Hash;

pub use table::{Crd, Env, Mode, Port, RestartPolicy, Role, RoleTable, Source};

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
pub trait ReplicaRole: Copy + fmt::Debug + Ord + Hash + Send + Sync + 'static {
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
