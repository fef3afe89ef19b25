//! The two ways in which mxjob starts itself: as the shim in front of every child, and as the guard
//! of a run. Both are looked for before the command line is parsed, so that they cost next to nothing.

use std::process::ExitCode;

use super::{exec, guard};

/// Runs a hidden entry when this process was started as one; `None`: it was started by a person.
pub(crate) fn intercept() -> Option<ExitCode> {
    let mut args = std::env::args_os().skip(1);
    match args.next()?.to_str()? {
        exec::ENTRY => Some(exec::enter(args)),
        guard::ENTRY => Some(guard::enter(args)),
        _ => None,
    }
}
