//! Writes the CustomResourceDefinition of MXNet's roles into this folder: when it differs, and only
//! then, so that a build changes nothing that is right.

use std::fs::{self, File};
use std::path::Path;
use std::time::SystemTime;
use std::{env, io};

fn main() -> io::Result<()> {
    let folder = env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default();
    let folder = Path::new(&folder);
    let before = fs::metadata(folder.join("build.rs"))?.modified()?;
    for (name, text) in mxjob_core::crds::<mxjob_core::MxRole>() {
        write(&folder.join(&name), &text, before)?;
        // Whoever edits it by hand gets it back as it was.
        println!("cargo::rerun-if-changed={name}");
    }
    Ok(())
}

/// Writes a file that differs, dated before this run: cargo would run it again otherwise.
fn write(file: &Path, text: &str, before: SystemTime) -> io::Result<()> {
    if fs::read_to_string(file).is_ok_and(|old| old == text) {
        return Ok(());
    }
    fs::write(file, text)?;
    File::options().write(true).open(file)?.set_modified(before)
}
