//! `mxjob crds`: prints the CustomResourceDefinitions, or keeps a folder of them as it should be.
#![allow(clippy::unwrap_used, missing_docs, reason = "tests")]

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use tempfile::TempDir;

fn crds(folder: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_mxjob"))
        .current_dir(folder)
        .arg("crds")
        .args(args)
        .output()
        .unwrap()
}

#[test]
fn prints_what_the_repository_holds() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let stored = fs::read(root.join("crds/kubeflow.org_mxjobs.yaml")).unwrap();
    let printed = crds(root, &[]).stdout;
    assert!(
        printed == stored,
        "crds/kubeflow.org_mxjobs.yaml is not what `mxjob crds` prints: `cargo build -p crds`"
    );
}

#[test]
fn writes_files_that_differ() {
    let folder = TempDir::new().unwrap();
    let told = |output: Output| String::from_utf8(output.stderr).unwrap();
    let file = folder.path().join("out/kubeflow.org_mxjobs.yaml");
    let run = || told(crds(folder.path(), &["--out", "out"]));
    assert_eq!(run(), "out/kubeflow.org_mxjobs.yaml: written\n");
    assert_eq!(run(), "out/kubeflow.org_mxjobs.yaml: unchanged\n");
    fs::write(&file, "edited").unwrap();
    assert_eq!(run(), "out/kubeflow.org_mxjobs.yaml: written\n");
    assert!(
        fs::read_to_string(&file)
            .unwrap()
            .starts_with("# Generated from the role table")
    );
}

#[test]
fn says_why_a_folder_cannot_be_written() {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("out"), "a file").unwrap();
    let output = crds(folder.path(), &["--out", "out"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        String::from_utf8(output.stderr)
            .unwrap()
            .starts_with("error: cannot write out: ")
    );
}
