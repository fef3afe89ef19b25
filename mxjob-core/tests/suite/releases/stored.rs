//! The folders of `tests/data/releases`.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// A job at some time with what it owned.
pub(super) struct Moment {
    /// Of release and moment.
    pub(super) name: String,
    objects: Vec<Value>,
}

impl Moment {
    /// The job as it is stored.
    pub(super) fn job(&self) -> &Value {
        let first = &self.objects[0];
        assert_eq!(first["apiVersion"], "kubeflow.org/v1", "{}", self.name);
        first
    }

    /// The job as the older versions showed it.
    pub(super) fn views(&self) -> impl Iterator<Item = &Value> {
        self.of_kind("MXJob").skip(1)
    }

    pub(super) fn of_kind(&self, kind: &str) -> impl Iterator<Item = &Value> {
        self.objects.iter().filter(move |one| one["kind"] == kind)
    }

    pub(super) fn typed<T: DeserializeOwned>(&self, kind: &str) -> Vec<T> {
        let read = |object: &Value| serde_json::from_value(object.clone()).unwrap();
        self.of_kind(kind).map(read).collect()
    }

    /// When it was: the newest time that anything tells.
    pub(super) fn time(&self) -> Timestamp {
        let mut times = Vec::new();
        self.objects.iter().for_each(|one| collect(one, &mut times));
        times.into_iter().max().unwrap()
    }
}

fn collect(value: &Value, times: &mut Vec<Timestamp>) {
    match value {
        Value::String(text) => times.extend(text.parse::<Timestamp>()),
        Value::Array(items) => items.iter().for_each(|item| collect(item, times)),
        Value::Object(fields) => fields.values().for_each(|field| collect(field, times)),
        _ => {}
    }
}

/// The folders, the oldest first.
pub(super) fn releases() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/releases");
    let entries = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let numbers = |path: &Path| -> Option<Vec<u32>> {
        let name = path.file_name()?.to_str()?;
        name.split('.').map(|part| part.parse().ok()).collect()
    };
    let mut releases: Vec<_> = entries
        .filter_map(|path| Some((numbers(&path)?, path)))
        .collect();
    releases.sort();
    releases.into_iter().map(|(_, path)| path).collect()
}

/// The jobs of every release.
pub(super) fn jobs() -> Vec<Moment> {
    let mut moments = Vec::new();
    for release in releases() {
        for entry in fs::read_dir(&release).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_none_or(|end| end != "jsonl") {
                continue;
            }
            let (release, name) = (release.file_name(), path.file_stem());
            let name = [release, name].map(|part| part.unwrap().to_str().unwrap());
            let text = fs::read_to_string(&path).unwrap();
            let objects: Vec<Value> = text
                .lines()
                .map(|line| serde_json::from_str(line).unwrap())
                .collect();
            // What operators share has no job.
            if objects[0]["kind"] == "MXJob" {
                let name = name.join("/");
                moments.push(Moment { name, objects });
            }
        }
    }
    moments
}

/// The lines of a file that are no remarks.
pub(super) fn lines(file: &Path) -> BTreeSet<String> {
    let text = fs::read_to_string(file).unwrap();
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines.map(str::to_owned).collect()
}
