//! The status of a stored job as the older versions show it.

use crate::versions::{object, stored, to};
use mxjob_core::api::Version;
use mxjob_core::api::v1alpha1::JobStatus;
use proptest::prelude::*;
use serde_json::{Value, json};

/// A job of one scheduler and three workers with that status.
fn job(status: Value) -> Value {
    let role = |count: u32| {
        let pod = json!({"containers": [{"name": "mxnet", "image": "i"}]});
        json!({"replicas": count, "template": {"spec": pod}})
    };
    let mut job = object(
        Version::V1,
        json!({"mxReplicaSpecs": {"Scheduler": role(1), "worker": role(3)}}),
    );
    job["status"] = status;
    job
}

fn alpha(job: &Value) -> JobStatus {
    serde_json::from_value(to(Version::V1Alpha1, job)["status"].clone()).unwrap()
}

fn condition(kind: &str, is: bool, reason: &str) -> Value {
    let status = if is { "True" } else { "False" };
    json!({"type": kind, "status": status, "reason": reason, "message": "because"})
}

// contract: 12.5
// promise: P41, P42, P46, P52, P68
#[test]
fn phases_and_states() {
    let created = condition("Created", true, "MXJobCreated");
    let active = json!({"Worker": {"active": 1}});
    let with = |kind: &str, reason: &str| json!([created, condition(kind, true, reason)]);
    let cases = [
        (json!([]), json!({}), "", "", ""),
        (json!([created]), json!({}), "Creating", "Running", ""),
        (
            with("Running", "r"),
            active.clone(),
            "Running",
            "Running",
            "",
        ),
        (with("Restarting", "r"), json!({}), "Running", "Running", ""),
        (with("Suspended", "r"), json!({}), "Creating", "Running", ""),
        (
            with("Succeeded", "r"),
            active.clone(),
            "CleanUp",
            "Succeeded",
            "",
        ),
        (with("Succeeded", "r"), json!({}), "Done", "Succeeded", ""),
        (
            with("Failed", "MXJobFailed"),
            active.clone(),
            "CleanUp",
            "Failed",
            "because",
        ),
        (
            with("Failed", "MXJobFailed"),
            json!({}),
            "Done",
            "Failed",
            "because",
        ),
        (
            with("Failed", "FailedInvalidMXJobSpec"),
            json!({}),
            "Failed",
            "Failed",
            "because",
        ),
        (
            json!([created, condition("Running", false, "r")]),
            json!({}),
            "Creating",
            "Running",
            "",
        ),
    ];
    for (conditions, replicas, phase, state, reason) in cases {
        let status = json!({"conditions": conditions, "replicaStatuses": replicas});
        let got = alpha(&job(status.clone()));
        let got = [got.phase.as_str(), &got.state, &got.reason];
        assert_eq!(got, [phase, state, reason], "{status}");
    }
}

#[test]
fn a_job_that_keeps_its_pods_is_done_at_its_end() {
    let mut job = job(json!({
        "conditions": [condition("Succeeded", true, "r")],
        "replicaStatuses": {"Worker": {"active": 1}},
    }));
    job["spec"]["runPolicy"] = json!({"cleanPodPolicy": "None"});
    assert_eq!(alpha(&job).phase, "Done");
}

// contract: 12.5
// promise: P43, P44, P45
#[test]
fn replica_states_add_up() {
    let created = condition("Created", true, "r");
    let ended = condition("Succeeded", true, "r");
    let cases = [
        (json!([]), json!({}), "Unknown", json!({"Unknown": 3})),
        (
            json!([created]),
            json!({}),
            "Starting",
            json!({"Starting": 3}),
        ),
        (
            json!([created]),
            json!({"active": 2}),
            "Running",
            json!({"Running": 2, "Starting": 1}),
        ),
        (
            json!([created]),
            json!({"active": 1, "failed": 1, "succeeded": 1}),
            "Failed",
            json!({"Failed": 1, "Running": 1, "Succeeded": 1}),
        ),
        (
            json!([created]),
            json!({"succeeded": 3}),
            "Succeeded",
            json!({"Succeeded": 3}),
        ),
        (
            json!([created]),
            json!({"active": 9}),
            "Running",
            json!({"Running": 3}),
        ),
        (
            json!([created, ended]),
            json!({"succeeded": 2}),
            "Unknown",
            json!({"Succeeded": 2, "Unknown": 1}),
        ),
    ];
    for (conditions, counts, state, states) in cases {
        let status = json!({"conditions": conditions, "replicaStatuses": {"Worker": counts}});
        let got = to(Version::V1Alpha1, &job(status.clone()))["status"]["replicaStatuses"].clone();
        assert_eq!(got[0]["mx_replica_type"], "SCHEDULER");
        let worker = json!({"mx_replica_type": "WORKER", "state": state, "ReplicasStates": states});
        assert_eq!(got[1], worker, "{status}");
    }
}

// contract: 12.6
// promise: P55, P56
#[test]
fn v1beta1_shows_conditions_counts_and_times() {
    let conditions = json!([condition("Created", true, "MXJobCreated")]);
    let counts = json!({"Worker": {"active": 1, "restarts": 2}});
    let job = job(json!({
        "conditions": conditions, "replicaStatuses": counts, "phase": "Created", "mode": "MXTrain",
        "startTime": "2026-01-01T00:00:00Z", "completionTime": "2026-01-01T00:01:00Z",
    }));
    let expected = json!({
        "conditions": conditions, "mxReplicaStatuses": counts,
        "startTime": "2026-01-01T00:00:00Z", "completionTime": "2026-01-01T00:01:00Z",
    });
    let mut got = to(Version::V1Beta1, &job)["status"].clone();
    let rest = got.as_object_mut().unwrap().shift_remove("rest").unwrap();
    assert!(rest.as_str().unwrap().contains("MXTrain"), "{rest}");
    assert_eq!(got, expected);
}

#[test]
fn a_job_without_a_status_has_none() {
    let mut job = job(json!({}));
    job.as_object_mut().unwrap().shift_remove("status");
    for version in Version::ALL {
        assert_eq!(to(version, &job).get("status"), None);
    }
}

/// What the earlier operator of v1alpha1 stored: the end counts, whatever the phase.
// defect: D10
#[test]
fn an_old_status_says_whether_the_job_has_ended() {
    for (phase, state, ended) in [
        ("", "", None),
        ("Creating", "Running", None),
        ("Running", "Running", None),
        ("CleanUp", "Succeeded", Some("Succeeded")),
        ("Creating", "Succeeded", Some("Succeeded")),
        ("Failed", "Succeeded", Some("Succeeded")),
        ("Failed", "", Some("Failed")),
        ("Done", "Failed", Some("Failed")),
    ] {
        let mut old = object(Version::V1Alpha1, json!({"replicaSpecs": []}));
        old["status"] =
            json!({"phase": phase, "state": state, "reason": "", "replicaStatuses": []});
        let stored = to(Version::V1, &old);
        let held = crate::versions::annotation(&stored).unwrap().to_string();
        assert!(
            !held.contains("phase"),
            "a derived status is not kept: {held}"
        );
        let status = stored["status"].clone();
        let conditions = status["conditions"].as_array().cloned().unwrap_or_default();
        let ends = ["Succeeded", "Failed"].into_iter();
        let mut ends = ends.filter(|end| conditions.iter().any(|one| one["type"] == *end));
        assert_eq!(ends.next(), ended, "{phase} {state}: {status}");
        assert_eq!(conditions.is_empty(), phase.is_empty(), "{status}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    // promise: P43
    #[test]
    fn states_of_any_job_add_up_to_its_replicas(object in stored()) {
        let view = to(Version::V1Alpha1, &object);
        if view.get("status").is_some_and(|status| *status != json!({})) {
            let status: JobStatus = serde_json::from_value(view["status"].clone()).unwrap();
            for role in &status.replica_statuses {
                let list = view["spec"]["replicaSpecs"].as_array().unwrap();
                let entry = list.iter().find(|entry| {
                    let name = entry["mxReplicaType"].as_str().unwrap();
                    name.eq_ignore_ascii_case(&role.mx_replica_type)
                });
                let wanted = entry.unwrap()["replicas"].as_i64().unwrap();
                let counted: i32 = role.replicas_states.values().sum();
                prop_assert_eq!(i64::from(counted), wanted);
            }
        }
    }
}
