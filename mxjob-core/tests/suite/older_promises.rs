//! What the first operators of the older groups promised of a job's pods and their number.

use std::fs;
use std::path::Path;

use crate::lists::{entry, objects};
use crate::older_worlds::{GROUPS, ended, job, manifest, problems, view, world};
use crate::support::{MX, World};
use crate::versions;
use mxjob_core::api::Version;
use mxjob_core::{Job, MxRole, ReplicaRole};
use serde_json::{Value, json};

fn sample(name: &str) -> Value {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    serde_saphyr::from_str(&fs::read_to_string(folder.join(name)).unwrap()).unwrap()
}

fn variable<'a>(pod: &'a Value, name: &str) -> Option<&'a str> {
    let env = pod["spec"]["containers"][0]["env"].as_array()?;
    let found = env.iter().find(|one| one["name"] == name)?;
    found["value"].as_str()
}

// promise: P14
// defect: D17
#[test]
fn all_of_a_template_reaches_the_pod() {
    let template = json!({
        "metadata": {"labels": {"team": "a"}, "annotations": {"note": "kept"}},
        "spec": {
            "containers": [
                {
                    "name": "mxnet", "image": "i", "imagePullPolicy": "Always", "workingDir": "/w",
                    "resources": {"limits": {"memory": "1Gi", "nvidia.com/gpu": "1"}},
                    "volumeMounts": [{"name": "share", "mountPath": "/data"}],
                },
                {"name": "side", "image": "s"},
            ],
            "initContainers": [{"name": "init", "image": "i"}],
            "nodeSelector": {"disk": "ssd"},
            "tolerations": [{"key": "gpu", "operator": "Exists", "effect": "NoSchedule"}],
            "volumes": [{"name": "share", "nfs": {"server": "s", "path": "/"}}],
        },
    });
    for group in GROUPS {
        let mut entries = [
            entry("SCHEDULER", 1),
            entry("SERVER", 1),
            entry("WORKER", 1),
        ];
        for one in &mut entries {
            one["template"] = template.clone();
        }
        let (pods, _) = objects(&job(&manifest(group, &entries)));
        assert_eq!(pods.len(), 3);
        for pod in pods {
            assert_eq!(pod["metadata"]["labels"]["team"], "a", "{group}");
            assert_eq!(pod["metadata"]["annotations"]["note"], "kept", "{group}");
            let wanted = template["spec"].as_object().unwrap();
            for (key, wanted) in wanted.iter().filter(|(key, _)| *key != "containers") {
                assert_eq!(pod["spec"][key], *wanted, "{group} {key}");
            }
            let containers = pod["spec"]["containers"].as_array().unwrap();
            assert_eq!(containers.len(), 2);
            for (at, container) in containers.iter().enumerate() {
                let wanted = template["spec"]["containers"][at].as_object().unwrap();
                for (key, wanted) in wanted {
                    assert_eq!(container[key], *wanted, "{group} {at} {key}");
                }
            }
        }
    }
}

// promise: P82, P85
#[test]
fn every_replica_has_the_share_and_the_worker_a_gpu() {
    let mut published = sample("fioravanzo-v1alpha1-gpu.yaml");
    published["spec"]["RuntimeId"] = json!("ab12");
    let (pods, _) = objects(&job(&published));
    let volume = json!([{
        "name": "myshare",
        "azureFile": {"secretName": "mxsecret", "shareName": "mxsn", "readOnly": false},
    }]);
    let mut limits = Vec::new();
    for pod in &pods {
        assert_eq!(pod["spec"]["volumes"], volume);
        let container = &pod["spec"]["containers"][0];
        let mounts = json!([{"mountPath": "/data", "name": "myshare"}]);
        assert_eq!(container["volumeMounts"], mounts);
        limits.push(container["resources"]["limits"].clone());
    }
    // The name of then is none of today's.
    assert_eq!(
        limits,
        [Value::Null, Value::Null, json!({"nvidia.com/gpu": "1"})]
    );
}

// promise: P81
#[test]
fn the_limit_of_a_gpu_reaches_the_pods() {
    for (file, role) in [
        ("kubeflow-v1beta1-train-gpu.yaml", "worker"),
        ("kubeflow-v1beta1-tune-gpu.yaml", "tunerserver"),
    ] {
        let stored = versions::to(Version::V1, &sample(file));
        let (pods, _) = objects(&Job::read(MxRole::TABLE, &stored));
        assert_eq!(pods.len(), 3);
        for pod in pods {
            let limits = &pod["spec"]["containers"][0]["resources"]["limits"];
            let label = &pod["metadata"]["labels"]["training.kubeflow.org/replica-type"];
            let wanted = if label == role {
                json!({"nvidia.com/gpu": "1"})
            } else {
                Value::Null
            };
            assert_eq!(*limits, wanted, "{file} {label}");
        }
    }
}

// promise: P16, P36, P37
// defect: D6
#[test]
fn servers_and_workers_may_be_any_number_or_not_be_there() {
    let some = |role: &str, replicas: Option<u32>| {
        let mut one = entry(role, replicas.unwrap_or(1));
        if replicas.is_none() {
            one.as_object_mut().unwrap().remove("replicas");
        }
        one
    };
    for group in GROUPS {
        for servers in [None, Some(0), Some(1), Some(3)] {
            for workers in [None, Some(0), Some(1), Some(3)] {
                for left_out in [false, true] {
                    let mut entries = vec![entry("SCHEDULER", 1)];
                    for (role, replicas) in [("SERVER", servers), ("WORKER", workers)] {
                        if !(left_out && replicas == Some(0)) {
                            entries.push(some(role, replicas));
                        }
                    }
                    let (pods, services) = objects(&job(&manifest(group, &entries)));
                    // One where nothing is said, none where that is said.
                    let (servers, workers) = (servers.unwrap_or(1), workers.unwrap_or(1));
                    let wanted = usize::try_from(1 + servers + workers).unwrap();
                    assert_eq!((pods.len(), services.len()), (wanted, wanted), "{group}");
                    for pod in &pods {
                        let number = |name| variable(pod, name).unwrap().to_owned();
                        assert_eq!(number("DMLC_NUM_SERVER"), servers.to_string());
                        assert_eq!(number("DMLC_NUM_WORKER"), workers.to_string());
                        let env = pod["spec"]["containers"][0]["env"].as_array().unwrap();
                        assert!(env.iter().all(|one| one["name"] != ""), "{env:?}");
                    }
                }
            }
        }
    }
}

// promise: P35
// defect: D21
#[test]
fn another_number_of_schedulers_than_one_is_the_end() {
    for group in GROUPS {
        for schedulers in [0, 2] {
            let entries = [
                entry("SCHEDULER", schedulers),
                entry("SERVER", 1),
                entry("WORKER", 1),
            ];
            let manifest = manifest(group, &entries);
            ended(&world(&manifest), group);
            let said = problems(&manifest);
            let told = "The SCHEDULER must have Replicas = 1";
            assert!(said.contains(told), "{group} {schedulers}: {said}");
        }
    }
}

// promise: P13, P39
#[test]
fn each_role_is_one_of_three_and_has_its_container() {
    for group in GROUPS {
        for (at, role) in ["SCHEDULER", "SERVER", "WORKER"].into_iter().enumerate() {
            let entries = [
                entry("SCHEDULER", 1),
                entry("SERVER", 1),
                entry("WORKER", 1),
            ];
            let mut other = entries.clone();
            other[at]["template"]["spec"]["containers"][0]["name"] = json!("train");
            let wanted = format!(
                "spec.replicaSpecs[{at}].template: Replica type {role} is missing a container named mxnet"
            );
            assert_eq!(problems(&manifest(group, &other)), wanted, "{group}");
            let mut other = entries.clone();
            other[at]["mxReplicaType"] = json!("MASTER");
            let wanted = "mxReplicaSpec.MXReplicaType is MASTER but must be one of [SCHEDULER SERVER WORKER]";
            let said = problems(&manifest(group, &other));
            assert!(said.contains(wanted), "{group}: {said}");
        }
    }
}

// promise: P22
#[test]
fn a_local_job_is_of_one_worker_and_nobody_else() {
    let local = |entries: &[Value]| {
        let mut manifest = manifest("kubeflow.org", entries);
        manifest["spec"]["jobMode"] = json!("local");
        manifest
    };
    let told = "job mode is local: its only entry must be one WORKER";
    for entries in [
        vec![entry("WORKER", 2)],
        vec![entry("SCHEDULER", 1), entry("WORKER", 1)],
        vec![entry("WORKER", 1), entry("SERVER", 1)],
    ] {
        let said = problems(&local(&entries));
        assert!(said.contains(told), "{said}");
    }
    assert_eq!(problems(&local(&[entry("WORKER", 1)])), "");
}

// promise: P40, P42, P43, P44, P57
// defect: D4
#[test]
fn while_all_run_the_status_says_so_and_so_it_does_when_they_have_ended() {
    for group in GROUPS {
        let entries = [
            entry("SCHEDULER", 1),
            entry("SERVER", 2),
            entry("WORKER", 3),
        ];
        let mut world = world(&manifest(group, &entries));
        let numbers = [("SCHEDULER", 1), ("SERVER", 2), ("WORKER", 3)];
        let all = |state: &str| -> Value {
            let one = |(role, number): &(&str, i32)| json!({"mx_replica_type": role, "state": state, "ReplicasStates": {state: number}});
            numbers.iter().map(one).collect()
        };
        let status = view(&world, group);
        assert_eq!(status["phase"], "Running", "{group}");
        assert_eq!(status["state"], "Running", "{group}");
        assert_eq!(status["replicaStatuses"], all("Running"), "{group}");
        for replica in [
            MX.server(0),
            MX.server(1),
            MX.worker(0),
            MX.worker(1),
            MX.worker(2),
        ] {
            world.exit(replica, 0);
        }
        let status = view(&world, group);
        assert_eq!(status["state"], "Running", "{group}");
        assert_eq!(
            status["replicaStatuses"][2]["ReplicasStates"],
            json!({"Succeeded": 3})
        );
        world.exit(MX.chief(0), 0);
        let status = view(&world, group);
        assert_eq!(
            (&status["phase"], &status["state"]),
            (&json!("Done"), &json!("Succeeded"))
        );
        assert_eq!(status["replicaStatuses"], all("Succeeded"), "{group}");
    }
}

// promise: P52, P58, P59
#[test]
fn the_job_ends_as_its_scheduler_does() {
    for (group, retried) in [("kubeflow.org", 137), ("fioravanzo.org", 255)] {
        for (code, wanted) in [
            (0, "Succeeded"),
            (1, "Failed"),
            (127, "Failed"),
            (retried, "Running"),
        ] {
            let entries = [
                entry("SCHEDULER", 1),
                entry("SERVER", 1),
                entry("WORKER", 1),
            ];
            let mut world = world(&manifest(group, &entries));
            // What another does to its end is not the job's.
            world.exit(MX.worker(0), 0);
            assert_eq!(world.phase(), "Running", "{group}");
            world.exit(MX.chief(0), code);
            world.start_all();
            assert_eq!(view(&world, group)["state"], wanted, "{group} {code}");
        }
    }
}

// promise: P53, P54, P55, P56
#[test]
fn at_v1beta1_conditions_counts_and_times_tell_a_life() {
    let published = sample("kubeflow-v1beta1-train-gpu.yaml");
    let stored = versions::to(Version::V1, &published);
    let mut named = stored.clone();
    named["metadata"]["name"] = json!("demo");
    let mut world = World::running(MX, named);
    let view = |world: &World| {
        let mut object = stored.clone();
        object["status"] = json!(world.status());
        versions::to(Version::V1Beta1, &object)["status"].clone()
    };
    let running = view(&world);
    assert!(running["startTime"].is_string() && running["completionTime"].is_null());
    for role in ["Scheduler", "Server", "Worker"] {
        assert_eq!(running["mxReplicaStatuses"][role]["active"], 1, "{role}");
    }
    world.exit(MX.worker(0), 0);
    world.exit(MX.chief(0), 0);
    let ended = view(&world);
    assert!(ended["completionTime"].is_string());
    let conditions = ended["conditions"].as_array().unwrap();
    let words = |key: &str| -> Vec<_> { conditions.iter().map(|one| one[key].clone()).collect() };
    assert_eq!(words("type"), ["Created", "Running", "Succeeded"]);
    assert_eq!(words("status"), ["True", "False", "True"]);
    assert_eq!(
        words("reason"),
        ["MXJobCreated", "MXJobRunning", "MXJobSucceeded"]
    );
    for condition in conditions {
        for key in ["message", "lastUpdateTime", "lastTransitionTime"] {
            assert!(condition[key].is_string(), "{key} of {condition}");
        }
    }
}

// promise: P90
#[test]
fn the_published_manifests_are_where_the_documents_say() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    for (documented, tested) in [
        ("mxjob_sample/mx_job_dist.yaml", "kubeflow-v1alpha1-dist"),
        ("mxjob-linear-dist.yml", "fioravanzo-v1alpha1-linear"),
        ("mx_job_local.yaml", "mlkube-v1beta1-local"),
        ("mx_job_dist.yaml", "mlkube-v1beta1-dist"),
        (
            "v1beta1/train/mx_job_dist_gpu.yaml",
            "kubeflow-v1beta1-train-gpu",
        ),
        (
            "v1beta1/tune/mx_job_tune_gpu.yaml",
            "kubeflow-v1beta1-tune-gpu",
        ),
    ] {
        let there = fs::read_to_string(root.join("examples").join(documented));
        let there: Value = serde_saphyr::from_str(&there.expect(documented)).unwrap();
        assert_eq!(there, sample(&format!("{tested}.yaml")), "{documented}");
    }
}
