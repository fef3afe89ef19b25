//! Jobs that were made at v1alpha1 and are scaled at another version, whose rules do not see what
//! their pods are called and who decides.

use std::collections::BTreeSet;

use crate::support::{MX, World, annotated};
use k8s_openapi::api::core::v1::Pod;
use mxjob_core::api::Version;
use mxjob_core::api::v1::{ConditionType, JobStatus};
use mxjob_core::conversion::convert;
use mxjob_core::model::StoredJob;
use mxjob_core::{Job, MxRole, ReplicaRole};
use serde_json::{Value, json};

/// A job of workers, that one of them decides if one is named, with a runtime id of four characters.
fn job(name: &str, replicas: u32, chief: Value) -> World {
    let container = json!({"name": "mxnet", "image": "some/image", "command": ["train"]});
    let entry = json!({"replicas": replicas, "template": {"spec": {"containers": [container]}}});
    let mut spec = json!({"replicaSpecs": [entry], "RuntimeId": "ab12"});
    if !chief.is_null() {
        spec["terminationPolicy"] = json!({ "chief": chief });
    }
    let manifest = json!({
        "apiVersion": "kubeflow.org/v1alpha1", "kind": "MXJob",
        "metadata": {"name": name, "namespace": "lab"}, "spec": spec,
    });
    World::running(MX, convert(MxRole::TABLE, manifest, Version::V1).unwrap())
}

fn workers(name: &str, replicas: u32) -> World {
    job(name, replicas, Value::Null)
}

fn uids(world: &World) -> BTreeSet<String> {
    let uid = |pod: &Pod| pod.metadata.uid.clone().unwrap();
    world.cluster.pods().map(uid).collect()
}

// contract: 12.20
#[test]
fn a_job_that_is_scaled_past_the_names_that_its_pods_can_have_keeps_its_size() {
    // 63 characters with an index of one digit.
    let name = "n".repeat(49);
    let mut world = workers(&name, 10);
    let (pods, events) = (uids(&world), world.events.len());
    world.scale("Worker", 11);
    let told = format!(
        "the job keeps its size: metadata.name: the name of the last pod of Worker, \
         {name}-worker-ab12-10, is longer than 63 characters: shorten metadata.name"
    );
    let stalled = |world: &World| {
        assert_eq!(world.phase(), "Running");
        assert_eq!(world.status().reason.as_deref(), Some("SizeRefused"));
        assert_eq!(world.message(ConditionType::Stalled), told);
        assert!(world.is_quiet(), "{:?}", world.planned());
    };
    stalled(&world);
    assert_eq!(uids(&world), pods);
    assert_eq!(world.status().ready.as_deref(), Some("10/10"));
    assert_eq!(world.events.len(), events, "nothing has happened");

    // It goes on as it is: replicas are replaced, and know of as many as there are.
    world.exit(MX.worker(3), 137);
    world.start_all();
    stalled(&world);
    assert_eq!(
        (uids(&world).len(), uids(&world).difference(&pods).count()),
        (10, 1)
    );
    let layout = json!(world.cluster.pods().collect::<Vec<_>>()).to_string();
    assert!(
        layout.contains("-worker-ab12-9") && !layout.contains("-worker-ab12-10"),
        "{layout}"
    );
    world.edit("spec.runPolicy.suspend", json!(true));
    assert_eq!(
        (world.phase().as_str(), uids(&world).len()),
        ("Suspended", 0)
    );
    world.edit("spec.runPolicy.suspend", json!(false));
    world.start_all();
    stalled(&world);

    // A size that it can have is taken up, and the job can end.
    world.scale("Worker", 9);
    assert_eq!(world.phase(), "Restarting");
    world.start_all();
    assert_eq!((world.phase().as_str(), uids(&world).len()), ("Running", 9));
    assert!(world.status().condition(ConditionType::Stalled).is_none());
    world.scale("Worker", 11);
    for index in 0..9 {
        world.exit(MX.worker(index), 0);
    }
    assert_eq!(world.phase(), "Succeeded");
}

// contract: 12.20
#[test]
fn a_job_that_is_scaled_below_its_chief_keeps_its_size() {
    let mut world = job(
        "demo",
        3,
        json!({"replicaName": "WORKER", "replicaIndex": 2}),
    );
    let pods = uids(&world);
    world.scale("Worker", 2);
    assert_eq!((world.phase().as_str(), uids(&world)), ("Running", pods));
    assert_eq!(
        world.message(ConditionType::Stalled),
        "the job keeps its size: spec.terminationPolicy.chief: Missing ReplicaSpec for chief: WORKER: \
         replicaIndex is not below its replicas: 2 of 2, counted from 0"
    );
    world.exit(MX.worker(2), 0);
    world.pass(30);
    assert_eq!(world.phase(), "Succeeded");
}

/// It is judged once its status is back.
#[test]
fn a_job_that_keeps_its_size_keeps_it_also_when_its_status_is_wiped() {
    let name = "n".repeat(49);
    let mut world = workers(&name, 10);
    world.scale("Worker", 11);
    let stored: &StoredJob = &world.cluster.server.get(&name).unwrap();
    let read = |status: &JobStatus| {
        let object = json!({"metadata": stored.metadata, "spec": *stored.spec, "status": status});
        Job::read(MxRole::TABLE, &object)
    };
    let before = read(&stored.job().status);
    let wiped = read(&JobStatus::default());
    assert!(before.spec.as_ref().unwrap().kept.is_some() && wiped.spec.is_err());
    let after = wiped.after(&before);
    assert!(after.wiped && after.spec.unwrap().kept.is_some());
}

// contract: 12.20
#[test]
fn what_never_was_right_is_no_size_to_keep() {
    let long = workers(&"n".repeat(49), 11);
    assert_eq!((long.phase().as_str(), uids(&long).len()), ("Failed", 0));
    assert_eq!(
        long.status().reason.as_deref(),
        Some("FailedInvalidMXJobSpec")
    );
    // A mistake that no size mends.
    let mut broken = workers("demo", 2);
    broken.edit(
        "spec.mxReplicaSpecs.Worker.template.spec.containers",
        json!([]),
    );
    assert_eq!(broken.phase(), "Failed");
    // At v1 the API server sees all that there is to see.
    let mut newer = World::running(MX, MX.job(1, 0, 1));
    newer.scale("Scheduler", 2);
    assert_eq!(newer.phase(), "Failed");
}

// contract: 12.14
#[test]
fn a_job_that_gets_an_id_which_no_name_can_have_fails() {
    let mut world = workers("demo", 2);
    let mut odd = json!({"metadata": {}, "spec": {}});
    annotated(&mut odd, Some("AB_1"), None);
    world.edit(
        "metadata.annotations",
        odd["metadata"]["annotations"].clone(),
    );
    assert_eq!((world.phase().as_str(), uids(&world).len()), ("Failed", 0));
    assert_eq!(world.status().restarts, None);
}

// contract: 12.20
#[test]
fn a_job_that_loses_a_role_has_no_size_to_keep() {
    let manifest = |roles: &[(&str, u32)]| {
        let container = json!({"name": "mxnet", "image": "some/image"});
        let entry = |(role, replicas): &(&str, u32)| {
            let template = json!({"spec": {"containers": [container.clone()]}});
            json!({"mxReplicaType": role, "replicas": replicas, "template": template})
        };
        let entries: Vec<_> = roles.iter().map(entry).collect();
        let chief = json!({"replicaName": "WORKER", "replicaIndex": 2});
        let manifest = json!({
            "apiVersion": "kubeflow.org/v1alpha1", "kind": "MXJob",
            "metadata": {"name": "demo", "namespace": "lab"},
            "spec": {"replicaSpecs": entries, "RuntimeId": "ab12", "terminationPolicy": {"chief": chief}},
        });
        convert(MxRole::TABLE, manifest, Version::V1).unwrap()
    };
    let mut world = World::running(
        MX,
        manifest(&[("SCHEDULER", 1), ("SERVER", 1), ("WORKER", 3)]),
    );
    world.replace(manifest(&[("SCHEDULER", 1), ("WORKER", 2)]));
    assert_eq!(world.phase(), "Failed");
    assert_eq!(world.status().restarts, None);
}
