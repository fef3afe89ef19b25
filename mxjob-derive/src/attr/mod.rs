//! What stands in the attributes, read without looking at anything else. darling takes the keys to
//! their fields; what it has no words for, or cannot underline, is read by functions of our own.

pub(crate) mod env;
pub(crate) mod keys;
mod replicas;
pub(crate) mod role;
pub(crate) mod set;
mod value;

pub(crate) use env::{Env, Source};
pub(crate) use replicas::Replicas;
pub(crate) use role::RoleKeys;
pub(crate) use set::{CrdKeys, Mode, SetKeys};
pub(crate) use value::{At, PortKeys, RoleRef};
