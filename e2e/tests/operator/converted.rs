//! What `mxjob convert` prints is read by kubectl as it was meant.

use std::process::Command;

use anyhow::{Result, ensure};
use serde_json::json;
use tempfile::TempDir;

use crate::bench::{Bench, training};
use crate::deploy::printed;
use crate::facts::raw;
use crate::upgrade::kubectl;

/// What YAML has a meaning for somewhere, and two letters.
const LETTERS: [char; 13] = [
    ' ', '\t', '\n', '\r', 'a', 'é', '#', ':', '-', '"', '\'', '|', '\\',
];

/// Every text of up to three of the letters.
fn texts() -> Vec<String> {
    let mut texts = vec![String::new()];
    let mut shorter = 0..1;
    for _ in 0..3 {
        let longer: Vec<_> = texts[shorter.clone()]
            .iter()
            .flat_map(|text| LETTERS.iter().map(move |letter| format!("{text}{letter}")))
            .collect();
        shorter = texts.len()..texts.len() + longer.len();
        texts.extend(longer);
    }
    texts
}

// contract: 12.9
#[tokio::test]
async fn kubectl_reads_every_text_as_it_was() -> Result<()> {
    let (bench, plane) = Bench::shared("converted").await?;
    let texts = texts();
    let mut job = training("texts", 0, 1);
    job["metadata"]["namespace"] = json!(bench.namespace);
    let container = &mut job["spec"]["mxReplicaSpecs"]["Worker"]["template"]["spec"]["containers"];
    container[0]["args"] = json!(texts);
    let files = TempDir::new()?;
    let manifest = files.path().join("job.json");
    std::fs::write(&manifest, job.to_string())?;
    let mut convert = Command::new(env!("CARGO_BIN_EXE_e2e-mxjob"));
    convert.arg("convert").arg(manifest);
    let converted = files.path().join("converted.yaml");
    std::fs::write(&converted, printed(&convert.output()?)?)?;
    printed(&kubectl(plane, &["create", "--filename"], &converted).await?)?;
    let stored = raw(&bench).get("texts").await?.data;
    let roles = &stored["spec"]["mxReplicaSpecs"];
    let read = &roles["Worker"]["template"]["spec"]["containers"][0]["args"];
    for (place, text) in texts.iter().enumerate() {
        ensure!(read[place] == text.as_str(), "{text:?} is {}", read[place]);
    }
    Ok(())
}
