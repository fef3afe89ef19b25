//! What `#[derive(ReplicaRole)]` accepts and what it says about each mistake: see `tests/`.
