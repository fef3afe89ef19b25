//! What the API server lets in by itself, with no operator: the files of `e2e/corpus`, one by one, and
//! what the definition says about columns, fields and the status.

#![allow(
    clippy::indexing_slicing,
    reason = "of JSON, where a missing key is null"
)]

mod corpus;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Result, anyhow, ensure};
use corpus::{Answer, Case, Server, unlike};
use e2e::ControlPlane;
use e2e::deadline::until;
use mxjob_core::{MxRole, ReplicaRole as _};
use serde_json::{Value, json};

/// Fails with everything that is wrong, not only the first.
fn nothing_wrong(wrong: &[String]) -> Result<()> {
    ensure!(
        wrong.is_empty(),
        "{} wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    Ok(())
}

// contract: 3.1, 3.2, 3.3, 3.4, 3.5, 3.6, 3.7, 3.8, 3.9, 3.10, 3.11, 3.12, 2.12
#[tokio::test]
async fn invalid_manifests_are_refused_with_their_messages() -> Result<()> {
    let server = Server::shared("invalid").await?;
    let cases = Case::all("invalid")?;
    ensure!(cases.len() >= 60, "{} cases", cases.len());
    let mut wrong = Vec::new();
    for case in &cases {
        let said = server.attempt(case).await?.err().unwrap_or_default();
        let same = sorted(&said) == sorted(&case.messages) && said.first() == case.messages.first();
        if !same || said.is_empty() {
            wrong.push(format!("{}\n# {}", case.path.display(), said.join("\n# ")));
        }
    }
    nothing_wrong(&wrong)
}

fn sorted(lines: &[String]) -> Vec<&String> {
    let mut lines: Vec<_> = lines.iter().collect();
    lines.sort();
    lines
}

// contract: 2.2, 2.9, 3.11, 4.1, 2.12
#[tokio::test]
async fn valid_manifests_are_stored_as_they_are() -> Result<()> {
    let server = Server::shared("valid").await?;
    let cases = Case::all("valid")?;
    ensure!(cases.len() >= 30, "{} cases", cases.len());
    let mut wrong = Vec::new();
    for case in cases.iter().chain(&Case::all("operator")?) {
        let found = match server.attempt(case).await? {
            Ok(stored) => unlike(case.tried(), &stored),
            Err(said) => said,
        };
        if !found.is_empty() {
            wrong.push(format!("{}\n{}", case.path.display(), found.join("\n")));
        }
    }
    nothing_wrong(&wrong)
}

// contract: 3.13
#[test]
fn the_library_says_the_same() -> Result<()> {
    let mut wrong = Vec::new();
    for (folder, right) in [("invalid", false), ("valid", true), ("operator", false)] {
        for case in Case::all(folder)? {
            let errors = case.errors()?;
            if errors.is_empty() != right {
                wrong.push(format!("{}: {errors:?}", case.path.display()));
            }
            let said: Vec<_> = errors.iter().map(ToString::to_string).collect();
            if folder == "operator" && said != case.messages {
                wrong.push(format!("{}: {said:?}", case.path.display()));
            }
        }
    }
    nothing_wrong(&wrong)
}

#[test]
fn lint_says_the_same() -> Result<()> {
    let mut expected = BTreeMap::new();
    for (folder, right) in [("invalid", false), ("valid", true), ("operator", false)] {
        for case in Case::all(folder)? {
            // A file of two objects tells lint nothing about an edit: both may be right.
            if case.edit.is_none() {
                expected.insert(case.path, right);
            }
        }
    }
    let output = Command::new(env!("CARGO_BIN_EXE_e2e-mxjob"))
        .args(["lint", "-o", "json"])
        .args(expected.keys())
        .output()?;
    let findings: Vec<Value> = serde_json::from_slice(&output.stdout)?;
    let mut wrong = Vec::new();
    for (path, right) in &expected {
        let errors: Vec<_> = findings
            .iter()
            .filter(|one| {
                one["severity"] == "error" && one["file"].as_str().map(Path::new) == Some(path)
            })
            .collect();
        let placed = errors
            .iter()
            .all(|one| one["line"].as_u64().is_some_and(|line| line > 0));
        if errors.is_empty() != *right || !placed {
            wrong.push(format!("{}: {errors:?}", path.display()));
        }
    }
    nothing_wrong(&wrong)
}

/// A job with this status and these fields in its spec.
fn job(name: &str, fields: &Value, status: &Value) -> Value {
    let template = json!({"spec": {"containers": [{"name": "mxnet", "image": "mxnet"}]}});
    let mut spec = json!({"mxReplicaSpecs": {"Worker": {"template": template}}});
    if let (Some(spec), Value::Object(fields)) = (spec.as_object_mut(), fields) {
        spec.extend(fields.clone());
    }
    json!({
        "apiVersion": "kubeflow.org/v1",
        "kind": "MXJob",
        "metadata": {"name": name},
        "spec": spec,
        "status": status,
    })
}

fn accepted(answer: Answer) -> Result<Value> {
    answer.map_err(|said| anyhow!("refused: {said:?}"))
}

// contract: 1.2
// promise: P4
#[tokio::test]
async fn columns_are_those_of_the_contract() -> Result<()> {
    let server = Server::shared("columns").await?;
    let full = json!({
        "phase": "Running", "mode": "MXTrain", "ready": "3/5", "restarts": 2,
        "chief": "Scheduler/0 Running", "reason": "MXJobRunning",
    });
    accepted(server.create(&job("full", &json!({}), &full)).await?)?;
    accepted(server.create(&job("new", &json!({}), &Value::Null)).await?)?;
    let table = accepted(server.table().await?)?;
    let columns = table["columnDefinitions"].as_array().into_iter().flatten();
    let columns: Vec<_> = columns
        .map(|one| (one["name"].clone(), one["priority"].clone()))
        .collect();
    let narrow =
        ["Name", "State", "Mode", "Ready", "Restarts", "Age"].map(|name| (json!(name), json!(0)));
    let wide = ["Chief", "Reason"].map(|name| (json!(name), json!(1)));
    assert_eq!(columns, [narrow.as_slice(), &wide].concat());
    let mut rows: Vec<_> = table["rows"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|row| row["cells"].clone())
        .collect();
    for row in &mut rows {
        let age = row[5].take();
        ensure!(
            age.as_str().is_some_and(|age| age.ends_with(['s', 'm'])),
            "{age}"
        );
    }
    let wanted = [
        json!([
            "full",
            "Running",
            "MXTrain",
            "3/5",
            2,
            null,
            "Scheduler/0 Running",
            "MXJobRunning"
        ]),
        json!(["new", null, null, null, null, null, null, null]),
    ];
    assert_eq!(rows, wanted);
    Ok(())
}

// contract: 1.3
#[tokio::test]
async fn fields_of_the_contract_can_be_selected() -> Result<()> {
    let server = Server::shared("fields").await?;
    let mode = json!({"jobMode": "MXTrain"});
    accepted(
        server
            .create(&job(
                "named",
                &mode,
                &json!({"phase": "Running", "mode": "MXTrain"}),
            ))
            .await?,
    )?;
    let managed = json!({"runPolicy": {"managedBy": "example.com/other"}});
    accepted(
        server
            .create(&job("managed", &managed, &json!({"phase": "Failed"})))
            .await?,
    )?;
    for (selector, wanted) in [
        ("spec.jobMode=MXTrain", vec!["named"]),
        (
            "spec.runPolicy.managedBy=example.com/other",
            vec!["managed"],
        ),
        ("spec.runPolicy.managedBy!=example.com/other", vec!["named"]),
        ("status.phase=Running", vec!["named"]),
        ("status.phase=Created", vec![]),
    ] {
        let found = accepted(server.list(&format!("?fieldSelector={selector}")).await?)?;
        let found = found["items"].as_array().into_iter().flatten();
        let names: Vec<_> = found
            .filter_map(|one| one["metadata"]["name"].as_str())
            .collect();
        assert_eq!(names, wanted, "{selector}");
    }
    let other = server.list("?fieldSelector=status.mode=MXTrain").await?;
    ensure!(
        other.is_err(),
        "a field that is not in the contract: {other:?}"
    );
    Ok(())
}

// contract: 1.1
#[tokio::test]
async fn status_and_spec_are_written_apart() -> Result<()> {
    let server = Server::shared("apart").await?;
    let new = job("apart", &json!({}), &json!({"phase": "Running"}));
    let mut dry = new.clone();
    dry["metadata"]["name"] = json!("dry");
    let dry = accepted(server.try_to_create(&dry).await?)?;
    assert_eq!(dry["status"], Value::Null, "a creation writes no status");

    let stored = accepted(server.create(&new).await?)?;
    let mut edit = stored.clone();
    edit["spec"]["runPolicy"] = json!({"suspend": true});
    edit["status"] = json!({"phase": "Failed"});
    let stored = accepted(server.put(&edit, "").await?)?;
    assert_eq!(
        stored["status"],
        json!({"phase": "Running"}),
        "nor does an edit"
    );
    assert_eq!(stored["spec"]["runPolicy"], json!({"suspend": true}));
    assert_eq!(stored["metadata"]["generation"], 2);

    let mut edit = stored.clone();
    edit["spec"]["runPolicy"] = json!({"suspend": false});
    edit["status"] = json!({"phase": "Succeeded"});
    let stored = accepted(server.put(&edit, "/status").await?)?;
    assert_eq!(stored["status"], json!({"phase": "Succeeded"}));
    assert_eq!(
        stored["spec"]["runPolicy"],
        json!({"suspend": true}),
        "a status writes no spec"
    );
    assert_eq!(stored["metadata"]["generation"], 2);
    Ok(())
}

const PATIENCE: Duration = Duration::from_mins(2);

/// Files whose objects take no status once they are stored: a rule reads what is of the wrong type, and
/// the contract leaves these to an event. All others do, whatever rule or bound they break.
const STUCK: [&str; 9] = [
    "command-text",
    "env-value-number",
    "exit-code-number",
    "limits-fraction",
    "managed-by-number",
    "mode-is-a-number",
    "replicas-fraction",
    "replicas-text",
    "roles-in-a-list",
];

// contract: 3.14
#[tokio::test]
async fn what_was_stored_before_the_rules_takes_a_status() -> Result<()> {
    // A control plane of its own: one whose definition allows everything at first.
    let plane = ControlPlane::start().await?;
    let real = mxjob_core::schema::crd(MxRole::TABLE);
    let mut open = real.clone();
    for version in &mut open.spec.versions {
        version.schema = serde_json::from_value(json!({
            "openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
        }))?;
        version.selectable_fields = None;
    }
    plane.install_crds(&[open]).await?;
    let server = Server::new(&plane, "stored").await?;
    let mut stored = Vec::new();
    let mut cases = Case::all("invalid")?;
    cases.retain(|case| case.edit.is_none());
    for (number, mut case) in cases.into_iter().enumerate() {
        let name = &mut case.object["metadata"]["name"];
        if name == "demo" {
            *name = json!(format!("demo-{number}"));
        }
        let name = name.as_str().unwrap_or_default().to_owned();
        match server.create(&case.object).await? {
            Ok(_) => stored.push((name, case)),
            // Of these the server has its own opinion.
            Err(said) => ensure!(
                said.iter().all(|one| one.starts_with("metadata.name: ")),
                "{said:?}"
            ),
        }
    }
    ensure!(stored.len() >= 60, "{} stored", stored.len());
    plane.install_crds(&[real]).await?;
    until("the rules to be in force", PATIENCE, || async {
        let nothing =
            json!({"apiVersion": "kubeflow.org/v1", "kind": "MXJob", "metadata": {"name": "none"}});
        Ok(server.try_to_create(&nothing).await?.is_err())
    })
    .await?;
    let status = json!({"status": {"phase": "Failed", "conditions": [{"type": "Failed", "status": "True"}]}});
    let mut stuck = BTreeMap::new();
    for (name, case) in &stored {
        let file = case
            .path
            .file_stem()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        match server.patch(name, "/status", &status).await? {
            Ok(marked) => assert_eq!(marked["status"], status["status"], "{file}"),
            Err(said) => {
                stuck.insert(file, said);
            }
        }
    }
    let files: BTreeSet<_> = stuck.keys().map(String::as_str).collect();
    assert_eq!(files, BTreeSet::from(STUCK), "{stuck:#?}");
    Ok(())
}
