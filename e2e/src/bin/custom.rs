//! The program `mxjob` with the roles of `examples/custom-role`.

use std::process::ExitCode;

fn main() -> ExitCode {
    mxjob_operator::main::<roles::MyRole>()
}
