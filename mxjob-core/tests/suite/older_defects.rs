//! What was wrong with the first operators of the older groups, and is not with this one.

use crate::lists::{entry, objects};
use crate::older_worlds::{GROUPS, ended, job, manifest, problems, view, world};
use crate::support::MX;
use serde_json::{Value, json};

fn three() -> [Value; 3] {
    [
        entry("SCHEDULER", 1),
        entry("SERVER", 2),
        entry("WORKER", 2),
    ]
}

fn variables(pod: &Value) -> Vec<(String, String)> {
    let env = pod["spec"]["containers"][0]["env"].as_array().unwrap();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    env.iter()
        .map(|one| (text(&one["name"]), text(&one["value"])))
        .collect()
}

fn value(pod: &Value, name: &str) -> String {
    let all = variables(pod).into_iter();
    let mut found = all.filter(|(one, _)| one == name);
    let value = found.next().unwrap().1;
    assert_eq!(found.next(), None, "{name} is there twice");
    value
}

// defect: D1
#[test]
fn the_users_variables_all_stay_however_many_they_are() {
    for group in GROUPS {
        for count in 0..9 {
            let own: Vec<_> = (0..count)
                .map(|at| (format!("OWN_{at}"), format!("value {at}")))
                .collect();
            let mut entries = three();
            for one in &mut entries {
                let env: Vec<_> = own
                    .iter()
                    .map(|(name, value)| json!({"name": name, "value": value}))
                    .collect();
                one["template"]["spec"]["containers"][0]["env"] = json!(env);
            }
            let (pods, _) = objects(&job(&manifest(group, &entries)));
            assert_eq!(pods.len(), 5);
            for pod in &pods {
                let env = variables(pod);
                assert!(
                    own.iter().all(|one| env.contains(one)),
                    "{group} {count}: {env:?}"
                );
                let role = pod["metadata"]["labels"]["job_type"].as_str().unwrap();
                assert_eq!(value(pod, "DMLC_ROLE"), role.to_lowercase());
            }
        }
    }
}

// defect: D2, D3
#[test]
fn the_scheduler_is_found_whatever_the_name_of_the_job_and_the_order_of_its_roles() {
    for (group, port) in [("kubeflow.org", "PsRootPort"), ("fioravanzo.org", "mxPort")] {
        for length in [1, 39, 40, 41, 46] {
            for turn in 0..3 {
                let mut entries = three();
                for (one, number) in entries.iter_mut().zip([9100, 9101, 9102]) {
                    one[port] = json!(number);
                }
                entries.rotate_left(turn);
                let mut manifest = manifest(group, &entries);
                manifest["metadata"]["name"] = json!("n".repeat(length));
                let (pods, services) = objects(&job(&manifest));
                let mut of_scheduler = services
                    .iter()
                    .filter(|one| one["metadata"]["labels"]["job_type"] == "SCHEDULER");
                let service = of_scheduler.next().unwrap();
                assert!(of_scheduler.next().is_none());
                assert_eq!(service["spec"]["ports"][0]["port"], 9100, "{group}");
                assert_eq!(pods.len(), 5);
                for pod in &pods {
                    assert_eq!(value(pod, "DMLC_PS_ROOT_URI"), service["metadata"]["name"]);
                    assert_eq!(value(pod, "DMLC_PS_ROOT_PORT"), "9100");
                    // It is the name of the host, too.
                    let name = pod["metadata"]["name"].as_str().unwrap();
                    assert!(name.len() <= 63, "{name}");
                }
            }
        }
    }
}

// promise: P15, P46
// defect: D7, D8
#[test]
fn an_invalid_job_says_why_and_has_nothing() {
    for group in GROUPS {
        for (change, why) in [
            (
                (|spec| spec["terminationPolicy"] = json!({})) as fn(&mut Value),
                "invalid termination policy: it names no chief",
            ),
            (
                |spec| spec["replicaSpecs"][1] = Value::Null,
                "spec.replicaSpecs[1]: ReplicaSpecs contain nil",
            ),
            (
                |spec| spec["replicaSpecs"][2]["template"] = Value::Null,
                "spec.replicaSpecs[2].template: Replica is missing Template",
            ),
            (
                |spec| spec["replicaSpecs"][0]["mxReplicaType"] = json!("BOSS"),
                "MXReplicaType is BOSS but must be one of",
            ),
        ] {
            let mut manifest = manifest(group, &three());
            change(&mut manifest["spec"]);
            let mut world = world(&manifest);
            let refused = problems(&manifest);
            assert!(refused.contains(why), "{group}: {refused}");
            // One that was stored before there were rules.
            let said = ended(&world, group);
            assert!(!said.is_empty(), "{group} {why}");
            world.pass(3600);
            assert_eq!(ended(&world, group), said);
        }
    }
}

// defect: D9
#[test]
fn an_end_stays_whatever_happens_to_the_pods() {
    for group in GROUPS {
        for (code, state) in [(0, "Succeeded"), (1, "Failed")] {
            let mut manifest = manifest(group, &three());
            manifest["spec"]["cleanupPodPolicy"] = json!("None");
            let mut world = world(&manifest);
            for index in 0..2 {
                world.exit(MX.worker(index), 0);
            }
            world.exit(MX.chief(0), code);
            assert_eq!(view(&world, group)["state"], state, "{group}");
            let before = world.status().conditions;
            for replica in [MX.server(0), MX.worker(0), MX.chief(0)] {
                world.vanish(replica);
                world.pass(700);
            }
            assert_eq!(world.status().conditions, before, "{group}");
            assert_eq!(view(&world, group)["phase"], "Done", "{group}");
        }
    }
}

// promise: P61, P65, P66
// defect: D18
#[test]
fn a_replica_that_keeps_failing_is_replaced_after_longer_and_longer_waits() {
    for (group, code) in [("kubeflow.org", 143), ("fioravanzo.org", 128)] {
        for replica in [MX.worker(1), MX.server(0)] {
            let mut world = world(&manifest(group, &three()));
            let mut waits = Vec::new();
            for _ in 0..5 {
                let before = world.uid(replica);
                world.exit(replica, code);
                waits.push(world.wait_for_pod(replica, before.as_ref()));
                world.start_all();
                assert_eq!(world.phase(), "Running", "{group}");
            }
            assert_eq!(waits, [0, 10, 20, 40, 80], "{group}");
        }
    }
}

// promise: P76
// defect: D11
#[test]
fn everything_that_is_made_is_owned_by_the_job() {
    for (group, version) in [("kubeflow.org", "v1"), ("fioravanzo.org", "v1alpha1")] {
        let (pods, services) = objects(&job(&manifest(group, &three())));
        assert_eq!((pods.len(), services.len()), (5, 5));
        let owner = json!([{
            "apiVersion": format!("{group}/{version}"), "kind": "MXJob", "name": "demo", "uid": "u-1",
            "controller": true, "blockOwnerDeletion": true,
        }]);
        for object in pods.iter().chain(&services) {
            assert_eq!(object["metadata"]["ownerReferences"], owner, "{group}");
        }
    }
}
