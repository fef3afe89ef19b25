//! Manifests of the oldest group: every command takes them as they are.
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

fn dist() -> String {
    sample("mlkube-v1beta1-dist.yaml")
}

fn local() -> String {
    sample("mlkube-v1beta1-local.yaml")
}

// contract: 12.25, 12.29
#[test]
fn lint_and_plan_take_the_published_manifests() {
    let every = ["scheduler-RRRR-0", "server-RRRR-1", "worker-RRRR-2"].as_slice();
    for (manifest, job, replicas) in [
        (dist(), "example-dist-job", every),
        (local(), "example-local-job", &["worker-RRRR-0"]),
    ] {
        let (code, out, err) = mxjob(&["lint", "job.yaml"], &manifest);
        assert!(code == 0 && !out.contains("error"), "{out}{err}");
        assert!(out.contains("v1beta1 is an older version"), "{out}");
        let (code, out, err) = mxjob(&["plan", "job.yaml"], &manifest);
        assert_eq!(code, 0, "{err}");
        let objects: Vec<Value> = serde_saphyr::from_multiple(&out).unwrap();
        for replica in replicas {
            let wanted = format!("{job}-{replica}");
            let named = |one: &&Value| one["metadata"]["name"] == wanted.as_str();
            assert_eq!(
                objects.iter().filter(named).count(),
                2,
                "a service and a Job"
            );
        }
        let batch = objects.iter().filter(|one| one["kind"] == "Job");
        let batch: Vec<_> = batch.map(|one| &one["apiVersion"]).collect();
        assert_eq!(batch.len() * 2, objects.len());
        assert!(batch.iter().all(|version| **version == "batch/v1"));
        for object in &objects {
            let metadata = &object["metadata"];
            let owner = &metadata["ownerReferences"][0];
            assert_eq!(owner["apiVersion"], "mxnet.mlkube.io/v1beta1");
            assert_eq!(owner["kind"], "MxJob");
            assert_eq!(metadata["labels"]["mxnet.mlkube.io"], "");
        }
    }
}

// contract: 12.25
#[test]
fn mistakes_are_told_where_they_stand_in_the_words_of_the_group() {
    let said = |manifest: &str| {
        let (code, out, err) = mxjob(&["lint", "job.yaml"], manifest);
        (code, out + &err)
    };
    for (manifest, wanted) in [
        (
            dist().replace("\"dist\"", "\"both\""),
            "job.yaml:6:3: error: spec.jobMode: unkonw job mode both: must be dist or local",
        ),
        (
            dist().replace("  jobMode: \"dist\"\n", ""),
            "error: spec.jobMode: unkonw job mode",
        ),
        (
            local().replace("replicas: 1", "replicas: 2"),
            "error: spec.replicaSpecs: job mode is local, but it has more than 1 worker",
        ),
        (
            dist().replace("mxReplicaType: SERVER", "mxReplicaType: BOSS"),
            "mxReplicaType: MxReplicaSpec.MxReplicaType is BOSS but must be one of [SCHEDULER SERVER WORKER]",
        ),
        (
            dist().replacen("name: mxnet\n", "name: train\n", 1),
            "spec.replicaSpecs[0].template: Replica type SCHEDULER is missing a container for mxnet",
        ),
        (
            dist().replace("MxJob", "MXJob"),
            "error: kind: unknown kind \"MXJob\": did you mean MxJob?",
        ),
        (
            dist().replace("v1beta1", "v1"),
            "fioravanzo.org/v1alpha1, mxnet.mlkube.io/v1beta1",
        ),
    ] {
        let (code, text) = said(&manifest);
        assert!(code == 1 && text.contains(wanted), "{wanted}: {text}");
    }
    // Fields of another group.
    let (code, text) = said(&dist().replace("spec:\n  job", "spec:\n  mxImage: i\n  job"));
    assert_eq!(code, 0, "{text}");
    assert!(
        text.contains("spec.mxImage: unknown field, it is ignored"),
        "{text}"
    );
}

// contract: 12.25
#[test]
fn convert_prints_a_job_of_the_own_group() {
    let (code, out, err) = mxjob(&["convert", "job.yaml"], &dist());
    assert_eq!(code, 0, "{err}");
    let job: Value = serde_saphyr::from_str(&out).unwrap();
    assert_eq!(job["apiVersion"], "kubeflow.org/v1");
    assert_eq!(job["kind"], "MXJob");
    let spec = &job["spec"];
    assert_eq!(spec["runPolicy"]["retryableExitCodes"][0], "128-255");
    assert_eq!(spec["cleanPodPolicy"], "None");
    assert_eq!(spec["mxReplicaSpecs"]["Worker"]["replicas"], 3);
    // What is printed is a valid job.
    let (code, text, _) = mxjob(&["lint", "job.yaml"], &out);
    assert_eq!(code, 0, "{text}");
    for version in ["v1alpha1", "v1beta1"] {
        let (code, out, err) = mxjob(&["convert", "job.yaml", "--to", version], &local());
        let wanted =
            "error: example-local-job is of mxnet.mlkube.io: it can be printed as v1 alone\n";
        assert!(
            code == 2 && out.is_empty() && err.ends_with(wanted),
            "{out}{err}"
        );
    }
}

// contract: 12.25, 12.26
#[test]
fn run_runs_jobs_of_the_group_on_this_machine() {
    let entry = |role: &str, script: &str| {
        format!(
            "  - mxReplicaType: {role}\n    template: {{spec: {{containers: [{{name: mxnet, image: i, \
             command: [sh, -c, '{script}']}}]}}}}\n"
        )
    };
    let job = |mode: &str, entries: &[String]| {
        format!(
            "apiVersion: mxnet.mlkube.io/v1beta1\nkind: MxJob\nmetadata: {{name: digits}}\n\
             spec:\n  jobMode: {mode}\n  replicaSpecs:\n{}",
            entries.concat()
        )
    };
    let dmlc = "echo dmlc: $(env | grep ^DMLC_ | sort | cut -d= -f1).";
    let all = |script: &str| {
        let says = format!("{dmlc}; touch here-$DMLC_ROLE");
        let others = [entry("SERVER", &says), entry("WORKER", &says)];
        job(
            "dist",
            &[[entry("SCHEDULER", script)].as_slice(), &others].concat(),
        )
    };
    let last =
        "until [ -e here-server -a -e here-worker ]; do sleep 0.01; done; echo $DMLC_ROLE decides";
    let (code, out, err) = mxjob(&["run", "job.yaml"], &all(last));
    assert_eq!(code, 0, "{out}{err}");
    let text = out + &err;
    assert!(text.contains("scheduler decides"), "{text}");
    let wanted = "DMLC_NUM_SERVER DMLC_NUM_WORKER DMLC_PS_ROOT_PORT DMLC_PS_ROOT_URI DMLC_ROLE \
                  DMLC_USE_KUBERNETES";
    assert!(text.contains(wanted), "{text}");
    assert_eq!(mxjob(&["run", "job.yaml"], &all("exit 3")).0, 1);

    let (code, out, err) = mxjob(
        &["run", "job.yaml"],
        &job("local", &[entry("WORKER", dmlc)]),
    );
    assert_eq!(code, 0, "{out}{err}");
    assert!((out + &err).contains("dmlc: ."));
    // Codes from 128 are tried again.
    let again = "[ -e tried ] || { touch tried; exit 200; }; echo the second time";
    let (code, out, err) = mxjob(
        &["run", "job.yaml"],
        &job("local", &[entry("WORKER", again)]),
    );
    assert_eq!(code, 0, "{out}{err}");
    assert!((out + &err).contains("the second time"));
}
