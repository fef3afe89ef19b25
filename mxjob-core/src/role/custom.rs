//! What a table cannot say about a role: code, written by hand beside the derive.

use k8s_openapi::api::core::v1::PodSpec;

use super::joined::edited;
use super::{ReplicaRole, RoleId, RoleTable};

/// What a table cannot say about the roles of a set. Each method has a default that does nothing.
///
/// Implement it beside the derive, and name the set [`Customized`] where a role set is asked for,
/// as in `mxjob_operator::main::<Customized<MyRole>>()`. An extension that holds a `Customized` set
/// keeps what it does; its own code comes after that.
///
/// ```
/// use mxjob_core::k8s_openapi::api::core::v1::PodSpec;
/// use mxjob_core::role::{Custom, Peers};
/// use mxjob_core::MxRole;
/// # use mxjob_core::ReplicaRole;
/// # #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, ReplicaRole)]
/// # enum MyRole { #[role(extend)] Mx(MxRole) }
///
/// impl Custom for MyRole {
///     fn edit_pod(self, pod: &mut PodSpec, _: &dyn Peers) {
///         if self == MyRole::Mx(MxRole::Server) {
///             pod.priority_class_name.get_or_insert("parameters".to_owned());
///         }
///     }
/// }
/// ```
pub trait Custom: ReplicaRole {
    /// Changes what a replica of this role runs. `pod` is what the manifest's template says; the
    /// operator puts its own on top afterwards: environment, names, labels, the restart policy.
    /// Same job, same result: the operator may ask again for a pod that it has made before.
    fn edit_pod(self, pod: &mut PodSpec, peers: &dyn Peers) {
        let _ = (pod, peers);
    }
}

/// A replica and the others of its job.
pub trait Peers {
    /// Name of the job.
    fn job(&self) -> &str;

    /// Index of the replica in its role, from 0.
    fn index(&self) -> u32;

    /// Number of replicas of a role; 0 when the job does not have it.
    fn count(&self, role: RoleId) -> u32;

    /// Host and port of a replica of a role; `None` when the job has no such replica.
    fn address(&self, role: RoleId, index: u32) -> Option<(String, u16)>;
}

/// The role set `R` with what [`Custom`] adds to its table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Customized<R>(pub R);

impl<R: Custom> ReplicaRole for Customized<R> {
    const TABLE: &'static RoleTable = &RoleTable {
        roles: const { &edited(R::TABLE, EditPod::of::<R>()) }.items(),
        ..*R::TABLE
    };

    fn id(self) -> RoleId {
        self.0.id()
    }

    fn from_id(id: RoleId) -> Option<Self> {
        R::from_id(id).map(Self)
    }
}

/// [`Custom::edit_pod`] of a set that is not known by its type.
#[derive(Clone, Copy, Debug)]
pub struct EditPod {
    /// The set's own table: it may be part of another one now, with other ids.
    pub(crate) table: &'static RoleTable,
    pub(crate) edit: fn(RoleId, &mut PodSpec, &dyn Peers),
}

impl EditPod {
    /// What `R` does to pods.
    pub const fn of<R: Custom>() -> Self {
        Self {
            table: R::TABLE,
            edit: edit_pod::<R>,
        }
    }
}

fn edit_pod<R: Custom>(role: RoleId, pod: &mut PodSpec, peers: &dyn Peers) {
    if let Some(role) = R::from_id(role) {
        role.edit_pod(pod, peers);
    }
}
