//! What stands in the attributes, read without looking at anything else.

pub(crate) mod env;
mod keys;
mod replicas;
pub(crate) mod role;
pub(crate) mod set;
mod value;

pub(crate) use env::{Env, Source};
pub(crate) use role::{RoleKeys, Switch};
pub(crate) use set::{CrdKeys, ModeKeys, SetKeys};
pub(crate) use value::{PortKeys, RoleRef};
