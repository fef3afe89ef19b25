//! mxjob with our roles: the operator, and every other command.

use std::process::ExitCode;

fn main() -> ExitCode {
    mxjob_operator::main::<roles::MyRole>()
}
