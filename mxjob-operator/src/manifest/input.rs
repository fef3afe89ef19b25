//! Where manifests come from.

use std::fs;
use std::io::{self, ErrorKind, Read as _};
use std::path::Path;

use mxjob_core::problem::Problem;

use super::document::Position;
use super::finding::Finding;

/// The text of a manifest and its name for messages.
#[derive(Clone, Debug)]
pub(crate) struct Input {
    /// The file as the user named it, or `<stdin>`.
    pub(crate) name: String,
    /// Its text.
    pub(crate) text: String,
}

impl Input {
    /// Reads a file; `-` is standard input. What cannot be read is one finding.
    pub(crate) fn read(path: &Path) -> Result<Self, Finding> {
        let stdin = path.as_os_str() == "-";
        let name = if stdin {
            "<stdin>".to_owned()
        } else {
            path.display().to_string()
        };
        let bytes = if stdin { read_stdin() } else { fs::read(path) };
        match bytes {
            Ok(bytes) => Self::of(name, bytes),
            Err(error) => Err(unreadable(&name, &error)),
        }
    }

    /// The bytes of a file of that name.
    pub(crate) fn of(name: String, bytes: Vec<u8>) -> Result<Self, Finding> {
        match String::from_utf8(bytes) {
            // Windows editors put a byte order mark first.
            Ok(text) => Ok(Self {
                name,
                text: text
                    .strip_prefix('\u{feff}')
                    .map(str::to_owned)
                    .unwrap_or(text),
            }),
            Err(error) => Err(not_text(
                &name,
                error.as_bytes(),
                error.utf8_error().valid_up_to(),
            )),
        }
    }
}

fn unreadable(name: &str, error: &io::Error) -> Finding {
    let message = match error.kind() {
        ErrorKind::NotFound => "no such file".to_owned(),
        ErrorKind::IsADirectory => "is a directory: name the files in it".to_owned(),
        ErrorKind::PermissionDenied => "permission denied".to_owned(),
        _ => format!("cannot be read: {error}"),
    };
    Finding::new(name, 0, Position::default(), Problem::error("", message))
}

fn not_text(name: &str, bytes: &[u8], offset: usize) -> Finding {
    let (good, bad) = bytes.split_at(offset);
    let good = String::from_utf8_lossy(good);
    let line = good.matches('\n').count() + 1;
    let column = good.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    let byte = bad.first().copied().unwrap_or_default();
    let message =
        format!("not UTF-8 text (byte 0x{byte:02x} at offset {offset}): save the file as UTF-8");
    Finding::new(
        name,
        0,
        Position::at(line, column),
        Problem::error("", message),
    )
}

fn read_stdin() -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    io::stdin().lock().read_to_end(&mut bytes)?;
    Ok(bytes)
}
