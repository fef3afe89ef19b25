//! Where manifests come from.

use std::io::{self, ErrorKind, Read as _};
use std::path::Path;
use std::{fmt, fs};

/// The text of a manifest and its name for messages.
#[derive(Clone, Debug)]
pub(crate) struct Input {
    /// The file as the user named it, or `<stdin>`.
    pub(crate) name: String,
    /// Its text.
    pub(crate) text: String,
}

/// Why a manifest cannot be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum InputError {
    /// The system does not give it.
    #[error("{name}: cannot be read: {}", Reason(source))]
    Unreadable {
        /// The file.
        name: String,
        /// What the system says.
        source: io::Error,
    },
    /// It is a folder.
    #[error("{name}: is a directory: name the files in it")]
    Directory {
        /// The folder.
        name: String,
    },
    /// It is not text.
    #[error(
        "{name}:{line}:{column}: is not UTF-8 text: byte 0x{byte:02x} at offset {offset}: save the file as UTF-8"
    )]
    NotText {
        /// The file.
        name: String,
        /// Line of the first bad byte, from 1.
        line: usize,
        /// Its character in that line, from 1.
        column: usize,
        /// Its offset in the file, from 0.
        offset: usize,
        /// The byte itself.
        byte: u8,
    },
}

/// An error of the system without its number.
struct Reason<'a>(&'a io::Error);

impl fmt::Display for Reason<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.kind() {
            ErrorKind::NotFound => out.write_str("no such file"),
            ErrorKind::PermissionDenied => out.write_str("permission denied"),
            _ => self.0.fmt(out),
        }
    }
}

impl Input {
    /// Reads a file; `-` is standard input.
    pub(crate) fn read(path: &Path) -> Result<Self, InputError> {
        let stdin = path.as_os_str() == "-";
        let name = if stdin { "<stdin>".to_owned() } else { path.display().to_string() };
        let bytes = if stdin { read_stdin() } else { fs::read(path) };
        match bytes {
            Ok(bytes) => Self::of(name, bytes),
            Err(error) if error.kind() == ErrorKind::IsADirectory => Err(InputError::Directory { name }),
            Err(source) => Err(InputError::Unreadable { name, source }),
        }
    }

    fn of(name: String, bytes: Vec<u8>) -> Result<Self, InputError> {
        let text = String::from_utf8(bytes).map_err(|error| {
            let offset = error.utf8_error().valid_up_to();
            let (good, bad) = error.as_bytes().split_at(offset);
            let good = String::from_utf8_lossy(good);
            let last = good.rsplit('\n').next().unwrap_or_default();
            InputError::NotText {
                name: name.clone(),
                line: good.matches('\n').count() + 1,
                column: last.chars().count() + 1,
                offset,
                byte: bad.first().copied().unwrap_or_default(),
            }
        })?;
        // Windows editors put a byte order mark first.
        let text = text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text);
        Ok(Self { name, text })
    }
}

fn read_stdin() -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    io::stdin().lock().read_to_end(&mut bytes)?;
    Ok(bytes)
}
