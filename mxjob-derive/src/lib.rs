//! `#[derive(ReplicaRole)]`: the replica roles of a training job, declared as an enum.
//!
//! The derive knows nothing about jobs: it writes the declaration down as a constant
//! `mxjob_core::role::RoleTable`, which mxjob-core reads. It works in stages: `attr` reads the
//! attributes, `model` puts them beside the variants, `check` compares the parts, `expand` writes
//! the impls, and `fallback` takes its place when there was a mistake.

mod attr;
mod check;
mod derive;
mod errors;
mod expand;
mod fallback;
mod model;
mod suggest;
#[cfg(test)]
mod tests;

/// Implements `mxjob_core::ReplicaRole` and `Display` for an enum whose variants are replica roles.
///
/// On the enum `#[roles(..)]` takes `container`, `port(name, number)`, `config_env`,
/// `mode(Name, chief = [..], workers = [..], fixed_membership, env(..))` (repeatable),
/// `crd(group, kind, plural, singular, short_names)` and `crate = ::path`.
///
/// On a variant `#[role(..)]` takes `mode`, `replicas` (`1`, `1..`, `0..=4`), `default`, `optional`,
/// `requires = [..]`, `restart = [..]`, `gpu`, `label`, `env(..)`, `mode_env = false`,
/// `services = false`, `container`, `port(..)`, `rename` and `extend`.
///
/// A variable of `env(..)` is `"text"`, `default("text")`, `role`, `index`, `count(Role)`,
/// `host(Role)`, `port(Role)`, `hosts(Role)` or `field("metadata.namespace")`.
#[proc_macro_derive(ReplicaRole, attributes(role, roles))]
pub fn replica_role(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    derive::replica_role(input.into()).into()
}
