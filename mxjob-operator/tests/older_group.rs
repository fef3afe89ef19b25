//! Manifests of the older group: every command takes them as they are.
#![allow(clippy::unwrap_used, missing_docs, reason = "tests")]

mod command;

use std::fs;
use std::path::Path;

use command::mxjob;
use serde_json::Value;

/// A published manifest.
fn sample(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../mxjob-core/tests/data");
    fs::read_to_string(folder.join(name)).unwrap()
}

fn linear() -> String {
    sample("fioravanzo-v1alpha1-linear.yaml")
}

// contract: 12.21
#[test]
fn lint_and_plan_take_the_published_manifests() {
    for (name, job) in [
        ("fioravanzo-v1alpha1-linear.yaml", "mx-test-dist"),
        ("fioravanzo-v1alpha1-gpu.yaml", "mx-cifar-gpu"),
    ] {
        let (code, out, err) = mxjob(&["lint", "job.yaml"], &sample(name));
        assert!(code == 0 && !out.contains("error"), "{out}{err}");
        assert!(out.contains("v1alpha1 is an older version"), "{out}");
        let (code, out, err) = mxjob(&["plan", "job.yaml"], &sample(name));
        assert_eq!(code, 0, "{err}");
        let objects: Vec<Value> = serde_saphyr::from_multiple(&out).unwrap();
        let names = objects
            .iter()
            .map(|object| object["metadata"]["name"].as_str());
        let names: Vec<_> = names.collect();
        for role in ["scheduler", "server", "worker"] {
            let wanted = format!("{job}-{role}-RRRR-0");
            let found = names.iter().filter(|name| **name == Some(wanted.as_str()));
            assert_eq!(found.count(), 2, "a service and a pod: {names:?}");
        }
        let owners = objects
            .iter()
            .map(|one| &one["metadata"]["ownerReferences"]);
        for owner in owners.map(|owners| &owners[0]) {
            assert_eq!(owner["apiVersion"], "fioravanzo.org/v1alpha1");
        }
    }
}

// contract: 12.21
#[test]
fn mistakes_are_told_in_the_words_of_the_group() {
    let said = |manifest: &str| {
        let (code, out, err) = mxjob(&["lint", "job.yaml"], manifest);
        (code, out + &err)
    };
    let (code, text) = said(&linear().replacen("SERVER", "WORKER", 1));
    assert_eq!(code, 1, "{text}");
    assert!(
        text.contains("two entries of one mxReplicaType: keep one"),
        "{text}"
    );
    for (field, wanted) in [
        // As the other group calls it.
        (
            "PsRootPort: 9091",
            "spec.replicaSpecs[2].PsRootPort: unknown field, it is ignored",
        ),
        (
            "mxPort: 0",
            "spec.replicaSpecs[2].mxPort: must be 1 or more, not 0",
        ),
    ] {
        let (_, text) = said(&linear().replacen("mxReplicaType: WORKER", field, 1));
        assert!(text.contains(wanted), "{text}");
    }
    let other = linear().replace("fioravanzo.org/v1alpha1", "fioravanzo.org/v1");
    let (code, text) = said(&other);
    assert_eq!(code, 1, "{text}");
    let known = "this build reads kubeflow.org/v1alpha1, kubeflow.org/v1beta1, kubeflow.org/v1, \
                 fioravanzo.org/v1alpha1";
    assert!(text.contains(known), "{text}");
}

// contract: 12.21
#[test]
fn convert_prints_a_job_of_the_own_group_and_tells_what_is_left_out() {
    let (code, out, err) = mxjob(&["convert", "job.yaml"], &linear());
    assert_eq!(code, 0, "{err}");
    let job: Value = serde_saphyr::from_str(&out).unwrap();
    assert_eq!(job["apiVersion"], "kubeflow.org/v1");
    assert_eq!(job["metadata"], serde_json::json!({"name": "mx-test-dist"}));
    let spec = &job["spec"];
    assert_eq!(spec["runPolicy"]["retryableExitCodes"][0], "128-255");
    assert_eq!(spec["cleanPodPolicy"], "None");
    let scheduler = &spec["mxReplicaSpecs"]["Scheduler"]["template"]["spec"]["containers"][0];
    assert_eq!(scheduler["ports"][0]["containerPort"], 9000);
    // What is printed is a valid job.
    let (code, text, _) = mxjob(&["lint", "job.yaml"], &out);
    assert_eq!(code, 0, "{text}");

    let own = linear().replacen("spec:\n", "spec:\n  RuntimeId: ab12\n", 1);
    let (_, _, told) = mxjob(&["convert", "job.yaml"], &own);
    let left = "warning: mx-test-dist: v1 cannot say spec.RuntimeId: \"ab12\": left out\n";
    assert!(told.contains(left), "{told}");
    let loses = "warning: mx-test-dist: its operator set PS_VERBOSE, v1 does not: write it into env of the templates \
                 where it is needed\n";
    let killed = "warning: mx-test-dist: a replica that ended with OOMKilled had failed for good, at v1 its exit code \
                  decides: a rule of spec.failurePolicy can say so\n";
    for wanted in [loses, killed] {
        assert!(err.contains(wanted), "{err}");
    }
    for version in ["v1alpha1", "v1beta1"] {
        let (code, out, told) = mxjob(&["convert", "job.yaml", "--to", version], &own);
        let why = "error: mx-test-dist is of fioravanzo.org: it can be printed as v1 alone\n";
        assert_eq!((code, out.as_str()), (2, ""), "{told}");
        assert!(told.ends_with(why), "{told}");
    }
}

// contract: 12.21
#[test]
fn run_runs_a_job_of_the_group_on_this_machine() {
    let manifest = "\
apiVersion: fioravanzo.org/v1alpha1
kind: MXJob
metadata: {name: digits}
spec:
  replicaSpecs:
  - template: {spec: {containers: [{name: mxnet, command: [sh, -c, 'echo port $DMLC_PS_ROOT_PORT $PS_VERBOSE']}]}}
  - mxReplicaType: WORKER
    template: {spec: {containers: [{name: mxnet, command: [sh, -c, 'echo done']}]}}
";
    let (code, out, err) = mxjob(&["run", "job.yaml"], manifest);
    assert_eq!(code, 0, "{out}{err}");
    // On this machine the port is any that is free.
    let text = out + &err;
    let said = text.lines().find_map(|line| line.split_once("port "));
    let words: Vec<_> = said.unwrap().1.split_whitespace().collect();
    assert!(words[0].parse::<u16>().is_ok(), "{text}");
    assert_eq!(words[1..], ["2"], "{text}");
    // The scheduler decides.
    let failing = manifest.replace("echo port", "exit 3 #");
    assert_eq!(mxjob(&["run", "job.yaml"], &failing).0, 1);
}
