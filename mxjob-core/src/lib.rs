//! MXJob without I/O: the replica roles, the wire types, the schema, the checks, the wiring, the
//! planner and (feature `model`) a model cluster.
//!
//! A job's roles are declared once, as an enum with [`ReplicaRole`]. Everything here is a plain
//! function of the table that the derive makes of it; no function knows a role by name, opens a
//! file or a socket, or reads a clock.

// The derive names this crate by its public path, also from inside.
extern crate self as mxjob_core;

pub mod accelerators;
pub mod api;
pub mod check;
pub mod conversion;
mod exit_codes;
pub mod job;
#[cfg(feature = "model")]
pub mod model;
pub mod plan;
pub mod problem;
pub mod role;
pub mod schema;
pub mod wiring;

pub use api::v1::MXJob;
pub use exit_codes::ExitCodes;
pub use job::Job;
pub use k8s_openapi;
pub use mxjob_derive::ReplicaRole;
pub use problem::{Problem, Severity};
pub use role::mx::MxRole;
pub use role::{Custom, Customized, ReplicaRole, RoleId, RoleTable};
pub use schema::{Crds, crds};
