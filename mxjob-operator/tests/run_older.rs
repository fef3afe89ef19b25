//! Jobs made at `v1alpha1` run here as they do in a cluster: their names, environment and chief.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests"
)]

mod run;

use std::collections::BTreeSet;

use run::{Ended, Job, Machine};
use serde_json::{Value, json};

/// A job of that spec, with the same script for all its replicas, which know their pod's name.
fn job(entries: &[(&str, u32)], script: &str, mut spec: Value) -> Job {
    let name = json!({"name": "NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}});
    let container = json!({"name": "mxnet", "command": ["sh", "-c", script], "env": [name]});
    let entry = |(role, replicas): &(&str, u32)| {
        json!({
            "mxReplicaType": role,
            "replicas": replicas,
            "template": {"spec": {"containers": [container]}},
        })
    };
    spec["replicaSpecs"] = entries.iter().map(entry).collect();
    Job(json!({
        "apiVersion": "kubeflow.org/v1alpha1",
        "kind": "MXJob",
        "metadata": {"name": "digits"},
        "spec": spec,
    }))
}

const ALL: [(&str, u32); 3] = [("SCHEDULER", 1), ("SERVER", 1), ("WORKER", 2)];

/// Says who it is when all four are there; worker `chief` then ends, the others never do.
fn meeting(chief: u32) -> String {
    format!(
        "echo name=$NAME role=$DMLC_ROLE of $DMLC_NUM_SERVER+$DMLC_NUM_WORKER at $DMLC_PS_ROOT_URI \
         port=$DMLC_PS_ROOT_PORT kubernetes=$DMLC_USE_KUBERNETES id=$DMLC_WORKER_ID.; touch here-$NAME; \
         case $DMLC_ROLE$DMLC_WORKER_ID in worker{chief}) \
           while [ $(ls here-* | wc -l) -lt 4 ]; do sleep 0.01; done;; worker*) ;; *) exec sleep 600;; esac"
    )
}

/// What stands behind each `key` that was printed.
fn words(ended: &Ended, key: &str) -> Vec<String> {
    let mut parts = ended.out.split(key);
    parts.next();
    let word = |part: &str| part.split_whitespace().next().unwrap().to_owned();
    parts.map(word).collect()
}

// promise: P2
#[test]
fn the_chief_of_a_dist_job_ends_it_and_names_have_its_runtime_id() {
    let spec = json!({
        "jobMode": "dist",
        "RuntimeId": "ab12",
        "terminationPolicy": {"chief": {"replicaName": "WORKER", "replicaIndex": 1}},
    });
    let ended = Machine::new().run(&job(&ALL, &meeting(1), spec)).end();
    let ended = ended
        .assert_code(0)
        .assert_out("name=digits-scheduler-ab12-0 role=scheduler of 1+2 at 127.0.0.1 ")
        .assert_out("name=digits-server-ab12-0 role=server of 1+2 at 127.0.0.1 ")
        .assert_out("name=digits-worker-ab12-0 role=worker of 1+2 at 127.0.0.1 ")
        .assert_out("name=digits-worker-ab12-1 role=worker of 1+2 at 127.0.0.1 ")
        .assert_out("kubernetes=1 id=1.\n")
        .assert_out("kubernetes=1 id=0.\n")
        .assert_row("scheduler-0", ["Stopped", "143", "0"])
        .assert_row("server-0", ["Stopped", "143", "0"])
        .assert_row("worker-0", ["Succeeded", "0", "0"])
        .assert_row("worker-1", ["Succeeded", "0", "0"]);
    let ports = words(&ended, "port=");
    assert_eq!(ports.len(), 4, "{ended:#?}");
    let port: BTreeSet<u16> = ports.iter().map(|port| port.parse().unwrap()).collect();
    assert_eq!(port.len(), 1, "all meet at the scheduler's: {ports:?}");
}

#[test]
fn a_dist_job_that_gives_no_runtime_id_has_one_and_codes_are_retried_as_its_version_has_it() {
    let machine = Machine::new();
    let script = format!(
        "[ -e tried-$NAME ] || {{ touch tried-$NAME; exit 143; }}; {}",
        meeting(0)
    );
    let chief = json!({"chief": {"replicaName": "WORKER", "replicaIndex": 0}});
    let job = job(&ALL, &script, json!({"terminationPolicy": chief}));
    let ended = machine.run(&job).end().assert_code(0);
    let names = words(&ended, "name=");
    let ids: BTreeSet<_> = names
        .iter()
        .map(|name| name.rsplit('-').nth(1).unwrap())
        .collect();
    assert_eq!((names.len(), ids.len()), (4, 1), "{names:?}");
    let id = ids.first().unwrap();
    assert!(id.len() == 4 && id.starts_with(|first: char| first.is_ascii_lowercase()));
    assert!(
        names.contains(&format!("digits-worker-{id}-1")),
        "{names:?}"
    );
    ended
        .assert_row("scheduler-0", ["Stopped", "143", "1"])
        .assert_row("worker-0", ["Succeeded", "0", "1"]);
}

// promise: P2, P21
// defect: D6
#[test]
fn a_local_job_is_one_worker_without_a_cluster() {
    let script = "echo name=$NAME; echo dmlc: $(env | grep ^DMLC_).; exit $CODE";
    for (code, state) in [("0", "Succeeded"), ("1", "Failed")] {
        // What is set on this machine is not of the job.
        let machine = Machine::new()
            .with("CODE", code)
            .with("DMLC_ROLE", "server");
        let job = job(
            &[("WORKER", 1)],
            script,
            json!({"jobMode": "local", "RuntimeId": "ab12"}),
        );
        let ended = machine.run(&job).end();
        ended
            .assert_code(code.parse().unwrap())
            .assert_out("worker-0 | name=digits-worker-ab12-0\n")
            .assert_out("worker-0 | dmlc: .\n")
            .assert_row("worker-0", [state, code, "0"]);
    }
}
