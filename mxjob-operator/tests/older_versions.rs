//! Manifests of the older versions: `mxjob lint`, `plan` and `convert` take them as they are.
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
fn lint_says_that_they_are_old_and_nothing_about_what_is_not_in_them() {
    let old = |version: &str| {
        format!(
            "job.yaml:1:1: warning: apiVersion: {version} is an older version, and runs as it is: `mxjob convert` \
             prints it as v1\n1 job: 1 warning\n"
        )
    };
    assert_eq!(lint(LIST), (0, old("v1alpha1")));
    assert_eq!(lint(MAP), (0, old("v1beta1")));
}

/// What lint says beside the version.
#[track_caller]
fn assert_refused(manifest: &str, wanted: &str) {
    let (code, text) = lint(manifest);
    let errors: Vec<_> = text
        .lines()
        .filter(|line| line.contains(" error: "))
        .collect();
    assert_eq!((code, errors.join("\n")), (1, wanted.to_owned()));
}

// contract: 12.3, 12.8
// promise: P13, P15
// defect: D8
#[test]
fn mistakes_are_told_where_they_stand_in_the_words_of_their_version() {
    assert_refused(
        &LIST.replace("SERVER", "Server"),
        "job.yaml:10:5: error: spec.replicaSpecs[1].mxReplicaType: mxReplicaSpec.MXReplicaType is Server but \
         must be one of [SCHEDULER SERVER WORKER]",
    );
    assert_refused(
        &LIST.replace("SERVER", "WORKER"),
        "job.yaml:6:3: error: spec.replicaSpecs: two entries of one mxReplicaType: keep one",
    );
    assert_refused(
        &LIST.replace("PsRootPort: 9000", "replicas: 2"),
        "job.yaml:6:3: error: spec.replicaSpecs: The SCHEDULER must have Replicas = 1",
    );
    assert_refused(
        &LIST.replace("jobMode: dist", "terminationPolicy: {}"),
        "job.yaml:5:3: error: spec.terminationPolicy: invalid termination policy: it names no chief",
    );
    assert_refused(
        &LIST.replace(
            "jobMode: dist",
            "terminationPolicy: {chief: {replicaName: WORKER, replicaIndex: 2}}",
        ),
        "job.yaml:6:3: error: spec.replicaSpecs: Missing ReplicaSpec for chief: WORKER: \
         replicaIndex is not below its replicas: 2 of 2, counted from 0",
    );
    assert_refused(
        &LIST.replace(
            "jobMode: dist",
            "terminationPolicy: {chief: {replicaName: Worker, replicaIndex: 0}}",
        ),
        "job.yaml:6:3: error: spec.replicaSpecs: Missing ReplicaSpec for chief: Worker: must be one of \
         [SCHEDULER SERVER WORKER]",
    );
    // Of four entries one is too many, and it is told which.
    let fourth =
        "  - mxReplicaType: EVALUATOR\n    template: {spec: {containers: [{name: mxnet}]}}\n";
    assert_refused(
        &format!("{LIST}{fourth}"),
        "job.yaml:14:5: error: spec.replicaSpecs[3].mxReplicaType: mxReplicaSpec.MXReplicaType is EVALUATOR but \
         must be one of [SCHEDULER SERVER WORKER]",
    );
    assert_refused(
        &format!("{LIST}{}", fourth.replace("EVALUATOR", "WORKER")),
        "job.yaml:6:3: error: spec.replicaSpecs: two entries of one mxReplicaType: keep one",
    );
    assert_refused(
        &LIST.replace("jobMode: dist", "jobMode: local"),
        "job.yaml:6:3: error: spec.replicaSpecs: job mode is local: its only entry must be one WORKER",
    );
    assert_refused(
        &LIST.replace("{name: mxnet}", "{name: train, image: i}"),
        "job.yaml:13:5: error: spec.replicaSpecs[2].template: Replica type WORKER is missing a container named mxnet",
    );
    assert_refused(
        &LIST.replace(
            "  - replicas: 2\n    template: {spec: {containers: [{name: mxnet}]}}\n",
            "  - null\n",
        ),
        "job.yaml:12:5: error: spec.replicaSpecs[2]: must be a map, not empty",
    );
    assert_refused(
        &MAP.replace("cleanPodPolicy: None", "successPolicy: Nobody"),
        "job.yaml:5:3: error: spec.successPolicy: must be one of \"\", AllWorkers, not \"Nobody\"",
    );
    assert_refused(
        &MAP.replace("Worker:", "Server:"),
        "job.yaml:6:3: error: spec.mxReplicaSpecs: MXTrain needs a Scheduler or a Worker (replicas 1 or more)\n\
         job.yaml:7:5: error: spec.mxReplicaSpecs.Server: Server needs a Scheduler (replicas 1 or more)",
    );
}

// contract: 12.43
// promise: P15
// defect: D8
#[test]
fn what_the_api_server_drops_because_it_is_null_is_told() {
    let dropped = "null: the API server drops the entry: say what it is, or leave it out";
    let scheduler = MAP.replace("Worker:", "Scheduler:");
    let null = format!("{scheduler}    Worker: null\n");
    let wanted = format!("job.yaml:9:5: error: spec.mxReplicaSpecs.Worker: {dropped}");
    assert_refused(&null, &wanted);
    assert_refused(&null.replace("v1beta1", "v1"), &wanted);
    for command in ["plan", "run"] {
        let (code, out, err) = mxjob(&[command, "job.yaml"], &null);
        assert_eq!((code, out.as_str()), (2, ""), "{command}");
        assert!(err.contains(&wanted), "{command}: {err}");
    }
    let limits = "{name: mxnet, resources: {limits: {cpu: null}}}";
    let (code, text) = lint(&LIST.replace("{name: mxnet}", limits));
    let place = "spec.replicaSpecs[2].template.spec.containers[0].resources.limits.cpu";
    let wanted = format!("warning: {place}: {dropped}");
    assert!(code == 0 && text.contains(&wanted), "{text}");
    assert_refused(
        &LIST.replace("{spec: {containers: [{name: mxnet}]}}", "null"),
        "job.yaml:13:5: error: spec.replicaSpecs[2].template: is required",
    );
}

// contract: 12.8
// promise: P17, P19
#[test]
fn plan_prints_what_the_operator_would_create() {
    let (code, out, err) = mxjob(&["plan", "job.yaml"], LIST);
    assert_eq!(code, 0, "{err}");
    let pods: Vec<Value> = serde_saphyr::from_multiple(&out).unwrap();
    let pods: Vec<_> = pods
        .iter()
        .filter(|object| object["kind"] == "Pod")
        .collect();
    assert_eq!(pods.len(), 4);
    let note = "# RRRR in names is the RuntimeId, known once the job is stored\n---\n";
    assert!(out.starts_with(note), "{out}");
    let worker = pods
        .iter()
        .find(|pod| pod["metadata"]["name"] == "digits-worker-RRRR-1");
    let own = LIST.replace("jobMode: dist", "RuntimeId: ab12");
    let (_, own, _) = mxjob(&["plan", "job.yaml"], &own);
    assert!(own.starts_with("---\n"), "{own}");
    assert!(own.contains("name: digits-worker-ab12-1\n"), "{own}");
    let container = &worker.unwrap()["spec"]["containers"][0];
    assert_eq!(container["image"], "jzp1025/mxnet:test");
    let port = container["env"].as_array().unwrap().iter();
    let port = port.clone().find(|one| one["name"] == "DMLC_PS_ROOT_PORT");
    assert_eq!(port.unwrap()["value"], "9000");
}

#[test]
fn the_policy_in_another_versions_spelling_is_ignored_and_told_once() {
    let other = LIST.replacen("\nspec:", "\nspec:\n  cleanPodPolicy: Running", 1);
    assert_ne!(other, LIST);
    let told = |manifest: &str| {
        let (code, out, err) = mxjob(&["convert", "job.yaml"], manifest);
        assert_eq!(code, 0, "{err}");
        let of_it: Vec<_> = err
            .lines()
            .filter(|line| line.contains("cleanPodPolicy"))
            .collect();
        let job: Value = serde_saphyr::from_str(&out).unwrap();
        (job["spec"]["cleanPodPolicy"].clone(), of_it.join("\n"))
    };
    let hint = "job.yaml:LINE:3: warning: spec.cleanPodPolicy: unknown field, it is ignored: did you mean \
                cleanupPodPolicy?";
    let hint = hint.replace("LINE", &line_of(&other, "cleanPodPolicy"));
    assert_eq!(told(&other), ("All".into(), hint.clone()));
    let both = other.replace("Running", "Running\n  cleanupPodPolicy: None");
    assert_eq!(told(&both), ("None".into(), hint));
}

// contract: 3.18
#[test]
fn what_the_server_does_not_look_into_is_converted_as_it_is_written() {
    let hook = "lifecycle: {preStop: {soon: {}}}";
    let open = LIST.replacen("name: mxnet,", &format!("name: mxnet, {hook},"), 1);
    assert_ne!(open, LIST);
    let text = converted("v1", &open).to_string();
    assert!(
        text.contains(r#""lifecycle":{"preStop":{"soon":{}}}"#),
        "{text}"
    );
}

fn line_of(text: &str, word: &str) -> String {
    let before = text.lines().take_while(|line| !line.contains(word));
    (before.count() + 1).to_string()
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
    let default = "cannot say that spec.runPolicy is not set, but {\"retryableExitCodes\"";
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
