//! What each release has written, in `mxjob-core/tests/data/releases`: how it comes there, that nothing
//! new is written unnoticed, and that today's operator goes on with it.

mod again;
#[path = "../../../../mxjob-core/tests/suite/releases/fields.rs"]
mod fields;
mod moments;
mod written;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use serde_json::Value;

pub(crate) use moments::ready;

/// A job at some time with what it owns, or what operators share.
struct Moment {
    name: String,
    objects: Vec<Value>,
}

impl Moment {
    /// The job as it is stored; `None`: it is about something else.
    fn job(&self) -> Option<&Value> {
        let mut jobs = self.of_kind("MXJob");
        jobs.find(|job| job["apiVersion"] == "kubeflow.org/v1")
    }

    fn of_kind(&self, kind: &str) -> impl Iterator<Item = &Value> {
        self.objects.iter().filter(move |one| one["kind"] == kind)
    }

    fn find(&self, kind: &str) -> Result<&Value> {
        let what = || format!("{} has no {kind}", self.name);
        self.of_kind(kind).next().with_context(what)
    }
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../mxjob-core/tests/data/releases")
}

/// The folders of the releases, the oldest first.
fn releases() -> Result<Vec<PathBuf>> {
    let mut releases = Vec::new();
    for entry in fs::read_dir(folder())? {
        let path = entry?.path();
        let numbers = |name: &str| -> Option<Vec<u32>> {
            name.split('.').map(|part| part.parse().ok()).collect()
        };
        let name = path.file_name().and_then(|name| name.to_str());
        if let Some(version) = name.and_then(numbers) {
            releases.push((version, path));
        }
    }
    releases.sort();
    Ok(releases.into_iter().map(|(_, path)| path).collect())
}

/// What a release has left.
fn read(release: &Path) -> Result<Vec<Moment>> {
    let mut moments = Vec::new();
    for entry in fs::read_dir(release)? {
        let path = entry?.path();
        if path.extension().is_none_or(|end| end != "jsonl") {
            continue;
        }
        let name = path.file_stem().context("no name")?.to_string_lossy();
        let text = fs::read_to_string(&path)?;
        let objects = text.lines().map(serde_json::from_str);
        moments.push(Moment {
            name: name.into_owned(),
            objects: objects.collect::<Result<_, _>>()?,
        });
    }
    moments.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(moments)
}
