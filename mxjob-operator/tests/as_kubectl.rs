//! Manifests as kubectl reads and prints them: lists, numbers, what was stored, fields that it refuses.
#![allow(clippy::unwrap_used, missing_docs, reason = "tests")]

mod command;
mod older;

use command::mxjob;
use older::{LIST, MAP, assert_refused, converted, lint};

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

// The first operator stored a job that said no mode so, and a digit may come first in its names.
#[test]
fn what_the_first_operator_stored_is_as_if_it_said_nothing() {
    let none = LIST.replace("  jobMode: dist\n", "");
    let (code, wanted, err) = mxjob(&["plan", "job.yaml"], &none);
    assert_eq!(code, 0, "{err}");
    let empty = LIST.replace("jobMode: dist", "jobMode: ''");
    let (code, out, err) = mxjob(&["plan", "job.yaml"], &empty);
    assert_eq!((code, out), (0, wanted), "{err}");
    assert_eq!(converted("v1", &empty), converted("v1", &none));
    let own = LIST.replace("jobMode: dist", "RuntimeId: 0a1b");
    let (code, out, err) = mxjob(&["plan", "job.yaml"], &own);
    let name = "name: digits-worker-0a1b-1\n";
    assert!(code == 0 && out.contains(name), "{out}{err}");
    assert_refused(
        &LIST.replace("jobMode: dist", "RuntimeId: 0A1B"),
        "job.yaml:5:3: error: spec.RuntimeId: must be four lower-case letters and digits",
    );
}

// contract: 12.49
#[test]
fn a_field_in_another_spelling_is_a_mistake() {
    let list = |line: &str| LIST.replacen("\nspec:", &format!("\nspec:\n  {line}"), 1);
    let map = |line: &str| MAP.replacen("\nspec:", &format!("\nspec:\n  {line}"), 1);
    let entry = |line: &str| {
        LIST.replacen(
            "  - replicas: 2",
            &format!("  - replicas: 2\n    {line}"),
            1,
        )
    };
    let both =
        list("cleanPodPolicy: Running").replace("Running", "Running\n  cleanupPodPolicy: None");
    for (manifest, path, name) in [
        (
            list("cleanPodPolicy: Running"),
            "spec.cleanPodPolicy",
            "cleanupPodPolicy",
        ),
        (both, "spec.cleanPodPolicy", "cleanupPodPolicy"),
        (
            map("cleanupPodPolicy: Running"),
            "spec.cleanupPodPolicy",
            "cleanPodPolicy",
        ),
        (list("runtimeId: ab12"), "spec.runtimeId", "RuntimeId"),
        (
            entry("psRootPort: 9000"),
            "spec.replicaSpecs[2].psRootPort",
            "PsRootPort",
        ),
    ] {
        let line = line_of(&manifest, &format!("{}:", path.rsplit('.').next().unwrap()));
        let column = if path.contains('[') { 5 } else { 3 };
        let told = "unknown field, the API server drops it: write";
        assert_refused(
            &manifest,
            &format!("job.yaml:{line}:{column}: error: {path}: {told} {name}"),
        );
        let (code, out, _) = mxjob(&["convert", "job.yaml"], &manifest);
        assert_eq!((code, out.as_str()), (2, ""), "{path}");
    }
}

fn line_of(text: &str, word: &str) -> String {
    let before = text.lines().take_while(|line| !line.contains(word));
    (before.count() + 1).to_string()
}

// contract: 12.9
#[test]
fn convert_tells_of_a_roles_defaults_only_where_they_are_others() {
    let newest = MAP.replace("v1beta1", "v1");
    let (_, _, told) = mxjob(&["convert", "job.yaml", "--to", "v1beta1"], &newest);
    assert_eq!(told.matches("cannot say").count(), 1, "{told}");
    let (_, _, told) = mxjob(&["convert", "job.yaml", "--to", "v1alpha1"], &newest);
    let policy = "Worker.restartPolicy is not set (there it is \"ExitCode\")";
    assert!(told.contains(policy), "{told}");
    let ports = "{name: mxnet, image: mxnet, ports: [{name: metrics, containerPort: 8080}]}";
    let ports = newest.replacen("{name: mxnet, image: mxnet}", ports, 1);
    assert_ne!(ports, newest);
    let (_, out, told) = mxjob(&["convert", "job.yaml", "--to", "v1beta1"], &ports);
    assert_eq!(told.matches("cannot say").count(), 1, "{told}");
    assert!(
        out.contains("containerPort: 8080") && out.contains("containerPort: 9091"),
        "{out}"
    );
}

// contract: 12.9
#[test]
fn convert_prints_any_version_and_tells_what_is_left_out() {
    let v1 = converted("v1", LIST);
    assert_eq!(v1["apiVersion"], "kubeflow.org/v1");
    assert_eq!(v1["spec"]["mxReplicaSpecs"]["Worker"]["replicas"], 2);
    assert_eq!(v1["metadata"], serde_json::json!({"name": "digits"}));
    let (_, _, told) = mxjob(&["convert", "job.yaml"], LIST);
    assert!(!told.contains("left out"), "{told}");
    // What stands elsewhere in the new form was not left out.
    let elsewhere = LIST.replacen(
        "  jobMode: dist\n",
        "  jobMode: dist\n  schedulerName: kube-batch\n  mxImage: mxnet:1\n",
        1,
    );
    let (code, out, told) = mxjob(&["convert", "job.yaml"], &elsewhere);
    assert!(code == 0 && !told.contains("left out"), "{told}");
    assert_eq!(out.matches("schedulerName: kube-batch").count(), 3, "{out}");
    assert_eq!(out.matches("image: mxnet:1").count(), 1, "{out}");
    let chief = "  terminationPolicy: {chief: {replicaName: WORKER, replicaIndex: 1}}\n";
    let chief = LIST.replacen("spec:\n", &format!("spec:\n{chief}"), 1);
    let (_, _, told) = mxjob(&["convert", "job.yaml"], &chief);
    assert!(
        told.contains("v1 cannot say spec.terminationPolicy.chief.replicaIndex: 1: left out"),
        "{told}"
    );

    let list = converted("v1alpha1", MAP);
    assert_eq!(list["spec"]["replicaSpecs"][0]["mxReplicaType"], "WORKER");
    assert_eq!(list["spec"]["cleanupPodPolicy"], "None");
    let map = converted("v1beta1", LIST);
    assert_eq!(map["spec"]["cleanPodPolicy"], "All");

    let (_, _, told) = mxjob(&["convert", "job.yaml", "--to", "v1beta1"], LIST);
    assert!(!told.contains("left out"), "{told}");
    let newest = MAP.replace("v1beta1", "v1");
    let (_, _, told) = mxjob(&["convert", "job.yaml", "--to", "v1beta1"], &newest);
    let default = "cannot say that spec.runPolicy is not set (there it is {\"retryableExitCodes\"";
    assert!(told.contains(default), "{told}");

    // A port that serves under its user's own name keeps it, and v1 finds the job's port by name.
    let named = "{name: mxnet, image: mxnet, ports: [{name: http, containerPort: 9000}]}";
    let named = LIST.replacen("{name: mxnet, image: mxnet}", named, 1);
    let (code, out, told) = mxjob(&["convert", "job.yaml"], &named);
    let left = "warning: digits: v1 cannot say Scheduler.PsRootPort: 9000: left out\n";
    assert!(code == 0 && told.contains(left), "{code} {told}");
    assert!(
        out.contains("- name: http\n              containerPort: 9000\n"),
        "{out}"
    );
    let met = "warning: digits: Scheduler is met at port 9091 at v1, not at 9000: ";
    assert!(told.contains(met), "{told}");
    let (_, _, told) = mxjob(&["convert", "job.yaml"], LIST);
    assert!(
        !told.contains("PsRootPort") && !told.contains("is met"),
        "{told}"
    );

    // The default of another group is said nowhere, and is another one here.
    let other = named.replace("kubeflow.org", "fioravanzo.org");
    let other = other
        .replace("    PsRootPort: 9000\n", "")
        .replace("  jobMode: dist\n", "")
        .replace("- replicas: 2", "- mxReplicaType: WORKER\n    replicas: 2");
    let (code, _, told) = mxjob(&["convert", "job.yaml"], &other);
    assert!(code == 0 && told.contains(met), "{code} {told}");
    // The kubelet goes by the template's own policy in lists alone.
    let again = LIST.replacen("{spec: {", "{spec: {restartPolicy: OnFailure, ", 1);
    let (_, _, told) = mxjob(&["convert", "job.yaml"], &again);
    let policy = "the template of Scheduler says restartPolicy OnFailure, which v1 does not go by: its containers get Never";
    assert!(told.contains(policy), "{told}");

    let service = "---\napiVersion: v1\nkind: Service\nmetadata: {name: s}\n";
    let (code, _, told) = mxjob(&["convert", "job.yaml"], &format!("{MAP}{service}"));
    assert!(
        code == 0 && told.contains("1 document of another kind left out: Service"),
        "{told}"
    );
    let tuning = ["TunerTracker", "TunerServer", "Tuner"]
        .map(|role| {
            MAP.lines()
                .skip(6)
                .map(|line| line.replace("Worker", role) + "\n")
        })
        .into_iter()
        .flatten();
    let tuning: String = MAP
        .lines()
        .take(6)
        .map(|line| line.to_owned() + "\n")
        .chain(tuning)
        .collect();
    let (code, out, told) = mxjob(&["convert", "job.yaml", "--to", "v1alpha1"], &tuning);
    assert_eq!((code, out.as_str()), (2, ""), "{told}");
    assert!(
        told.contains("error: digits cannot be said at v1alpha1: "),
        "{told}"
    );

    let (code, out, err) = mxjob(&["convert", "job.yaml", "--to", "v2"], MAP);
    assert_eq!((code, out.as_str()), (2, ""));
    assert!(
        err.contains("[possible values: v1alpha1, v1beta1, v1]"),
        "{err}"
    );
    let (code, out, _) = mxjob(&["convert", "job.yaml"], &LIST.replace("dist", "fast"));
    assert_eq!((code, out.as_str()), (2, ""));
}
