//! The MXJob operator and the program `mxjob`, generic over the role set: [`main`] is the whole
//! program for any enum with `#[derive(ReplicaRole)]`.
//!
//! ```no_run
//! fn main() -> std::process::ExitCode {
//!     mxjob_operator::main::<mxjob_core::MxRole>()
//! }
//! ```

mod cli;
mod controller;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
mod local;
mod manifest;
mod rights;
mod telemetry;
mod webhook;

use std::process::ExitCode;

use mxjob_core::ReplicaRole;

/// The program `mxjob` for the role set `R`. Exit codes: 0 done, 1 the job or the check failed,
/// 2 wrong usage or input that cannot be used, 130 interrupted.
pub fn main<R: ReplicaRole>() -> ExitCode {
    // `mxjob run` starts this program again for its own processes; they cost next to nothing.
    local::intercept().unwrap_or_else(cli::run::<R>)
}
