//! The program `mxjob` for MXNet's roles.

use std::process::ExitCode;

fn main() -> ExitCode {
    mxjob_operator::main::<mxjob_core::MxRole>()
}
