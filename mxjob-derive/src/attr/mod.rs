//! What stands in the attributes, read without looking at anything else: darling takes the keys to
//! their fields, by functions that have words of our own for what is not a key's value.

pub(crate) mod env;
pub(crate) mod keys;
mod replicas;
pub(crate) mod role;
pub(crate) mod set;
mod value;

pub(crate) use env::{Env, Source};
pub(crate) use role::RoleKeys;
pub(crate) use set::{CrdKeys, Mode, SetKeys};
pub(crate) use value::{PortKeys, RoleRef};
