//! Makes a virtual environment and installs into it, with venv and pip, or with uv.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::PythonError;
use super::find::Python;
use super::pip;
use super::tool::{Tool, launch};

/// Makes an empty virtual environment; the inner error says why this Python cannot.
pub(super) async fn create(
    python: &Python,
    folder: &Path,
    tool: &mut Tool<'_>,
) -> Result<Result<(), String>, PythonError> {
    tool.step(
        &format!("making an environment with Python {}", python.version),
        true,
    );
    let folder = folder.as_os_str();
    let args: Vec<&OsStr> = if python.is_uv {
        vec![
            "venv".as_ref(),
            "--python".as_ref(),
            python.version.as_ref(),
            folder,
        ]
    } else {
        vec!["-m".as_ref(), "venv".as_ref(), folder]
    };
    let outcome = tool
        .run(&launch(&python.program, &args, "/".into()), None, |_| None)
        .await?;
    let why = || match pip::cause(&outcome.last_lines) {
        Some(cause) => cause.to_owned(),
        None => format!(
            "could not make an environment: {}",
            outcome.last_lines.join(" / ")
        ),
    };
    Ok(if outcome.is_success() {
        Ok(())
    } else {
        Err(why())
    })
}

/// Installs the requirements.
pub(super) async fn install(
    python: &Python,
    folder: &Path,
    requirements: &Path,
    tool: &mut Tool<'_>,
) -> Result<(), PythonError> {
    let inside = folder.join("bin/python");
    let file = requirements
        .canonicalize()
        .unwrap_or_else(|_| requirements.to_owned());
    let (program, args): (&Path, Vec<&OsStr>) = if python.is_uv {
        let args = ["pip", "install", "--python"].map(OsStr::new);
        (
            &python.program,
            args.into_iter()
                .chain([inside.as_os_str(), "-r".as_ref(), file.as_os_str()])
                .collect(),
        )
    } else {
        let args = [
            "-m",
            "pip",
            "install",
            "--disable-pip-version-check",
            "--no-input",
            "-r",
        ]
        .map(OsStr::new);
        (
            &inside,
            args.into_iter().chain([file.as_os_str()]).collect(),
        )
    };
    // Paths in the file are seen from where it stands.
    let dir = file
        .parent()
        .map_or_else(|| PathBuf::from("/"), Path::to_owned);
    tool.step("installing what it needs", true);
    let outcome = tool
        .run(&launch(program, &args, dir), None, pip::step)
        .await?;
    if outcome.is_success() {
        return Ok(());
    }
    let unknown = "its last lines say why; fix that and run again";
    Err(PythonError::Install {
        installer: if python.is_uv { "uv" } else { "pip" },
        requirements: requirements.to_owned(),
        cause: pip::cause(&outcome.last_lines)
            .unwrap_or(unknown)
            .to_owned(),
        last_lines: outcome.last_lines,
    })
}
