//! A machine to try `mxjob run` on: a folder with manifests, a home of its own, and a mark on every
//! process, by which what is left of a run is found.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests"
)]
#![allow(dead_code, unused_imports, reason = "each test file uses a part of it")]

pub(crate) mod machine;
pub(crate) mod processes;
pub(crate) mod started;

pub(crate) use machine::{Job, Machine};
pub(crate) use started::{Ended, Started};
