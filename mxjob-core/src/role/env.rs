//! Declared environment variables.

/// One environment variable of a replica.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Env {
    /// Name of the variable.
    pub name: &'static str,
    /// Where its value comes from.
    pub source: Source,
}

impl Env {
    /// A variable of that name and source.
    pub const fn new(name: &'static str, source: Source) -> Self {
        Self { name, source }
    }
}

/// Where a variable's value comes from. Roles are given by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Source {
    /// A fixed text; wins over the user's own value.
    Literal(&'static str),
    /// A fixed text; the user's own value wins.
    Default(&'static str),
    /// The replica's role, lower-case.
    Role,
    /// The replica's index.
    Index,
    /// Number of replicas of a role; 0 when the job does not have it.
    Count(&'static str),
    /// Address of a role's replica 0.
    Host(&'static str),
    /// Port of a role's replicas.
    Port(&'static str),
    /// `host:port` of every replica of a role, comma-separated, in index order.
    Hosts(&'static str),
    /// A field of the pod, by the downward API, like `metadata.namespace`.
    Field(&'static str),
}

impl Source {
    /// The role whose replicas must exist for the value to make sense.
    pub const fn needs(self) -> Option<&'static str> {
        match self {
            Self::Host(role) | Self::Port(role) | Self::Hosts(role) => Some(role),
            _ => None,
        }
    }
}
