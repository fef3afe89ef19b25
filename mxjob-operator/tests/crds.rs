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

// contract: 11.4
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

// contract: 11.4, 12.21
#[test]
fn prints_that_of_an_older_api_when_it_is_asked_for() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let check = |group: &str| {
        let file = format!("crds/{group}_mxjobs.yaml");
        let stored = fs::read(root.join(&file)).unwrap();
        assert!(
            crds(root, &["--api", group]).stdout == stored,
            "{file} is not what `mxjob crds` prints: `cargo build -p crds`"
        );
        stored
    };
    check("mxnet.mlkube.io");
    let stored = check("fioravanzo.org");
    let own = fs::read(root.join("crds/kubeflow.org_mxjobs.yaml")).unwrap();
    let both = crds(root, &["--api", "kubeflow.org,fioravanzo.org"]).stdout;
    assert!(both == [own, b"---\n".to_vec(), stored].concat());
}

#[test]
fn prints_those_of_the_api_that_is_named_once() {
    let folder = TempDir::new().unwrap();
    let all = crds(folder.path(), &[]).stdout;
    for apis in [
        ["--api", "kubeflow.org"].as_slice(),
        &["--api", "kubeflow.org", "--api=kubeflow.org"],
        &["--api", "kubeflow.org,kubeflow.org"],
    ] {
        let output = crds(folder.path(), apis);
        assert!(
            output.status.success() && output.stdout == all,
            "{output:?}"
        );
    }
}

#[test]
fn says_which_apis_there_are_when_one_is_unknown() {
    let folder = TempDir::new().unwrap();
    for [flag, api] in [["--api", "x.org"], ["--api", ""]] {
        let output = crds(folder.path(), &["--out", "out", flag, api]);
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(
            said.contains(api) && said.contains("--api") && said.contains("kubeflow.org"),
            "{said}"
        );
    }
    assert!(!folder.path().join("out").exists());
}

#[test]
fn the_operator_knows_the_same_apis() {
    let operator = |api: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_mxjob"));
        command.args(["operator", "--kubeconfig", "nowhere"]);
        // Whoever has the ports is none of this test's business.
        command.env("MXJOB_METRICS_BIND_ADDRESS", "0");
        command.env("MXJOB_HEALTH_PROBE_BIND_ADDRESS", "0");
        command.env("MXJOB_WEBHOOK_BIND_ADDRESS", "0");
        command.env("MXJOB_API", api).output().unwrap()
    };
    assert_eq!(operator("x.org").status.code(), Some(2));
    // Past its arguments: there is no such kubeconfig.
    for known in [
        "kubeflow.org",
        "fioravanzo.org",
        "kubeflow.org,fioravanzo.org",
    ] {
        assert_eq!(operator(known).status.code(), Some(1), "{known}");
    }
}

// contract: 11.4
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
