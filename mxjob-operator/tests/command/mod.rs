//! A command that ends by itself.

use std::fs;
use std::process::{Command, Stdio};

use tempfile::TempDir;

/// Exit code, standard output, standard error of a command about that manifest.
pub(crate) fn mxjob(args: &[&str], manifest: &str) -> (i32, String, String) {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("job.yaml"), manifest).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_mxjob"));
    let output = command
        .current_dir(&folder)
        .args(args)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    let code = output.status.code().unwrap();
    (code, text(output.stdout), text(output.stderr))
}
