// Nothing that the derive writes raises a lint.
#![deny(warnings, missing_docs, clippy::pedantic, clippy::nursery)]
#![deny(clippy::indexing_slicing, clippy::unwrap_used, unreachable_pub, unused_qualifications)]
#![deny(missing_debug_implementations, single_use_lifetimes, trivial_casts, unused_results)]
#![forbid(unsafe_code)]
//! A crate with strict lints.

use mxjob_core::ReplicaRole;

/// Roles with every key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, ReplicaRole)]
#[roles(
    container = "main",
    port(name = "job-port", number = 9091),
    config_env = "JOB_CONFIG",
    mode(Train, chief = [Worker], workers = [Worker], fixed_membership, env(
        A = port(Worker),
        B = host(Worker),
        C = hosts(Worker),
        D = count(Server),
        E = role,
        F = index,
        G = "text",
        H = default("text"),
        I = field("metadata.labels['zone']"),
    )),
    crd(group = "example.org", kind = "Job", plural = "jobs", singular = "job", short_names = ["j"]),
    crate = ::mxjob_core,
)]
pub enum Roles {
    /// Works.
    #[role(mode = Train, replicas = 1..=8, default = 2, gpu, label, restart = [OnFailure, Never])]
    Worker,
    /// Serves
    /// parameters.
    ///
    /// To all.
    #[role(
        mode = Train, replicas = 0..4, optional, requires = [Worker], mode_env = false, services = false,
        container = "server", port(name = "ps", number = 1), rename = "PS", env(A = "b"),
    )]
    Server,
    /// Was needed once.
    #[deprecated]
    #[role(mode = Train, replicas = ..=1)]
    Old,
}

fn main() {
    let server = Roles::TABLE.role(Roles::Server.id());
    assert_eq!(server.doc, "Serves parameters. To all.");
    assert_eq!((server.name, server.min, server.max), ("PS", 0, Some(3)));
    assert_eq!(server.port.map(|port| port.number), Some(1));
    assert!(!server.mode_env && !server.services);
    let worker = Roles::TABLE.role(Roles::Worker.id());
    assert_eq!((worker.min, worker.max, worker.default), (1, Some(8), 2));
}
