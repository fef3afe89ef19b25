//! Why there is no Python for a run.

use std::fmt::Write;
use std::io;
use std::path::PathBuf;

/// Why there is no Python for a run. Nothing was started.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PythonError {
    /// The requirements file, or one that it includes, cannot be read.
    #[error("requirements file {}: {source}; the manifest's annotation {annotation} names it", file.display(), annotation = super::ANNOTATION)]
    Requirements {
        /// The file.
        file: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The environment says of no place for caches.
    #[error("no place for the Python environment: set HOME or XDG_CACHE_HOME")]
    NoHome,
    /// The cache directory cannot be written to.
    #[error("cannot write to {}: {source}; set XDG_CACHE_HOME to a directory with room for the Python environment", path.display())]
    Cache {
        /// Where.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The Python that the user named is not usable.
    #[error("--python {}: {why}", python.display())]
    Named {
        /// What was named.
        python: PathBuf,
        /// Why it is not usable.
        why: String,
    },
    /// No Python was found that is usable.
    #[error(
        "no usable Python: it must be 3.8 to 3.12 and have venv and pip; looked at{}",
        list(rejected)
    )]
    NoPython {
        /// What was looked at, and what is wrong with it.
        rejected: Vec<(String, String)>,
    },
    /// Installing the requirements failed.
    #[error("{installer} could not install {}: {cause}{}", requirements.display(), indented(last_lines))]
    Install {
        /// `pip` or `uv`.
        installer: &'static str,
        /// The file.
        requirements: PathBuf,
        /// The likely cause and what to do.
        cause: String,
        /// What the installer said last.
        last_lines: Vec<String>,
    },
    /// A process could not be started.
    #[error("cannot start a process: {0}")]
    Start(#[from] io::Error),
}

/// What to do where no Python is usable.
const FIX: &str = "install one (Debian, Ubuntu: apt install python3-venv; anywhere: uv, https://docs.astral.sh/uv), \
                   or name one with --python";

fn list(rejected: &[(String, String)]) -> String {
    let width = rejected
        .iter()
        .map(|(what, _)| what.chars().count())
        .max()
        .unwrap_or(0);
    let mut text = String::new();
    for (what, why) in rejected {
        let _ = write!(text, "\n  {what:width$}  {why}");
    }
    text + "\n" + FIX
}

fn indented(lines: &[String]) -> String {
    lines
        .iter()
        .fold(String::new(), |text, line| text + "\n  " + line)
}
