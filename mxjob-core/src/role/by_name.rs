//! A role as its name: what the derive's impls of other crates' traits come to.

pub use schemars::{JsonSchema, Schema, SchemaGenerator};
pub use serde::{Deserialize, Deserializer, Serialize, Serializer};

use serde::de::Error;

use super::{ReplicaRole, UnknownRole};

/// What names of schemas are.
pub type SchemaName = std::borrow::Cow<'static, str>;

/// The role of that name, in any letter case.
pub fn parse<R: ReplicaRole>(name: &str) -> Result<R, UnknownRole> {
    R::parse(name).ok_or_else(|| UnknownRole::new(name, R::TABLE))
}

/// Writes the role's name.
pub fn serialize<R: ReplicaRole, S: Serializer>(role: R, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(role.name())
}

/// Reads a role's name, in any letter case.
pub fn deserialize<'de, R: ReplicaRole, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<R, D::Error> {
    let name = SchemaName::deserialize(deserializer)?;
    parse(&name).map_err(D::Error::custom)
}

/// The names of the set.
pub fn schema<R: ReplicaRole>() -> Schema {
    let names: Vec<_> = R::TABLE.roles.iter().map(|role| role.name).collect();
    schemars::json_schema!({"type": "string", "enum": names})
}
