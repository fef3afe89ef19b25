//! For build scripts: keeps the CustomResourceDefinitions of a role set up to date, as files that
//! are committed and installed.
//!
//! ```no_run
//! fn main() -> std::io::Result<()> {
//!     mxjob_build::write_crds::<mxjob_core::MxRole>("crds")
//! }
//! ```
//!
//! A build script cannot use the package that it builds: put the role set into another package, or
//! include its file with `#[path = "src/roles.rs"] mod roles;`.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use mxjob_core::ReplicaRole;

/// Writes the CustomResourceDefinitions of `R` into `folder`: one file `<group>_<plural>.yaml` each,
/// and only where it differs. The folder is made when it is not there; a relative one is one of the
/// package. Whoever edits such a file gets it back as it was with the next build.
///
/// Fails when the folder or a file in it cannot be written.
pub fn write_crds<R: ReplicaRole>(folder: impl AsRef<Path>) -> io::Result<()> {
    let folder = folder.as_ref();
    // Cargo runs the script again when a file is newer than the script's last run, so what the run
    // itself writes is dated back.
    let before = fs::metadata("Cargo.toml")?.modified()?;
    fs::create_dir_all(folder)?;
    for (name, text) in mxjob_core::crds::<R>() {
        let file = folder.join(name);
        if !fs::read_to_string(&file).is_ok_and(|old| old == text) {
            fs::write(&file, text)?;
            File::options()
                .write(true)
                .open(&file)?
                .set_modified(before)?;
        }
        println!("cargo::rerun-if-changed={}", file.display());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use mxjob_core::MxRole;

    use super::*;

    #[test]
    fn only_what_differs_is_written_and_dated_back() -> io::Result<()> {
        let place = tempfile::tempdir()?;
        let folder = place.path().join("deep/crds");
        let file = folder.join("kubeflow.org_mxjobs.yaml");
        write_crds::<MxRole>(&folder)?;
        let text = fs::read_to_string(&file)?;
        let dated = fs::metadata(&file)?.modified()?;
        assert_eq!(dated, fs::metadata("Cargo.toml")?.modified()?);

        // One that is right is not touched, whatever its date.
        let now = std::time::SystemTime::now();
        File::options().write(true).open(&file)?.set_modified(now)?;
        write_crds::<MxRole>(&folder)?;
        assert_eq!(fs::metadata(&file)?.modified()?, now);

        fs::write(&file, "somebody's edit")?;
        write_crds::<MxRole>(&folder)?;
        assert_eq!(fs::read_to_string(&file)?, text);
        Ok(())
    }
}
