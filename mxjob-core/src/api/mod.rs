//! The wire types, one folder a version.

pub mod v1;
