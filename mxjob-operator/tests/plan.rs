//! `mxjob plan`: what it prints for right and wrong manifests.
#![allow(clippy::unwrap_used, missing_docs, reason = "tests")]

use std::fs;
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

const JOB: &str = "\
apiVersion: kubeflow.org/v1
kind: MXJob
metadata: {name: demo, namespace: team}
spec:
  mxReplicaSpecs:
    Scheduler: &role
      template: {spec: {containers: [{name: mxnet, image: mxnet, command: [python, train.py]}]}}
    Worker: *role
";

fn plan(manifest: &str) -> Output {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("job.yaml"), manifest).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_mxjob"));
    command
        .current_dir(&folder)
        .args(["plan", "job.yaml"])
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

// contract: 11.3
#[test]
fn prints_services_then_pods() {
    let output = plan(JOB);
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(text(&output.stderr), "");
    insta::assert_snapshot!(text(&output.stdout));
}

#[test]
fn prints_documents_that_kubernetes_reads() {
    let output = plan(JOB);
    let documents: Vec<serde_json::Value> =
        serde_saphyr::from_multiple(text(&output.stdout)).unwrap();
    let names = documents.iter().map(|one| {
        let field = |pointer: &str| {
            one.pointer(pointer)
                .and_then(serde_json::Value::as_str)
                .unwrap()
        };
        format!("{}/{}", field("/kind"), field("/metadata/name"))
    });
    let wanted = [
        "Service/demo-scheduler-0",
        "Service/demo-worker-0",
        "Pod/demo-scheduler-0",
        "Pod/demo-worker-0",
    ];
    assert_eq!(names.collect::<Vec<_>>(), wanted);
}

#[test]
fn says_when_nothing_is_created_yet() {
    let output = plan(&JOB.replace("spec:\n  mx", "spec:\n  runPolicy: {suspend: true}\n  mx"));
    assert!(
        text(&output.stdout)
            .starts_with("# the job is suspended: created when it is resumed\n---\n")
    );
}

#[test]
fn refuses_what_is_not_valid() {
    let output = plan(&JOB.replace("name: mxnet", "name: main"));
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(text(&output.stdout), "");
    assert_eq!(
        text(&output.stderr),
        "job.yaml:7:25: error: spec.mxReplicaSpecs.Scheduler.template.spec.containers: needs a container named mxnet\n"
    );
}

#[test]
fn plans_every_job_of_a_file() {
    let other = JOB.replace("demo", "other");
    let output = plan(&format!("{JOB}---\n{other}"));
    assert_eq!(text(&output.stdout).matches("kind: Pod").count(), 4);
}

// defect: D25
#[test]
fn a_job_has_no_disruption_budget_that_could_outlive_it() {
    let all_at_once = "spec:\n  runPolicy: {schedulingPolicy: {minAvailable: 2}}\n  mx";
    let output = plan(&JOB.replace("spec:\n  mx", all_at_once));
    let documents: Vec<serde_json::Value> =
        serde_saphyr::from_multiple(text(&output.stdout)).unwrap();
    let kinds: Vec<_> = documents
        .iter()
        .map(|one| one["kind"].as_str().unwrap())
        .collect();
    assert_eq!(kinds, ["Service", "Service", "Pod", "Pod"]);
}
