//! The operator of render jobs, and every other command of mxjob, for them.

mod roles;

use std::process::ExitCode;

fn main() -> ExitCode {
    mxjob_operator::main::<roles::RenderRole>()
}
