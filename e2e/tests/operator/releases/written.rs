//! What is written today, beside what the newest release has written.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs};

use anyhow::{Context as _, Result, ensure};
use mxjob_core::{MxRole, ReplicaRole as _};

use super::{Moment, fields, folder, moments, releases};

/// Asks for the folder of this version to be written.
const WRITE: &str = "MXJOB_WRITE_RELEASE";

/// The version of the workspace.
const VERSION: &str = env!("CARGO_PKG_VERSION");

// contract: 12.46
#[tokio::test]
async fn nothing_is_written_that_the_newest_release_has_not_but_what_is_told() -> Result<()> {
    let moments = moments::record().await?;
    let objects = moments.iter().flat_map(|moment| &moment.objects);
    let today: BTreeSet<_> = objects.flat_map(fields::of).collect();
    if env::var_os(WRITE).is_some() {
        write(&moments, &today)?;
    }
    let newest = releases()?.pop().context("no release")?;
    let known = lines(&newest.join("fields.txt"))?;
    let next = lines(&folder().join("next.txt"))?;
    let new: Vec<_> = today
        .iter()
        .filter(|field| !known.contains(*field) && !next.contains(*field))
        .collect();
    ensure!(
        new.is_empty(),
        "{new:#?} is not in {}: see its README.md",
        newest.display()
    );
    // The objects are the same, too: a release that makes more of them says so here.
    let of_today: Vec<_> = moments.iter().map(|moment| &moment.name).collect();
    for moment in super::read(&newest)? {
        ensure!(of_today.contains(&&moment.name), "no {}", moment.name);
    }
    Ok(())
}

fn lines(file: &Path) -> Result<BTreeSet<String>> {
    let text = fs::read_to_string(file).with_context(|| file.display().to_string())?;
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    Ok(lines.map(str::to_owned).collect())
}

/// Writes the folder of a version that is not released yet.
fn write(moments: &[Moment], written: &BTreeSet<String>) -> Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let changes = fs::read_to_string(root.join("CHANGELOG.md"))?;
    ensure!(
        !changes.contains(&format!("\n## [{VERSION}]")),
        "{VERSION} is released: its folder stays as it is"
    );
    let folder = folder().join(VERSION);
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    fs::create_dir_all(&folder)?;
    for moment in moments {
        let mut text = String::new();
        for object in &moment.objects {
            writeln!(text, "{object}")?;
        }
        fs::write(folder.join(format!("{}.jsonl", moment.name)), text)?;
    }
    let definition = serde_json::to_value(mxjob_core::schema::crd(MxRole::TABLE))?;
    let mut fields = fields::of_status(&definition);
    fields.extend(written.iter().cloned());
    let fields: Vec<_> = fields.into_iter().collect();
    fs::write(folder.join("fields.txt"), fields.join("\n") + "\n")?;
    Ok(())
}
