//! Manifests of the older versions: `mxjob lint`, `plan` and `convert` take them as they are.
#![allow(clippy::unwrap_used, missing_docs, reason = "tests")]

mod command;
mod older;

use command::mxjob;
use older::{LIST, MAP, assert_refused, converted, lint};
use serde_json::Value;

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
    // What the list lacks is not told: it may be what the wrong word means.
    assert_refused(
        &LIST.replace("mxReplicaType: SCHEDULER", "mxReplicaType: scheduler"),
        "job.yaml:7:5: error: spec.replicaSpecs[0].mxReplicaType: mxReplicaSpec.MXReplicaType is scheduler but \
         must be one of [SCHEDULER SERVER WORKER]",
    );
    // The pods get the template's.
    let spec = "{spec: {containers: [{name: mxnet}]}}";
    assert_refused(
        &LIST.replace(
            spec,
            "{spec: {restartPolicy: onFailure, containers: [{name: mxnet}]}}",
        ),
        "job.yaml:13:23: error: spec.replicaSpecs[2].template.spec.restartPolicy: must be one of \"\", Always, \
         OnFailure, Never, not \"onFailure\"; did you mean OnFailure?",
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
        "job.yaml:12:5: error: spec.replicaSpecs[2]: ReplicaSpecs contain nil: say what the entry is, \
         or leave it out",
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
        "job.yaml:13:5: error: spec.replicaSpecs[2].template: Replica is missing Template",
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
