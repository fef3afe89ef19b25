//! The container image.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;
use tempfile::TempDir;

use super::{folder, printed};

fn run(program: &str, arguments: &[&str]) -> Result<String> {
    printed(&Command::new(program).args(arguments).output()?)
}

/// Makes the image of the program; what the script says.
fn make(file: &Path) -> Result<String> {
    let program = env!("CARGO_BIN_EXE_e2e-mxjob");
    let made = Command::new(folder("image.sh"))
        .arg(program)
        .args([file, Path::new("localhost/mxjob:trial")])
        .output()?;
    printed(&made)
}

/// An image layout, taken out of its tar.
struct Image {
    place: TempDir,
}

impl Image {
    fn of(file: &Path) -> Result<Self> {
        let place = TempDir::new()?;
        let (file, folder) = (
            file.display().to_string(),
            place.path().display().to_string(),
        );
        run("tar", &["-xf", &file, "-C", &folder])?;
        Ok(Self { place })
    }

    fn json(&self, name: &str) -> Result<Value> {
        let text = fs::read_to_string(self.place.path().join(name))?;
        serde_json::from_str(&text).context(text)
    }

    /// What a descriptor names: its path, when it is what the descriptor says.
    fn blob(&self, descriptor: &Value) -> Result<String> {
        let digest = descriptor["digest"].as_str().context("no digest")?;
        let digest = digest.strip_prefix("sha256:").context("another digest")?;
        let name = format!("blobs/sha256/{digest}");
        let path = self.place.path().join(&name);
        let sum = run("sha256sum", &[&path.display().to_string()])?;
        ensure!(sum.starts_with(digest), "{name}: {sum}");
        ensure!(
            descriptor["size"] == fs::metadata(path)?.len(),
            "{descriptor}"
        );
        Ok(name)
    }
}

#[test]
fn the_script_makes_an_image_that_is_what_it_says_and_the_same_again() -> Result<()> {
    let place = TempDir::new()?;
    let (one, two) = (place.path().join("one.tar"), place.path().join("two.tar"));
    let said = make(&one)?;
    make(&two)?;
    ensure!(
        fs::read(&one)? == fs::read(&two)?,
        "the same program gives another image"
    );

    let image = Image::of(&one)?;
    let index = &image.json("index.json")?["manifests"][0];
    let digest = index["digest"].as_str().context("no digest")?;
    ensure!(
        said.trim()
            .ends_with(&format!("localhost/mxjob:trial {digest}")),
        "{said}"
    );
    let name = &index["annotations"]["io.containerd.image.name"];
    ensure!(*name == "localhost/mxjob:trial", "{index}");
    let manifest = image.json(&image.blob(index)?)?;
    let config = image.json(&image.blob(&manifest["config"])?)?;
    let layer = image.blob(&manifest["layers"][0])?;
    ensure!(
        config["rootfs"]["diff_ids"][0] == manifest["layers"][0]["digest"],
        "{config}"
    );

    // Nobody's, and what the Dockerfile says.
    let text = fs::read_to_string(folder("Dockerfile"))?;
    let said = |word: &str| {
        let line = text.lines().rev().find_map(|line| line.strip_prefix(word));
        line.map(str::trim).with_context(|| format!("no {word}"))
    };
    let config = &config["config"];
    ensure!(config["User"] == said("USER")?, "{config}");
    let list = |word: &str| -> Result<Value> { Ok(serde_json::from_str(said(word)?)?) };
    ensure!(config["Entrypoint"] == list("ENTRYPOINT")?, "{config}");
    ensure!(config["Cmd"] == list("CMD")?, "{config}");

    // The program runs with the libraries of the image alone.
    let layer = image.place.path().join(layer).display().to_string();
    let root = place.path().join("root");
    fs::create_dir(&root)?;
    let root = root.display().to_string();
    run("tar", &["-xf", &layer, "-C", &root])?;
    let files = run("tar", &["-tf", &layer])?;
    let loader = files.lines().find(|name| name.contains("/ld-linux"));
    let loader = loader.context("no loader")?.trim_start_matches('.');
    let folders: Vec<_> = files
        .lines()
        .filter(|name| name.contains(".so"))
        .filter_map(|name| {
            Some(format!(
                "{root}{}",
                Path::new(name.trim_start_matches('.')).parent()?.display()
            ))
        })
        .collect();
    let version = run(
        &format!("{root}{loader}"),
        &[
            "--inhibit-cache",
            "--library-path",
            &folders.join(":"),
            &format!("{root}/usr/local/bin/mxjob"),
            "--version",
        ],
    )?;
    ensure!(version.contains(env!("CARGO_PKG_VERSION")), "{version}");
    Ok(())
}

#[test]
fn what_is_no_program_is_refused() -> Result<()> {
    let output = Command::new(folder("image.sh"))
        .args(["nowhere", "x.tar", "a:b"])
        .output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(
        output.status.code() == Some(2) && said == "error: nowhere: no program\n",
        "{said}"
    );
    let output = Command::new(folder("image.sh")).output()?;
    ensure!(output.status.code() == Some(2), "{output:?}");
    ensure!(
        String::from_utf8_lossy(&output.stderr).starts_with("usage"),
        "{output:?}"
    );
    Ok(())
}
