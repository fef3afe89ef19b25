//! Jobs of an older group, in which they are stored as they are: read, written and run as their first
//! operator promised.

use std::collections::BTreeMap;

use crate::lists::{entry, objects, read, sample, table, to};
use crate::support::{MX, Set, World};
use k8s_openapi::api::core::v1::Pod;
use mxjob_core::api::Version;
use mxjob_core::conversion::{CONVERSION_ANNOTATION, convert};
use mxjob_core::model::StoredJob;
use mxjob_core::wiring::{Addresses, Wiring};
use mxjob_core::{Job, MxRole, ReplicaRole};
use serde_json::{Value, json};

fn list(spec: &Value) -> Value {
    json!({
        "apiVersion": "fioravanzo.org/v1alpha1", "kind": "MXJob",
        "metadata": {"name": "example", "namespace": "lab", "uid": "u-1"}, "spec": spec,
    })
}

fn dist() -> Value {
    list(&json!({"replicaSpecs": [entry("SCHEDULER", 1), entry("SERVER", 1), entry("WORKER", 3)]}))
}

// contract: 12.21
// promise: P10, P12, P72, P73, P75
#[test]
fn objects_of_the_published_manifest() {
    let (job, _) = read(&sample("fioravanzo-v1alpha1-linear.yaml"));
    let (pods, services) = objects(&job);
    insta::assert_yaml_snapshot!("pods", pods);
    insta::assert_yaml_snapshot!("services", services);
    let (job, _) = read(&sample("fioravanzo-v1alpha1-gpu.yaml"));
    assert_eq!(objects(&job).0.len(), 3);
}

// contract: 12.21
#[test]
fn the_users_own_word_about_verbosity_wins_and_a_job_without_a_scheduler_has_none() {
    let verbosity = |object: &Value| {
        let (pods, _) = objects(&read(object).0);
        let env = pods[0]["spec"]["containers"][0]["env"].clone();
        let env = env.as_array().cloned().unwrap_or_default();
        let found = env.iter().find(|one| one["name"] == "PS_VERBOSE");
        found.map(|one| one["value"].clone())
    };
    assert_eq!(verbosity(&dist()), Some(json!("2")));
    let mut own = dist();
    own["spec"]["replicaSpecs"][0]["template"]["spec"]["containers"][0]["env"] =
        json!([{"name": "PS_VERBOSE", "value": "0"}]);
    assert_eq!(verbosity(&own), Some(json!("0")));
    let alone = list(&json!({"replicaSpecs": [entry("WORKER", 1)]}));
    assert_eq!(verbosity(&alone), None);
}

// contract: 12.21
// promise: P19
// defect: D3
#[test]
fn the_port_of_the_scheduler_is_everyones_root_port() {
    let mut object = dist();
    let entries = object["spec"]["replicaSpecs"].as_array_mut().unwrap();
    entries.rotate_left(1);
    entries[0]["mxPort"] = json!(9001);
    entries[2]["mxPort"] = json!(9100);
    let (pods, services) = objects(&read(&object).0);
    assert_eq!(pods.len(), 5);
    for pod in &pods {
        let env = pod["spec"]["containers"][0]["env"].as_array().unwrap();
        let root = env.iter().find(|one| one["name"] == "DMLC_PS_ROOT_PORT");
        assert_eq!(root.unwrap()["value"], "9100");
    }
    let scheduler = services.iter().find(|service| {
        let name = service["metadata"]["name"].as_str().unwrap();
        name.contains("-scheduler-")
    });
    assert_eq!(scheduler.unwrap()["spec"]["ports"][0]["port"], 9100);

    // What the other group calls it is nothing here, also where the server has kept it.
    for entry in object["spec"]["replicaSpecs"].as_array_mut().unwrap() {
        entry["PsRootPort"] = json!("none of its own");
    }
    assert_eq!(objects(&read(&object).0).0, pods);
}

// contract: 12.22
// promise: P16, P17, P18, P27, P28
// defect: D20
#[test]
fn defaults_are_written_out_once_and_nothing_else() {
    let stored = sample("fioravanzo-v1alpha1-linear.yaml");
    let (job, form) = read(&stored);
    let filled = form.spec(&job).unwrap().clone();
    let mut wanted = stored["spec"].clone();
    wanted["RuntimeId"] = json!("e9c9");
    wanted["mxImage"] = json!("stefanofioravanzo/mxnet:1.3.0");
    let chief = json!({"replicaName": "SCHEDULER", "replicaIndex": 0});
    wanted["terminationPolicy"] = json!({ "chief": chief });
    for entry in wanted["replicaSpecs"].as_array_mut().unwrap() {
        entry["mxPort"] = json!(9000);
    }
    assert_eq!(filled, wanted);

    let mut again = stored.clone();
    again["spec"] = filled;
    let (job, form) = read(&again);
    assert_eq!(form.spec(&job), None);
    assert_eq!(job.meta.run.as_deref(), Some("e9c9"));

    // Where the first entry names no role and nobody says how many.
    let mut bare = list(&json!({"RuntimeId": "ab12", "replicaSpecs": [entry("", 1)]}));
    let first = bare["spec"]["replicaSpecs"][0].as_object_mut().unwrap();
    first.remove("replicas");
    let (job, form) = read(&bare);
    let filled = form.spec(&job).unwrap();
    assert_eq!(filled["RuntimeId"], "ab12");
    let first = &filled["replicaSpecs"][0];
    assert_eq!(
        (&first["replicas"], &first["mxReplicaType"]),
        (&json!(1), &json!("SCHEDULER"))
    );
}

// contract: 12.22
#[test]
fn nothing_is_written_out_for_a_job_that_has_begun_or_ended_or_goes_or_is_not_valid() {
    let writes = |change: fn(&mut Value)| {
        let mut object = dist();
        change(&mut object);
        let (job, form) = read(&object);
        form.spec(&job).is_some()
    };
    assert!(writes(|_| {}));
    assert!(!writes(
        |job| job["status"] = json!({"phase": "Creating", "state": "Running"})
    ));
    assert!(!writes(
        |job| job["status"] = json!({"phase": "Failed", "state": "Failed"})
    ));
    assert!(!writes(
        |job| job["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z")
    ));
    assert!(!writes(
        |job| job["spec"]["replicaSpecs"][0]["replicas"] = json!(2)
    ));
    // A status that was wiped is the one from before that.
    let mut begun = dist();
    begun["status"] = json!({"phase": "Running", "state": "Running"});
    let (job, form) = read(&dist());
    let job = job.after(&read(&begun).0);
    assert_eq!(form.spec(&job), None);
}

// contract: 12.21
// promise: P15
#[test]
fn what_is_wrong_is_said_in_the_words_of_the_list() {
    let said = |change: fn(&mut Value)| {
        let mut object = dist();
        change(&mut object);
        let problems = read(&object).0.spec.unwrap_err();
        let lines: Vec<_> = problems.iter().map(ToString::to_string).collect();
        lines.join("\n")
    };
    for (change, wanted) in [
        (
            (|job| job["spec"]["replicaSpecs"][1]["mxReplicaType"] = json!("WORKER"))
                as fn(&mut Value),
            "spec.replicaSpecs: two entries of one mxReplicaType: keep one",
        ),
        (
            |job| job["spec"]["replicaSpecs"][1]["mxReplicaType"] = json!("BOSS"),
            "mxReplicaSpec.MXReplicaType is BOSS but must be one of [SCHEDULER SERVER WORKER]",
        ),
        (
            |job| job["spec"]["replicaSpecs"][0]["replicas"] = json!(2),
            "The SCHEDULER must have Replicas = 1",
        ),
        (
            |job| job["spec"]["terminationPolicy"] = json!({}),
            "invalid termination policy: it names no chief",
        ),
        (
            |job| {
                let entries = job["spec"]["replicaSpecs"].as_array_mut().unwrap();
                entries.extend(["EVALUATOR"; 5].map(|role| entry(role, 1)));
            },
            "spec.replicaSpecs[3].mxReplicaType: mxReplicaSpec.MXReplicaType is EVALUATOR but must be one of",
        ),
        (
            |job| {
                let chief = json!({"chief": {"replicaName": "WORKER", "replicaIndex": 3}});
                job["spec"]["terminationPolicy"] = chief;
            },
            "Missing ReplicaSpec for chief: WORKER: replicaIndex is not below its replicas: 3 of 3, counted from 0",
        ),
        (
            |job| job["spec"]["replicaSpecs"][1] = Value::Null,
            "spec.replicaSpecs[1]: ReplicaSpecs contain nil",
        ),
        (
            |job| job["spec"]["replicaSpecs"][1]["template"] = Value::Null,
            "spec.replicaSpecs[1].template: Replica is missing Template",
        ),
    ] {
        let lines = said(change);
        assert!(lines.contains(wanted), "{lines}");
        assert!(!lines.contains("at most 6 items"), "{lines}");
    }
}

// contract: 12.21
// promise: P15
#[test]
fn the_reason_of_a_job_that_is_not_valid_says_so_first_and_once() {
    let mut object = dist();
    object["spec"]["replicaSpecs"][0]["replicas"] = json!(2);
    let (job, form) = read(&object);
    let world = World::of(
        Set {
            table: table(),
            ..MX
        },
        to(Version::V1, &object),
    );
    assert!(job.spec.is_err());
    let status = world.cluster.server.get::<StoredJob>("example").unwrap();
    let shown = form.status(&status.job().status);
    let reason = shown["reason"].as_str().unwrap();
    assert!(
        reason.starts_with("invalid job spec: spec.replicaSpecs[0]"),
        "{reason}"
    );
    object["status"] = shown.clone();
    let (job, form) = read(&object);
    assert_eq!(form.status(&job.status), shown);
}

/// An id that an older operator has chosen may begin with a digit.
#[test]
fn an_id_that_is_stored_is_kept() {
    let mut object = dist();
    object["spec"]["RuntimeId"] = json!("0abc");
    let (job, _) = read(&object);
    assert_eq!(job.meta.run.as_deref(), Some("0abc"));
    assert!(job.spec.is_ok());
}

// contract: 12.23
#[test]
fn a_job_of_the_same_name_in_another_group_has_other_pods() {
    let newer = json!({
        "apiVersion": "kubeflow.org/v1alpha1", "kind": "MXJob",
        "metadata": {"name": "example", "namespace": "lab", "uid": "u-2"},
        "spec": {"RuntimeId": "ab12", "replicaSpecs": dist()["spec"]["replicaSpecs"]},
    });
    let newer = convert(MxRole::TABLE, newer, Version::V1).unwrap();
    let layout = |job: Job| {
        let wiring = Wiring::new(&job, job.spec.as_ref().unwrap(), Addresses::Cluster);
        let pod = wiring.pods().next().unwrap();
        let name = wiring.config_map().unwrap().metadata.name.unwrap();
        assert!(serde_json::to_string(&pod).unwrap().contains(&name));
        name
    };
    let mut large = newer.clone();
    large["spec"]["mxReplicaSpecs"]["Worker"]["replicas"] = json!(1000);
    let newer_layout = layout(Job::read(MxRole::TABLE, &large));
    let mut large = dist();
    large["spec"]["replicaSpecs"][2]["replicas"] = json!(1000);
    let older_layout = layout(read(&large).0);
    assert_eq!(newer_layout, "example-cluster");
    assert_eq!(older_layout, "example-e9c9-cluster");
    let newer = objects(&Job::read(MxRole::TABLE, &newer));
    let mut older = dist();
    older["spec"]["RuntimeId"] = json!("ab12");
    let older = objects(&read(&older).0);
    let labels = |object: &Value| -> BTreeMap<String, String> {
        serde_json::from_value(object["metadata"]["labels"].clone()).unwrap()
    };
    let finds = |service: &Value, pod: &Value| {
        let selector: BTreeMap<String, String> =
            serde_json::from_value(service["spec"]["selector"].clone()).unwrap();
        let labels = labels(pod);
        selector
            .iter()
            .all(|(key, value)| labels.get(key) == Some(value))
    };
    for (services, pods, others) in [
        (&older.1, &older.0, &newer.0),
        (&newer.1, &newer.0, &older.0),
    ] {
        for service in services {
            assert_eq!(pods.iter().filter(|pod| finds(service, pod)).count(), 1);
            assert!(!others.iter().any(|pod| finds(service, pod)), "{service}");
        }
    }
    let owner = &older.0[0]["metadata"]["ownerReferences"][0];
    assert_eq!(owner["apiVersion"], "fioravanzo.org/v1alpha1");
}

/// A running job, called as the support calls all of them.
fn world(object: &Value) -> World {
    let mut object = object.clone();
    object["metadata"]["name"] = json!("demo");
    let set = Set {
        table: table(),
        ..MX
    };
    World::running(set, to(Version::V1, &object))
}

// contract: 12.21
// promise: P64
// defect: D19
#[test]
fn codes_from_128_are_retried_others_are_the_end_and_pods_stay() {
    for code in 1..=255 {
        let mut world = world(&dist());
        world.exit(MX.worker(0), code);
        world.start_all();
        if code < 128 {
            assert_eq!(world.phase(), "Failed", "{code}");
            assert!(world.uid(MX.worker(0)).is_some(), "{code}: its pod stays");
        } else {
            assert_eq!(world.phase(), "Running", "{code}");
            assert_eq!(world.counts("Worker").restarts, 1, "{code}");
        }
    }
    let mut world = world(&dist());
    world.exit_for(MX.worker(0), 137, Some("OOMKilled"));
    assert_eq!(world.phase(), "Failed");

    let mut world = self::world(&dist());
    let pods = world.pods();
    for index in 0..3 {
        world.exit(MX.worker(index), 0);
    }
    world.exit(MX.chief(0), 0);
    assert_eq!(world.phase(), "Succeeded");
    assert_eq!(world.pods(), pods);
    let pod: &Pod = world.cluster.pods().next().unwrap();
    assert!(
        pod.metadata
            .labels
            .as_ref()
            .unwrap()
            .contains_key("fioravanzo.org")
    );
}

/// The annotation of a conversion is anybody's to write, and there is none.
#[test]
fn an_annotation_about_conversions_says_nothing() {
    let mut object = dist();
    let said = json!({"origin": "v1", "rest": {}}).to_string();
    object["metadata"]["annotations"] = json!({CONVERSION_ANNOTATION: said});
    let (job, _) = read(&object);
    assert_eq!(job.meta.run.as_deref(), Some("e9c9"));
    assert!(job.spec.is_ok());
}
