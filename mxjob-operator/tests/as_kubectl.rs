//! Manifests as kubectl reads and prints them: lists, numbers.
#![allow(clippy::unwrap_used, missing_docs, reason = "tests")]

mod command;

use command::mxjob;
use serde_json::Value;

const LIST: &str = "\
apiVersion: kubeflow.org/v1alpha1
kind: MXJob
metadata: {name: digits}
spec:
  jobMode: dist
  replicaSpecs:
  - mxReplicaType: SCHEDULER
    PsRootPort: 9000
    template: {spec: {containers: [{name: mxnet, image: mxnet}]}}
  - mxReplicaType: SERVER
    template: {spec: {containers: [{name: mxnet, image: mxnet}]}}
  - replicas: 2
    template: {spec: {containers: [{name: mxnet}]}}
";

const MAP: &str = "\
apiVersion: kubeflow.org/v1beta1
kind: MXJob
metadata: {name: digits}
spec:
  cleanPodPolicy: None
  mxReplicaSpecs:
    Worker:
      template: {spec: {containers: [{name: mxnet, image: mxnet}]}}
";

fn lint(manifest: &str) -> (i32, String) {
    let (code, out, err) = mxjob(&["lint", "job.yaml"], manifest);
    (code, out + &err)
}

fn converted(to: &str, manifest: &str) -> Value {
    let (code, out, err) = mxjob(&["convert", "job.yaml", "--to", to], manifest);
    assert_eq!(code, 0, "{err}");
    serde_saphyr::from_str(&out).unwrap()
}

// contract: 12.8
#[test]
fn a_list_as_kubectl_prints_it_is_its_jobs() {
    let indented = format!("  {}\n", MAP.trim_end().replace('\n', "\n  "));
    let item = indented.replacen("  ", "- ", 1);
    let list = |kind: &str, items: &str| format!("apiVersion: v1\nkind: {kind}\nitems:\n{items}");
    let two = item.clone() + &item.replace("digits", "letters");
    for kind in ["List", "MXJobList"] {
        let (code, text) = lint(&list(kind, &two));
        assert!(
            code == 0 && text.ends_with("2 jobs: 2 warnings\n"),
            "{text}"
        );
        let (code, out, told) = mxjob(&["convert", "job.yaml"], &list(kind, &two));
        assert_eq!(code, 0, "{told}");
        assert_eq!(
            out.matches("apiVersion: kubeflow.org/v1\n").count(),
            2,
            "{out}"
        );
        assert!(out.contains("name: letters"), "{out}");
    }
    let wrong = two.replacen("cleanPodPolicy: None", "cleanPodPolicy: Nine", 1);
    let (code, text) = lint(&list("List", &wrong));
    assert!(
        code == 1 && text.contains("job.yaml:8:5: error: spec.cleanPodPolicy"),
        "{text}"
    );
    let (code, text) = lint("apiVersion: v1\nkind: List\nitems: []\n");
    assert!(
        code == 1 && text.contains("is empty: there is no MXJob in it"),
        "{text}"
    );
}

// contract: 12.8
#[test]
fn numbers_and_names_are_read_as_kubectl_reads_them() {
    let whole = LIST.replacen("replicas: 2", "replicas: 2.0", 1);
    let (code, text) = lint(&whole);
    assert_eq!(code, 0, "{text}");
    assert_eq!(
        converted("v1", &whole)["spec"]["mxReplicaSpecs"]["Worker"]["replicas"],
        2
    );
    let (code, text) = lint(&LIST.replacen("replicas: 2", "replicas: 2.5", 1));
    assert!(
        code == 1 && text.contains("must be an integer, not 2.5"),
        "{text}"
    );
    // As it was read it is not what was written.
    let (code, text) = lint(&LIST.replacen("name: digits", "name: 012", 1));
    let quotes = "error: metadata.name: must be a string, not 10: put it in quotes\n";
    assert!(code == 1 && text.contains(quotes), "{text}");
    assert!(!text.contains("give the job a name"), "{text}");
}

#[test]
fn two_ports_of_one_name_in_a_container_are_told() {
    let ports = "{name: mxnet, image: mxnet, ports: [{name: http, containerPort: 1}, {name: http, containerPort: 2}]}";
    let (code, text) = lint(&MAP.replacen("{name: mxnet, image: mxnet}", ports, 1));
    let told = "containers[0].ports[1].name: another port of the container is named http: the API server refuses such a pod";
    assert!(code == 0 && text.contains(told), "{text}");
}
