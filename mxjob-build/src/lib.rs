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
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use mxjob_core::ReplicaRole;

/// Writes the CustomResourceDefinition of `R` into `folder`: a file `<group>_<plural>.yaml`, and only
/// where it differs. The folder is made when it is not there; a relative one is one of the
/// package. Whoever edits such a file gets it back as it was with the next build. A file that was
/// generated for another kind of the same group stays, with a warning: before a rename it was this one.
///
/// Fails when the folder or a file in it cannot be read or written; the error names it.
pub fn write_crds<R: ReplicaRole>(folder: impl AsRef<Path>) -> io::Result<()> {
    write_crds_of::<R>(folder, &[R::TABLE.crd.group])
}

/// As [`write_crds`], those of these API groups: the own one, and older ones whose jobs the operator
/// looks after when it is told to, like `fioravanzo.org`.
pub fn write_crds_of<R: ReplicaRole>(folder: impl AsRef<Path>, groups: &[&str]) -> io::Result<()> {
    let folder = folder.as_ref();
    // Cargo runs the script again when a file is newer than the script's last run, so what the run
    // itself writes is dated back.
    let package = Path::new("Cargo.toml");
    let before = at(package, fs::metadata(package).and_then(|of| of.modified()))?;
    at(folder, fs::create_dir_all(folder))?;
    let of_groups = |(name, _): &(String, String)| {
        let group = name.split_once('_').map_or("", |(group, _)| group);
        groups.contains(&group)
    };
    let files: Vec<_> = mxjob_core::crds::<R>()
        .into_iter()
        .filter(of_groups)
        .collect();
    for (name, text) in &files {
        let file = folder.join(name);
        if !fs::read_to_string(&file).is_ok_and(|old| old == *text) {
            at(&file, write(&file, text, before))?;
        }
        println!("cargo::rerun-if-changed={}", file.display());
    }
    for group in groups {
        for file in at(folder, of_other_kinds(folder, group, &files))? {
            println!(
                "cargo::warning={} is of another kind of this group: remove it when no role set makes it any more",
                file.display()
            );
        }
    }
    Ok(())
}

/// Writes a file that a build script generates from something else, as [`write_crds`] does its own: only
/// where it differs, and dated back. A relative name is one of the package.
pub fn write_text(file: impl AsRef<Path>, text: &str) -> io::Result<()> {
    let file = file.as_ref();
    let package = Path::new("Cargo.toml");
    let before = at(package, fs::metadata(package).and_then(|of| of.modified()))?;
    if !fs::read_to_string(file).is_ok_and(|old| old == text) {
        at(file, write(file, text, before))?;
    }
    println!("cargo::rerun-if-changed={}", file.display());
    Ok(())
}

/// Generated files of the group that are none of `files`.
fn of_other_kinds(
    folder: &Path,
    group: &str,
    files: &[(String, String)],
) -> io::Result<Vec<PathBuf>> {
    let start = format!("{group}_");
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        let other = name.to_str().is_some_and(|name| {
            name.starts_with(&start)
                && Path::new(name)
                    .extension()
                    .is_some_and(|kind| kind == "yaml")
                && files.iter().all(|(file, _)| file != name)
        });
        if other && is_generated(&entry.path()) {
            found.push(entry.path());
        }
    }
    Ok(found)
}

fn write(file: &Path, text: &str, dated: SystemTime) -> io::Result<()> {
    fs::write(file, text)?;
    File::options().write(true).open(file)?.set_modified(dated)
}

/// True for a file that says of itself that it was made here.
fn is_generated(file: &Path) -> bool {
    fs::read_to_string(file).is_ok_and(|text| text.starts_with(mxjob_core::schema::GENERATED))
}

/// A result whose error says what it is about.
fn at<T>(path: &Path, result: io::Result<T>) -> io::Result<T> {
    result.map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", path.display())))
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

        // That of an older group is written when it is asked for.
        let older = folder.join("fioravanzo.org_mxjobs.yaml");
        assert!(!older.exists());
        write_crds_of::<MxRole>(&folder, &["kubeflow.org", "fioravanzo.org"])?;
        assert!(is_generated(&older));

        fs::write(&file, "somebody's edit")?;
        write_crds::<MxRole>(&folder)?;
        assert_eq!(fs::read_to_string(&file)?, text);
        Ok(())
    }

    #[test]
    fn a_generated_file_of_a_former_kind_is_found_and_stays() -> io::Result<()> {
        let place = tempfile::tempdir()?;
        let text = |of: &str| format!("{}kind: {of}\n", mxjob_core::schema::GENERATED);
        let files = [
            ("kubeflow.org_former.yaml", text("Former")),
            ("kubeflow.org_by-hand.yaml", "kind: ByHand\n".to_owned()),
            ("kubeflow.org_notes.txt", text("Notes")),
            ("example.org_former.yaml", text("Former")),
            ("kubeflow.org_mxjobs.yaml", text("MXJob")),
        ];
        for (name, text) in &files {
            fs::write(place.path().join(name), text)?;
        }
        write_crds::<MxRole>(place.path())?;
        let own = [("kubeflow.org_mxjobs.yaml".to_owned(), String::new())];
        let found = of_other_kinds(place.path(), "kubeflow.org", &own)?;
        let former = place.path().join("kubeflow.org_former.yaml");
        assert_eq!(found, std::slice::from_ref(&former));
        assert_eq!(fs::read_to_string(former)?, text("Former"));
        Ok(())
    }

    #[test]
    fn an_error_names_the_file() -> io::Result<()> {
        let place = tempfile::tempdir()?;
        let file = place.path().join("kubeflow.org_mxjobs.yaml");
        fs::create_dir(&file)?;
        let error = write_crds::<MxRole>(place.path()).err();
        let text = error.map(|error| error.to_string()).unwrap_or_default();
        assert!(text.starts_with(&format!("{}: ", file.display())), "{text}");

        let error = write_crds::<MxRole>("Cargo.toml").err();
        let text = error.map(|error| error.to_string()).unwrap_or_default();
        assert!(text.starts_with("Cargo.toml: "), "{text}");
        Ok(())
    }
}
