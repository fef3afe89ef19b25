//! Jobs of the oldest group: read and run as their first operator promised.

use crate::lists::{Group, entry, objects, sample};
use crate::support::{MX, Set, World};
use mxjob_core::Job;
use mxjob_core::api::Version;
use serde_json::{Value, json};

pub(crate) const MLKUBE: Group = Group("mxnet.mlkube.io");

pub(crate) fn list(spec: &Value) -> Value {
    json!({
        "apiVersion": "mxnet.mlkube.io/v1beta1", "kind": "MxJob",
        "metadata": {"name": "example", "namespace": "lab", "uid": "u-1"}, "spec": spec,
    })
}

pub(crate) fn dist() -> Value {
    let entries = [
        entry("SCHEDULER", 1),
        entry("SERVER", 1),
        entry("WORKER", 3),
    ];
    list(&json!({"jobMode": "dist", "replicaSpecs": entries}))
}

fn local() -> Value {
    list(&json!({"jobMode": "local", "replicaSpecs": [entry("WORKER", 1)]}))
}

fn read(object: &Value) -> Job {
    MLKUBE.read(object).0
}

// contract: 12.25
#[test]
fn objects_of_the_published_manifests() {
    let (pods, services) = objects(&read(&sample("mlkube-v1beta1-dist.yaml")));
    insta::assert_yaml_snapshot!("pods_dist", pods);
    insta::assert_yaml_snapshot!("services_dist", services);
    let (pods, services) = objects(&read(&sample("mlkube-v1beta1-local.yaml")));
    insta::assert_yaml_snapshot!("pods_local", pods);
    insta::assert_yaml_snapshot!("services_local", services);
    assert!(!json!(pods).to_string().contains("DMLC_"));
}

// contract: 12.25
#[test]
fn the_port_of_the_scheduler_is_everyones_root_port_whatever_the_order() {
    let mut object = dist();
    let entries = object["spec"]["replicaSpecs"].as_array_mut().unwrap();
    entries.rotate_left(1);
    entries[0]["PsRootPort"] = json!(9001);
    entries[2]["PsRootPort"] = json!(9100);
    let (pods, _) = objects(&read(&object));
    assert_eq!(pods.len(), 5);
    for pod in &pods {
        let env = pod["spec"]["containers"][0]["env"].as_array().unwrap();
        let value = |name: &str| {
            let found = env.iter().find(|one| one["name"] == name);
            found.unwrap()["value"].clone()
        };
        assert_eq!(value("DMLC_PS_ROOT_PORT"), "9100");
        assert_eq!(value("DMLC_USE_KUBERNETES"), "1");
    }
}

// contract: 12.25
#[test]
fn the_defaults_that_it_has_are_written_out_once_and_nothing_else() {
    for (name, kind) in [
        ("mlkube-v1beta1-dist.yaml", "SCHEDULER"),
        ("mlkube-v1beta1-local.yaml", "WORKER"),
    ] {
        let stored = sample(name);
        let (job, form) = MLKUBE.read(&stored);
        let mut wanted = stored["spec"].clone();
        wanted["RuntimeId"] = json!("e9c9");
        for entry in wanted["replicaSpecs"].as_array_mut().unwrap() {
            entry["PsRootPort"] = json!(9091);
        }
        assert_eq!(wanted["replicaSpecs"][0]["mxReplicaType"], kind);
        assert_eq!(form.spec(&job), Some(&wanted));
        let mut again = stored.clone();
        again["spec"] = wanted;
        let (job, form) = MLKUBE.read(&again);
        assert_eq!(form.spec(&job), None);
        assert_eq!(job.meta.run.as_deref(), Some("e9c9"));
    }
    // An entry without a role is a worker.
    let mut bare = local();
    bare["spec"]["replicaSpecs"] = json!([entry("", 1)]);
    let (job, form) = MLKUBE.read(&bare);
    let filled = form.spec(&job).unwrap();
    assert_eq!(filled["replicaSpecs"][0]["mxReplicaType"], "WORKER");
}

// contract: 12.26
#[test]
fn the_scheduler_decides_in_dist_and_the_worker_in_local_whoever_else_is_named() {
    let chief = |object: &Value| {
        let job = read(object);
        let chiefs = job.spec.as_ref().unwrap().chiefs();
        let names = chiefs.map(|one| (job.table.role(one.role).name, one.index));
        names.collect::<Vec<_>>()
    };
    assert_eq!(chief(&dist()), [("Scheduler", 0)]);
    assert_eq!(chief(&local()), [("Worker", 0)]);
    // Another resource has that field, this one never had.
    let mut other = dist();
    other["spec"]["terminationPolicy"] =
        json!({"chief": {"replicaName": "WORKER", "replicaIndex": 1}});
    other["spec"]["schedulerName"] = json!("other");
    assert_eq!(chief(&other), [("Scheduler", 0)]);
    assert_eq!(objects(&read(&other)), objects(&read(&dist())));
}

// contract: 12.26
#[test]
fn a_local_job_of_no_worker_is_one_as_its_first_operator_had_it() {
    let mut none = local();
    none["spec"]["replicaSpecs"][0]["replicas"] = json!(0);
    let job = read(&none);
    assert_eq!(objects(&job), objects(&read(&local())));
    // In the other mode none are none.
    let mut none = dist();
    none["spec"]["replicaSpecs"][1]["replicas"] = json!(0);
    none["spec"]["replicaSpecs"][2]["replicas"] = json!(0);
    let (pods, _) = objects(&read(&none));
    assert_eq!(pods.len(), 1);
}

type Change = fn(&mut Value);

fn said(change: Change) -> String {
    let mut object = dist();
    change(&mut object);
    let problems = read(&object).spec.unwrap_err();
    let lines: Vec<_> = problems.iter().map(ToString::to_string).collect();
    lines.join("\n")
}

// contract: 12.25, 12.26
// promise: P23
#[test]
fn what_is_wrong_is_said_in_the_words_of_its_first_operator() {
    let cases: [(Change, &str); 15] = [
        (
            |job| {
                let pod = "/spec/replicaSpecs/1/template/spec";
                job.pointer_mut(pod).unwrap()["restartPolicy"] = json!("Always");
            },
            "spec.replicaSpecs[1].template.spec.restartPolicy: must be OnFailure or Never: the replica is a Job \
             of batch/v1, which ends",
        ),
        (
            |job| job["spec"]["replicaSpecs"][1] = Value::Null,
            "spec.replicaSpecs[1]: ReplicaSpecs contain nil: say what the entry is, or leave it out",
        ),
        (
            |job| job["spec"]["replicaSpecs"][1]["template"] = Value::Null,
            "spec.replicaSpecs[1].template: Replica is missing Template",
        ),
        (
            |job| job["spec"]["replicaSpecs"][2]["mxReplicaType"] = json!("BOSS"),
            "spec.replicaSpecs[2].mxReplicaType: MxReplicaSpec.MxReplicaType is BOSS but must be one of \
             [SCHEDULER SERVER WORKER]",
        ),
        (
            |job| {
                job["spec"]["replicaSpecs"][1]["template"]["spec"]["containers"][0]["name"] =
                    json!("train");
            },
            "spec.replicaSpecs[1].template: Replica type SERVER is missing a container for mxnet",
        ),
        (
            |job| job["spec"]["jobMode"] = json!("local"),
            "spec.replicaSpecs: job mode is local, but its replicas set have replicas type other than worker\n\
             spec.replicaSpecs: job mode is local, but it has more than 1 worker",
        ),
        (
            |job| {
                job["spec"] = json!({"jobMode": "local", "replicaSpecs": [entry("WORKER", 2)]});
            },
            "spec.replicaSpecs: job mode is local, but it has more than 1 worker",
        ),
        (
            |job| job["spec"] = json!({"jobMode": "local", "replicaSpecs": []}),
            "spec.replicaSpecs: Missing ReplicaSpec for chief: WORKER",
        ),
        (
            |job| {
                let entries = [entry("SERVER", 1), entry("WORKER", 1)];
                job["spec"]["replicaSpecs"] = json!(entries);
            },
            "spec.replicaSpecs: dist job mode without replica type SCHEDULER",
        ),
        (
            |job| job["spec"]["jobMode"] = json!("both"),
            "spec.jobMode: unkonw job mode both: must be dist or local",
        ),
        (
            |job| job["spec"]["jobMode"] = Value::Null,
            "spec.jobMode: unkonw job mode : must be dist or local",
        ),
        (
            |job| job["spec"]["jobMode"] = json!(""),
            "spec.jobMode: unkonw job mode : must be dist or local",
        ),
        (
            |job| job["spec"]["replicaSpecs"][0]["replicas"] = json!(2),
            "spec.replicaSpecs: The SCHEDULER must have Replicas = 1",
        ),
        (
            |job| {
                let entries = job["spec"]["replicaSpecs"].as_array_mut().unwrap();
                entries.truncate(2);
            },
            "spec.replicaSpecs: dist job mode without replica type WORKER",
        ),
        (
            |job| {
                let container = "/spec/replicaSpecs/1/template/spec/containers/0";
                job.pointer_mut(container).unwrap()["image"] = Value::Null;
            },
            "spec.replicaSpecs[1].template.spec.containers[0].image: is required: name the image that the \
             container runs",
        ),
    ];
    for (change, wanted) in cases {
        assert_eq!(said(change), wanted);
    }
    // A role that is there may have no replica.
    let mut none = dist();
    for at in [1, 2] {
        none["spec"]["replicaSpecs"][at]["replicas"] = json!(0);
    }
    assert!(read(&none).spec.is_ok(), "{:?}", read(&none).spec);
}

/// A job whose pods all run, called as the support calls all of them.
pub(crate) fn world(object: &Value) -> World {
    let mut object = object.clone();
    object["metadata"]["name"] = json!("demo");
    let set = Set {
        table: MLKUBE.table(),
        ..MX
    };
    World::running(set, MLKUBE.to(Version::V1, &object))
}

// contract: 12.26
#[test]
fn codes_from_128_are_retried_any_other_of_whomever_is_the_end_and_pods_stay() {
    let roles = [MX.chief(0), MX.server(0), MX.worker(2)];
    for code in 1..=255 {
        for replica in roles {
            let mut world = world(&dist());
            world.exit(replica, code);
            world.start_all();
            if code < 128 {
                assert_eq!(world.phase(), "Failed", "{code}");
                assert!(world.uid(replica).is_some(), "{code}: its pod stays");
            } else {
                assert_eq!(world.phase(), "Running", "{code}");
            }
        }
    }
    for replica in roles {
        let mut world = world(&dist());
        world.exit_for(replica, 137, Some("OOMKilled"));
        assert_eq!(world.phase(), "Failed");
    }
}

// contract: 12.26
#[test]
fn all_pods_stay_when_the_one_that_decides_has_succeeded() {
    let mut world = self::world(&dist());
    let pods = world.pods();
    for index in 0..3 {
        world.exit(MX.worker(index), 0);
    }
    assert_eq!(world.phase(), "Running");
    world.exit(MX.chief(0), 0);
    assert_eq!(world.phase(), "Succeeded");
    assert_eq!(world.pods(), pods);
    let mut world = self::world(&local());
    world.exit(MX.worker(0), 0);
    assert_eq!(world.phase(), "Succeeded");
    assert_eq!(world.pods().len(), 1);
}
