//! What goes to standard output.

use std::io::{self, ErrorKind, Write as _};
use std::process::ExitCode;

use super::UNUSABLE;

/// Prints a text. A reader that has gone, like `head`, is no mistake.
pub(super) fn print(text: &str) -> ExitCode {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            eprintln!("error: cannot write to standard output: {error}");
            ExitCode::from(UNUSABLE)
        }
        _ => ExitCode::SUCCESS,
    }
}
