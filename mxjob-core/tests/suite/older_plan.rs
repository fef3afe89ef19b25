//! Jobs that were made at v1alpha1: who decides, what is retried, what is an end.

use std::collections::BTreeSet;

use crate::support::{MX, World};
use k8s_openapi::api::core::v1::Pod;
use mxjob_core::api::Version;
use mxjob_core::api::v1::ConditionType;
use mxjob_core::conversion::convert;
use mxjob_core::job::Replica;
use mxjob_core::model::{Part, Preconditions};
use mxjob_core::{MxRole, ReplicaRole};
use serde_json::{Value, json};

const RETRIED: [i32; 4] = [130, 137, 138, 143];

/// A scheduler, a server and three workers whose templates have that restart policy; the chief named,
/// if one is.
fn world(chief: Option<(&str, u32)>, restart: Option<&str>) -> World {
    let entry = |role: &str, replicas: u32| {
        let container = json!({"name": "mxnet", "image": "some/image", "command": ["train"]});
        let mut pod = json!({"containers": [container]});
        if let Some(restart) = restart {
            pod["restartPolicy"] = json!(restart);
        }
        json!({"mxReplicaType": role, "replicas": replicas, "template": {"spec": pod}})
    };
    let mut spec = json!({
        "replicaSpecs": [entry("SCHEDULER", 1), entry("SERVER", 1), entry("WORKER", 3)],
    });
    if let Some((name, index)) = chief {
        spec["terminationPolicy"] = json!({"chief": {"replicaName": name, "replicaIndex": index}});
    }
    let manifest = json!({
        "apiVersion": "kubeflow.org/v1alpha1", "kind": "MXJob",
        "metadata": {"name": "demo", "namespace": "lab"}, "spec": spec,
    });
    let stored = convert(MxRole::TABLE, manifest, Version::V1).unwrap();
    World::running(MX, stored)
}

const POLICIES: [Option<&str>; 4] = [None, Some("Never"), Some("OnFailure"), Some("Always")];

/// Phase and state as the first operator would have said them.
fn view(world: &World) -> (String, String) {
    let job = world.cluster.job().unwrap();
    let object = json!({
        "apiVersion": "kubeflow.org/v1", "kind": "MXJob", "metadata": {"name": "demo"},
        "spec": {"mxReplicaSpecs": {}}, "status": job.status,
    });
    let view = convert(MxRole::TABLE, object, Version::V1Alpha1).unwrap();
    let text = |key: &str| view["status"][key].as_str().unwrap().to_owned();
    (text("phase"), text("state"))
}

// contract: 12.16
// defect: D5
#[test]
fn the_chief_that_is_named_decides() {
    for restart in POLICIES {
        let mut world = world(Some(("WORKER", 1)), restart);
        assert_eq!(world.status().chief.as_deref(), Some("Worker/1 Running"));
        for replica in [MX.worker(0), MX.chief(0)] {
            world.exit(replica, 0);
            assert_eq!(world.phase(), "Running", "{restart:?}");
        }
        world.exit(MX.worker(1), 0);
        // Worker 2 has time to save a model.
        assert_eq!(world.phase(), "Running", "{restart:?}");
        world.pass(30);
        assert_eq!(world.phase(), "Succeeded", "{restart:?}");
        assert_eq!(view(&world), ("Done".to_owned(), "Succeeded".to_owned()));
        assert_eq!(world.pods(), Vec::<String>::new());
    }
}

// contract: 12.16
// promise: P58
#[test]
fn the_job_ends_with_its_chief_when_the_others_have_ended() {
    for restart in POLICIES {
        let mut world = world(None, restart);
        for index in 0..3 {
            world.exit(MX.worker(index), 0);
        }
        assert_eq!(world.phase(), "Running", "{restart:?}");
        world.exit(MX.chief(0), 0);
        assert_eq!(world.phase(), "Succeeded", "{restart:?}");
    }
}

/// The chief is marked, and the others are not.
#[test]
fn the_chief_has_its_label() {
    let world = world(Some(("WORKER", 1)), None);
    let marked = world.cluster.pods().filter(|pod| {
        let labels = pod.metadata.labels.as_ref().unwrap();
        labels.contains_key("training.kubeflow.org/job-role")
    });
    let marked: Vec<_> = marked
        .map(|pod| pod.metadata.name.clone().unwrap())
        .collect();
    assert_eq!(marked, [world.name(MX.worker(1))]);
}

// contract: 12.16
#[test]
fn once_the_chief_is_done_nobody_makes_the_job_fail() {
    for restart in POLICIES {
        for code in [1, 137] {
            let mut world = world(Some(("WORKER", 1)), restart);
            world.exit(MX.worker(1), 0);
            let pods = world.pods().len();
            world.exit(MX.worker(0), code);
            world.vanish(MX.server(0));
            assert_eq!(
                world.pods().len(),
                pods - 1,
                "{restart:?}: nobody is replaced"
            );
            world.pass(30);
            assert_eq!(world.phase(), "Succeeded", "{restart:?} {code}");
        }
    }
    // Nobody is left to wait for.
    let mut world = world(Some(("WORKER", 1)), None);
    for (index, code) in [(1, 0), (0, 0), (2, 1)] {
        assert_eq!(world.phase(), "Running");
        world.exit(MX.worker(index), code);
    }
    assert_eq!(world.phase(), "Succeeded");
}

/// What a job does when that replica ends so.
fn ends(restart: Option<&str>, replica: Replica, code: i32, reason: Option<&str>) -> String {
    let mut world = world(Some(("WORKER", 1)), restart);
    let before = world.uid(replica);
    world.exit_for(replica, code, reason);
    let phase = world.phase();
    let role = MxRole::TABLE.role(replica.role).name;
    if phase == "Failed" {
        assert_eq!(view(&world), ("Done".to_owned(), "Failed".to_owned()));
        let told = format!("mxjob demo is failed because 1 {role} replica(s) failed.");
        assert_eq!(world.message(ConditionType::Failed), told);
        return phase;
    }
    assert_eq!(view(&world), ("Running".to_owned(), "Running".to_owned()));
    world.start_all();
    let same = world.uid(replica) == before;
    assert_eq!(world.counts(role).restarts, i32::from(!same));
    if same {
        "restarted in place"
    } else {
        "replaced"
    }
    .to_owned()
}

// contract: 12.16, 12.17
// promise: P60, P61, P62, P63
// defect: D19
#[test]
fn exit_codes_of_the_chief_and_of_the_others() {
    for restart in POLICIES {
        let in_place = matches!(restart, Some("OnFailure" | "Always"));
        // Templates without a policy and with OnFailure are tried with all of them.
        let codes: Vec<i32> = match restart {
            None | Some("OnFailure") => (1..=255).collect(),
            Some(_) => vec![1, 129, 130, 137, 138, 139, 143, 255],
        };
        for replica in [MX.worker(1), MX.server(0)] {
            for code in codes.clone() {
                let wanted = match (RETRIED.contains(&code), in_place) {
                    (false, _) => "Failed",
                    (true, true) => "restarted in place",
                    (true, false) => "replaced",
                };
                let got = ends(restart, replica, code, None);
                assert_eq!(got, wanted, "{restart:?} {replica:?} {code}");
            }
        }
    }
}

// contract: 12.17
#[test]
fn out_of_memory_is_the_end_whatever_the_code() {
    for restart in POLICIES {
        for replica in [MX.worker(1), MX.server(0)] {
            for code in [1, 137, 143] {
                let got = ends(restart, replica, code, Some("OOMKilled"));
                assert_eq!(got, "Failed", "{restart:?} {replica:?} {code}");
            }
        }
    }
    // At v1 the code alone counts.
    let mut manifest = MX.job(1, 0, 1);
    for role in ["Scheduler", "Worker"] {
        manifest["spec"]["mxReplicaSpecs"][role]["restartPolicy"] = json!("ExitCode");
    }
    let mut world = World::running(MX, manifest);
    world.exit_for(MX.worker(0), 137, Some("OOMKilled"));
    assert_ne!(world.phase(), "Failed");
}

// contract: 12.17
// promise: P31
#[test]
fn pods_keep_the_restart_policy_of_their_template() {
    for (own, wanted) in [
        (None, "Never"),
        (Some("Never"), "Never"),
        (Some("OnFailure"), "OnFailure"),
        (Some("Always"), "Always"),
    ] {
        let world = world(None, own);
        let of = |pod: &Pod| {
            let spec = pod.spec.as_ref().unwrap();
            spec.restart_policy.clone().unwrap()
        };
        let found: BTreeSet<_> = world.cluster.pods().map(of).collect();
        assert_eq!(found, BTreeSet::from([wanted.to_owned()]));
        let said = world.said("SetPodTemplateRestartPolicy");
        assert_eq!(said, Vec::<String>::new(), "nothing is overwritten");
    }
}

// contract: 12.14
#[test]
fn a_replaced_replica_has_its_name_again_and_nothing_is_strange() {
    let mut world = world(None, None);
    let run = world.cluster.job().unwrap().meta.run.clone().unwrap();
    let names: BTreeSet<_> = world.pods().into_iter().collect();
    assert!(names.contains(&format!("worker-{run}-2")), "{names:?}");
    assert_eq!(world.services(), 5);
    world.exit(MX.worker(2), 137);
    assert_eq!(world.pods().into_iter().collect::<BTreeSet<_>>(), names);
    world.start_all();
    world.pass(100);
    assert!(world.is_quiet(), "{:?}", world.planned());
    // Smaller, then larger: fixed membership restarts it, and names are the same again.
    world.scale("Worker", 2);
    world.scale("Worker", 3);
    assert_eq!(world.pods().into_iter().collect::<BTreeSet<_>>(), names);
}

#[test]
fn a_label_that_somebody_takes_off_comes_back() {
    let mut world = world(None, None);
    let name = world.name(MX.worker(0));
    let key = "training.kubeflow.org/replica-index";
    let anything = Preconditions::default();
    world
        .cluster
        .server
        .update::<Pod>(&name, &anything, Part::Main, |pod| {
            pod.metadata.labels.as_mut().unwrap().remove(key);
        })
        .unwrap();
    world.settle();
    let pod = world
        .cluster
        .pods()
        .find(|pod| pod.metadata.name.as_ref() == Some(&name));
    assert_eq!(pod.unwrap().metadata.labels.as_ref().unwrap()[key], "0");
}

#[test]
fn a_worker_that_is_done_is_not_started_again() {
    for restart in POLICIES {
        let mut world = world(None, restart);
        let uid = world.uid(MX.worker(0));
        assert!(uid.is_some());
        world.exit(MX.worker(0), 0);
        world.pass(700);
        assert_eq!(world.uid(MX.worker(0)), uid, "{restart:?}");
        let status: Value = json!(world.status());
        let worker = &status["replicaStatuses"]["Worker"];
        assert_eq!(worker["succeeded"], 1, "{restart:?}");
        assert_eq!(world.phase(), "Running");
    }
}
