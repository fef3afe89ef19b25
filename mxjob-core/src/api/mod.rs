//! The wire types, one folder a version.

pub mod v1;
pub mod v1alpha1;
pub mod v1beta1;
mod version;

pub use version::Version;
