//! What a release is made of.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Output};

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;
use tempfile::TempDir;

use super::{folder, printed};

fn release_of(program: &Path, to: &Path) -> Result<Output> {
    let script = Command::new(folder("release.sh"))
        .args([program, to])
        .output();
    script.context("cannot run the script")
}

fn release(to: &Path) -> Result<Output> {
    release_of(Path::new(env!("CARGO_BIN_EXE_e2e-mxjob")), to)
}

/// The crates of the program, name and version, as Cargo lists them.
fn crates() -> Result<BTreeSet<String>> {
    let mut tree = Command::new(env!("CARGO"));
    tree.args(["tree", "--locked", "--package", "mxjob-operator"])
        .args(["--edges", "normal,build", "--prefix", "none"]);
    let said = printed(&tree.current_dir(folder("..")).output()?)?;
    let name = |line: &str| {
        let mut words = line.split_whitespace();
        let version = |version: &str| version.trim_start_matches('v').to_owned();
        Some(format!("{}@{}", words.next()?, version(words.next()?)))
    };
    Ok(said.lines().filter_map(name).collect())
}

#[test]
fn a_release_is_whole_and_its_bill_of_materials_names_every_crate() -> Result<()> {
    let place = TempDir::new()?;
    let made = place.path().join("dist");
    printed(&release(&made)?)?;
    let sums = Command::new("sha256sum")
        .args(["--check", "--strict", "SHA256SUMS"])
        .current_dir(&made)
        .output()?;
    let checked = printed(&sums)?;
    let version = env!("CARGO_PKG_VERSION");
    let program = format!("mxjob-{version}-linux-{}", std::env::consts::ARCH);
    let bill = format!("{program}.cdx.json");
    for file in [
        program.clone(),
        format!("{program}.image.tar"),
        bill.clone(),
        format!("mxjob-{version}.crds.yaml"),
    ] {
        ensure!(checked.contains(&format!("{file}: OK")), "{checked}");
    }
    ensure!(checked.lines().count() == 4, "{checked}");

    let bill: Value = serde_json::from_str(&fs::read_to_string(made.join(bill))?)?;
    ensure!(bill["bomFormat"] == "CycloneDX" && bill["specVersion"] == "1.6");
    let parts = bill["components"].as_array().context("no components")?;
    let own = [&bill["metadata"]["component"]];
    let mut named = BTreeSet::new();
    for part in parts.iter().chain(own) {
        let text = |key: &str| {
            part[key]
                .as_str()
                .with_context(|| format!("{part}: no {key}"))
        };
        let name = format!("{}@{}", text("name")?, text("version")?);
        ensure!(text("purl")? == format!("pkg:cargo/{name}"), "{part}");
        let licence = part["licenses"][0]["expression"].as_str();
        ensure!(licence.is_some_and(|licence| !licence.is_empty()), "{part}");
        let sum = part["hashes"][0]["content"].as_str();
        // Our own crates come from this folder.
        let ours = text("name")?.starts_with("mxjob-");
        ensure!(ours || sum.is_some_and(|sum| sum.len() == 64), "{part}");
        named.insert(name);
    }
    ensure!(named == crates()?, "{named:?}");
    let needs = bill["dependencies"].as_array().context("no dependencies")?;
    let of_core = needs
        .iter()
        .find(|one| one["ref"] == format!("pkg:cargo/mxjob-core@{version}"));
    let of_core = of_core.context("nothing of the core")?["dependsOn"].to_string();
    ensure!(of_core.contains("pkg:cargo/serde_json@"), "{of_core}");
    ensure!(!of_core.contains("pkg:cargo/tokio@"), "{of_core}");

    let again = release(&made)?;
    let said = String::from_utf8_lossy(&again.stderr);
    ensure!(again.status.code() == Some(2), "{again:?}");
    ensure!(said.contains("has something in it"), "{said}");
    Ok(())
}

#[test]
fn a_program_of_another_version_than_the_folders_is_no_release() -> Result<()> {
    let place = TempDir::new()?;
    let other = place.path().join("mxjob");
    fs::write(&other, "#!/bin/sh\necho mxjob 0.0.9\n")?;
    fs::set_permissions(&other, fs::Permissions::from_mode(0o755))?;
    let made = place.path().join("dist");
    let refused = release_of(&other, &made)?;
    let said = String::from_utf8_lossy(&refused.stderr);
    ensure!(refused.status.code() == Some(2), "{refused:?}");
    ensure!(said.contains("is of version 0.0.9"), "{said}");
    ensure!(!made.exists());
    Ok(())
}
