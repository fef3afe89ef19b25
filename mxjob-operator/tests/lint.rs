//! `mxjob lint`: what it prints about manifests that are wrong in every way that files can be, and
//! its exit code.
#![allow(clippy::unwrap_used, missing_docs, reason = "tests")]

use std::fs;
use std::io::Write as _;
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

/// A job without faults.
const GOOD: &str = "\
apiVersion: kubeflow.org/v1
kind: MXJob
metadata:
  name: demo
spec:
  mxReplicaSpecs:
    Worker:
      replicas: 1
      template:
        spec:
          containers:
          - name: mxnet
            image: mxnet
";

const OTHER_KIND: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\n";

/// A folder with one file.
fn folder(name: &str, bytes: impl AsRef<[u8]>) -> TempDir {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join(name), bytes).unwrap();
    folder
}

fn mxjob(folder: &TempDir, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mxjob"));
    command.current_dir(folder).args(args).stdin(Stdio::null());
    command
}

/// Exit code, standard output, standard error.
fn told(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    format!(
        "{}{}exit code {}",
        text(&output.stdout),
        text(&output.stderr),
        output.status.code().unwrap()
    )
}

#[track_caller]
fn assert_told(bytes: impl AsRef<[u8]>, wanted: &str) {
    let folder = folder("job.yaml", bytes);
    assert_eq!(
        told(&mxjob(&folder, &["lint", "job.yaml"]).output().unwrap()),
        wanted
    );
}

#[test]
fn a_good_job() {
    assert_told(GOOD, "1 job: nothing to complain about\nexit code 0");
}

#[test]
fn yaml_that_does_not_parse() {
    assert_told(
        "kind: MXJob\nmetadata:\n  name: x\n spec: 3\n",
        "job.yaml:4:2: error: not valid YAML: while parsing a block mapping, did not find expected key\n\
         0 jobs: 1 error\nexit code 1",
    );
    assert_told(
        "kind: [MXJob\n",
        "job.yaml:1:7: error: not valid YAML: unclosed bracket '['\n0 jobs: 1 error\nexit code 1",
    );
}

#[test]
fn a_key_that_is_there_twice() {
    assert_told(
        GOOD.replace(
            "      replicas: 1\n",
            "      replicas: 1\n      replicas: 3\n",
        ),
        "job.yaml:9:7: error: replicas is there twice: keep one\n0 jobs: 1 error\nexit code 1",
    );
}

#[test]
fn an_empty_file() {
    let wanted = "job.yaml: error: is empty: there is no MXJob in it\n0 jobs: 1 error\nexit code 1";
    assert_told("", wanted);
    assert_told("# only words\n---\n", wanted);
}

#[test]
fn another_kind() {
    assert_told(
        OTHER_KIND,
        "job.yaml:2:1: error: kind: v1 ConfigMap is not supported: this build reads jobs of kubeflow.org/v1alpha1, kubeflow.org/v1beta1, \
         kubeflow.org/v1, fioravanzo.org/v1alpha1, mxnet.mlkube.io/v1beta1\n\
         0 jobs: 1 error\nexit code 1",
    );
    assert_told(
        GOOD.replace("MXJob", "MXJbo"),
        "job.yaml:2:1: error: kind: unknown kind \"MXJbo\": did you mean MXJob?\n0 jobs: 1 error\nexit code 1",
    );
    assert_told(
        "- a\n",
        "job.yaml:1:1: error: a manifest is a map with apiVersion, kind, metadata and spec: write \
         kubeflow.org/v1 MXJob\n0 jobs: 1 error\nexit code 1",
    );
    assert_told(
        "spec: {}\n",
        "job.yaml:1:1: error: kind: is required: kubeflow.org/v1 MXJob\n0 jobs: 1 error\nexit code 1",
    );
}

#[test]
fn another_version() {
    for version in ["kubeflow.org/v2", "mxnet.mlkube.io/v1"] {
        let wanted = format!(
            "job.yaml:1:1: error: apiVersion: {version} MXJob is not supported: this build reads \
             kubeflow.org/v1alpha1, kubeflow.org/v1beta1, kubeflow.org/v1, fioravanzo.org/v1alpha1, \
             mxnet.mlkube.io/v1beta1\n0 jobs: 1 error\nexit code 1"
        );
        assert_told(GOOD.replace("kubeflow.org/v1", version), &wanted);
    }
}

#[test]
fn another_kind_beside_a_job_is_not_checked() {
    assert_told(
        format!("{OTHER_KIND}---\n{GOOD}"),
        "1 job: nothing to complain about (1 document of another kind was not checked)\nexit code 0",
    );
}

#[test]
fn two_documents_of_which_one_is_bad() {
    let bad = GOOD.replace("image: mxnet", "imagine: mxnet");
    let folder = folder("job.yaml", format!("{GOOD}---\n{bad}"));
    let output = mxjob(&folder, &["lint", "job.yaml"]).output().unwrap();
    let container = "spec.mxReplicaSpecs.Worker.template.spec.containers[0]";
    let wanted = format!(
        "job.yaml:26:13: error: {container}.image: is required: name the image that the container runs\n\
         job.yaml:27:13: warning: {container}.imagine: unknown field, it is ignored: did you mean image?\n\
         2 jobs: 1 error, 1 warning\nexit code 1"
    );
    assert_eq!(told(&output), wanted);
    let json = mxjob(&folder, &["lint", "-o", "json", "job.yaml"])
        .output()
        .unwrap();
    let findings: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(findings.pointer("/0/document"), Some(&2.into()));
}

#[test]
fn an_unknown_field_is_a_warning() {
    assert_told(
        GOOD.replace("replicas:", "replica:"),
        "job.yaml:8:7: warning: spec.mxReplicaSpecs.Worker.replica: unknown field, it is ignored: did you mean \
         replicas?\n1 job: 1 warning\nexit code 0",
    );
}

// contract: 11.2
#[test]
fn a_wrong_type() {
    assert_told(
        GOOD.replace("replicas: 1", "replicas: two"),
        "job.yaml:8:7: error: spec.mxReplicaSpecs.Worker.replicas: must be an integer, not the string \"two\"\n\
         1 job: 1 error\nexit code 1",
    );
}

#[test]
fn huge_numbers_of_replicas() {
    assert_told(
        GOOD.replace("replicas: 1", "replicas: 3000000000"),
        "job.yaml:8:7: error: spec.mxReplicaSpecs.Worker.replicas: must be at most 2147483647, not 3000000000\n\
         1 job: 1 error\nexit code 1",
    );
    assert_told(
        GOOD.replace("replicas: 1", "replicas: 2000000000"),
        "job.yaml:6:3: error: spec.mxReplicaSpecs: 2000000000 replicas in all: at most 100000, a cluster has no \
         more pods\n\
         job.yaml:7:5: warning: spec.mxReplicaSpecs.Worker: Worker gets no DMLC_PS_ROOT_PORT, DMLC_PS_ROOT_URI, \
         DMLC_NUM_SERVER, DMLC_NUM_WORKER, DMLC_ROLE, DMLC_USE_KUBERNETES, DMLC_WORKER_ID: the job has no Scheduler\n\
         1 job: 1 error, 1 warning\nexit code 1",
    );
}

#[test]
fn every_mistake_of_one_file_at_once() {
    let bad = GOOD
        .replace("name: demo", "name: Demo")
        .replace("spec:\n  mx", "spec:\n  jobMode: MXTrian\n  mx")
        .replace("Worker", "Wroker")
        .replace("replicas: 1", "replicas: -2")
        .replace("image: mxnet", "args: [1.5, yes]");
    let folder = folder("job.yaml", bad);
    insta::assert_snapshot!(told(
        &mxjob(&folder, &["lint", "job.yaml"]).output().unwrap()
    ));
}

#[test]
fn text_that_is_not_utf_8() {
    assert_told(
        b"kind: MXJob\nmetadata:\n  name: caf\xe9\n",
        "job.yaml:3:12: error: not UTF-8 text (byte 0xe9 at offset 33): save the file as UTF-8\n\
         0 jobs: 1 error\nexit code 2",
    );
}

#[test]
fn files_that_are_not_there() {
    let folder = folder("job.yaml", GOOD);
    let output = mxjob(&folder, &["lint", "no.yaml", ".", "job.yaml"])
        .output()
        .unwrap();
    let wanted = "no.yaml: error: no such file\n.: error: is a directory: name the files in it\n\
                  1 job: 2 errors\nexit code 2";
    assert_eq!(told(&output), wanted);
}

// contract: 11.2, 11.15
#[test]
fn standard_input() {
    let folder = TempDir::new().unwrap();
    let mut child = mxjob(&folder, &["lint", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let text = GOOD.replace("name: mxnet", "name: main");
    child
        .stdin
        .take()
        .unwrap()
        .write_all(text.as_bytes())
        .unwrap();
    let wanted = "<stdin>:11:11: error: spec.mxReplicaSpecs.Worker.template.spec.containers: needs a container named \
                  mxnet\n1 job: 1 error\nexit code 1";
    assert_eq!(told(&child.wait_with_output().unwrap()), wanted);
}

#[test]
fn json_is_yaml() {
    let json = r#"{"apiVersion": "kubeflow.org/v1", "kind": "MXJob", "metadata": {"name": "demo"},
  "spec": {"mxReplicaSpecs": {"Worker": {"replicas": true, "template": {"spec": {"containers": [{"name": "mxnet", "image": "i"}]}}}}}}"#;
    assert_told(
        json,
        "job.yaml:2:42: error: spec.mxReplicaSpecs.Worker.replicas: must be an integer, not true\n\
         1 job: 1 error\nexit code 1",
    );
}

/// What an anchor holds is wrong in one place, however often it is used.
#[test]
fn anchors_aliases_and_merge_keys() {
    let text = "\
apiVersion: kubeflow.org/v1
kind: MXJob
metadata: {generateName: demo-}
spec:
  mxReplicaSpecs:
    Scheduler: &base
      template: {spec: {containers: [{name: mxnet, image: 3}]}}
    Server:
      <<: *base
      replicas: 2
    Worker: *base
";
    assert_told(
        text.replace("image: 3", "image: i"),
        "1 job: nothing to complain about\nexit code 0",
    );
    assert_told(
        text,
        "job.yaml:7:52: error: spec.mxReplicaSpecs.Scheduler.template.spec.containers[0].image: must be a string, \
         not 3: put it in quotes\n1 job: 1 error\nexit code 1",
    );
}

#[test]
fn an_alias_bomb() {
    let line = |(above, here): (char, char)| {
        format!(
            "{here}: &{here} [{}]\n",
            [format!("*{above}").as_str(); 9].join(",")
        )
    };
    let lines: String = "abcdefgh"
        .chars()
        .zip("bcdefghi".chars())
        .map(line)
        .collect();
    let bomb = format!("a: &a [x,x,x,x,x,x,x,x,x]\n{lines}");
    assert_told(
        bomb,
        "job.yaml:6:14: error: too large, with its aliases expanded: 250000 values at most\n0 jobs: 1 error\nexit code 1",
    );
}

#[test]
fn a_file_that_is_nested_too_deep() {
    let told = "error: nested too deep: 64 levels at most\n0 jobs: 1 error\nexit code 1";
    let flow = format!("a: {}{}", "[".repeat(80), "]".repeat(80));
    assert_told(flow, &format!("job.yaml:1:67: {told}"));
    let levels = (0..80).map(|level| format!("{}a:\n", " ".repeat(level)));
    assert_told(
        levels.collect::<String>(),
        &format!("job.yaml:65:65: {told}"),
    );
}

// contract: 11.2
#[test]
fn annotations_for_github() {
    let folder = folder("job.yaml", GOOD.replace("replicas: 1", "replicas: 50%"));
    let output = mxjob(&folder, &["lint", "-o", "github", "job.yaml"])
        .output()
        .unwrap();
    let wanted = "::error file=job.yaml,line=8,col=7,title=spec.mxReplicaSpecs.Worker.replicas::must be an integer, \
                  not the string \"50%25\"\n1 job: 1 error\nexit code 1";
    assert_eq!(told(&output), wanted);
}

// contract: 11.2
#[test]
fn objects_for_programs() {
    let folder = folder("job.yaml", GOOD.replace("replicas: 1", "replicas: -2"));
    insta::assert_snapshot!(told(
        &mxjob(&folder, &["lint", "-o", "json", "job.yaml"])
            .output()
            .unwrap()
    ));
    let none = mxjob(&folder, &["lint", "-o", "json", "-"])
        .output()
        .unwrap();
    assert!(none.stdout.starts_with(b"[\n"));
}

#[test]
fn no_colours_where_there_is_no_terminal() {
    let folder = folder("job.yaml", "");
    let output = mxjob(&folder, &["lint", "job.yaml"])
        .env("CLICOLOR_FORCE", "1")
        .output()
        .unwrap();
    assert!(!output.stdout.contains(&0x1b));
}
