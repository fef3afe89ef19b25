//! The program `mxjob`, for tests that need it as a process.

use std::process::ExitCode;

fn main() -> ExitCode {
    mxjob_operator::main::<mxjob_core::MxRole>()
}
