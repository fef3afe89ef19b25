//! A job whose runtime id is changed: by a manifest that leaves out the user's own, or by one of
//! another version.

use crate::support::{Look, MX, TUNING, World, annotated, set, tuning};
use k8s_openapi::api::core::v1::Pod;
use mxjob_core::api::v1::{ConditionType, JobStatus};
use mxjob_core::job::Attempt;
use mxjob_core::plan::{Action, Plan};
use serde_json::{Value, json};

const TOLD: &str = "MXJob demo is restarting because the names of its replicas changed.";

/// A user's own id, another, that of the uid, and none: the job is one of v1.
const IDS: [Option<Option<&str>>; 4] = [Some(Some("ab12")), Some(Some("zz9z")), Some(None), None];

/// Two workers, a server and a scheduler that survive no restart that counts.
fn manifest(id: Option<Option<&str>>) -> Value {
    let mut manifest = MX.job(1, 1, 2);
    for role in [MX.chief, MX.server, MX.worker] {
        let policy = format!("spec.mxReplicaSpecs.{role}.restartPolicy");
        set(&mut manifest, &policy, json!("ExitCode"));
    }
    set(&mut manifest, "spec.runPolicy.backoffLimit", json!(0));
    if let Some(id) = id {
        annotated(&mut manifest, id, None);
    }
    manifest
}

/// Names of the pods that the job is to have now.
fn wanted(world: &World) -> Vec<String> {
    let job = world.cluster.job().unwrap();
    let names = job
        .spec
        .as_ref()
        .unwrap()
        .replicas()
        .map(|one| world.name(one));
    let mut names: Vec<_> = names.collect();
    names.sort();
    names
}

fn pods(world: &World) -> Vec<String> {
    let pods = world.cluster.pods();
    pods.map(|pod| pod.metadata.name.clone().unwrap()).collect()
}

fn services(world: &World) -> Vec<String> {
    let services = world.cluster.services();
    services
        .map(|one| one.metadata.name.clone().unwrap())
        .collect()
}

// contract: 12.18
#[test]
fn other_names_restart_the_job_once_and_nothing_is_made_before_the_old_pods_are_gone() {
    for before in IDS {
        for after in IDS.into_iter().filter(|after| *after != before) {
            let mut world = World::running(MX, manifest(before));
            let old = wanted(&world);
            assert_eq!((pods(&world), services(&world)), (old.clone(), old.clone()));
            world.obedient = false;
            world.replace(manifest(after));
            assert!(
                world
                    .cluster
                    .pods()
                    .all(|pod| pod.metadata.deletion_timestamp.is_some())
            );
            assert_eq!((pods(&world), services(&world)), (old, Vec::new()));
            assert_eq!(world.status().reason.as_deref(), Some("MXJobRenamed"));
            assert_eq!(world.message(ConditionType::Restarting), TOLD);
            assert!(world.is_quiet(), "{:?}", world.planned());
            world.obedient = true;
            world.settle();
            let new = wanted(&world);
            assert_eq!((pods(&world), services(&world)), (new.clone(), new));
            world.start_all();
            world.pass(1_000);
            assert_eq!(world.phase(), "Running");
            assert_eq!(world.said("MXJobRenamed"), [TOLD]);
            let status = world.status();
            assert_eq!((status.restarts, status.counted_restarts), (Some(1), None));
            let counted = status.replica_statuses.values().map(|role| role.restarts);
            assert_eq!(counted.sum::<i32>(), 0);
            for replica in [MX.worker(0), MX.worker(1), MX.chief(0)] {
                world.exit(replica, 0);
            }
            assert_eq!(world.phase(), "Succeeded");
        }
    }
}

#[test]
fn another_edit_of_the_annotation_restarts_nothing() {
    let mut world = World::running(MX, manifest(Some(Some("ab12"))));
    let mut other = manifest(Some(Some("ab12")));
    annotated(&mut other, Some("ab12"), Some("WORKER"));
    world.replace(other);
    assert_eq!(
        (world.phase().as_str(), world.status().restarts),
        ("Running", None)
    );
    assert_eq!(world.status().chief.as_deref(), Some("Worker/0 Running"));
}

/// What names the plan deletes pods of, and whether it makes any.
fn does(plan: &Plan) -> (Vec<String>, bool) {
    let deleted = plan.actions.iter().filter_map(|action| match action {
        Action::DeletePod(target) => Some(target.name.clone()),
        _ => None,
    });
    let mut deleted: Vec<_> = deleted.collect();
    deleted.sort();
    let makes = |action: &Action| matches!(action, Action::CreatePod(..));
    (deleted, plan.actions.iter().any(makes))
}

// contract: 12.18
#[test]
fn an_operator_that_begins_in_the_middle_goes_on() {
    let mut world = World::running(MX, manifest(Some(Some("ab12"))));
    let old = wanted(&world);
    world.replace_unseen(manifest(Some(None)));
    let mut look = Look::of(&world);
    // The status was not written.
    let plan = look.plan();
    assert_eq!(look.plan(), plan);
    assert_eq!(does(&plan), (old.clone(), false));
    // It was, and nothing is deleted yet.
    look.job.status = plan.status.unwrap();
    let plan = look.plan();
    assert!(plan.status.is_none() && plan.events.is_empty(), "{plan:?}");
    assert_eq!(does(&plan), (old.clone(), false));
    // Some are gone, one is stopping.
    look.pods.retain(|pod| !pod.name.contains("worker"));
    look.pods[0].deleting = true;
    look.services.clear();
    let left = vec![look.pods[1].name.clone()];
    let plan = look.plan();
    assert!(plan.status.is_none() && plan.events.is_empty(), "{plan:?}");
    assert_eq!(does(&plan), (left, false));
    // Somebody wipes the status: the pods tell which life it was.
    let known = std::mem::take(&mut look.job.status);
    let plan = look.plan();
    assert_eq!(plan.status.as_ref().unwrap().restarts, Some(1));
    assert!(!does(&plan).1);
    look.job.status = known;
    // All are gone.
    look.pods.clear();
    assert_eq!(does(&look.plan()), (Vec::new(), true));
}

/// A pod of the job under a name that is no replica's, of the job's present life.
fn odd(world: &mut World, name: &str) {
    let mut pod = Pod::clone(world.cluster.pods().next().unwrap());
    pod.metadata.name = Some(name.to_owned());
    let annotations = pod.metadata.annotations.get_or_insert_default();
    let life = world.status().restarts.unwrap_or(0);
    let attempt = Attempt {
        job: life,
        replica: 0,
    };
    annotations.insert(Attempt::ANNOTATION.to_owned(), attempt.render());
    pod.spec.get_or_insert_default().node_name = None;
    world.cluster.create_pod(pod, world.now).unwrap();
}

// contract: 12.18
#[test]
fn a_pod_that_somebody_made_goes_and_restarts_nothing() {
    for id in IDS {
        for name in [
            "copy-of-demo-worker-0",
            "demo-x",
            "demo-worker-copy-0",
            "demo-worker-qq11-1",
        ] {
            let mut world = World::running(MX, manifest(id));
            let before = pods(&world);
            for _ in 0..3 {
                odd(&mut world, name);
                world.settle();
                assert_eq!(pods(&world), before, "{name}");
            }
            assert_eq!(
                (world.phase().as_str(), world.status().restarts),
                ("Running", None)
            );
            assert!(world.is_quiet());
        }
    }
}

/// Of a job that has no pods at all nothing tells that it is nobody's; but once.
#[test]
fn a_pod_that_somebody_made_restarts_a_job_without_pods_once() {
    let mut world = World::running(MX, manifest(None));
    let plan = |look: &Look| look.plan().status.map(|status| status.restarts);
    odd(&mut world, "demo-worker-copy-0");
    let mut look = Look::of(&world);
    look.pods.retain(|pod| pod.name == "demo-worker-copy-0");
    look.job.status = JobStatus::default();
    assert_eq!(plan(&look), Some(Some(1)));
    look.job.status = look.plan().status.unwrap();
    assert_eq!(plan(&look), None);
    // It comes again, to a job that is as it was.
    look.pods[0].uid = "another".to_owned();
    assert_eq!(plan(&look), None);
}

// contract: 12.18
#[test]
fn a_finished_job_is_left_alone() {
    let mut first = manifest(Some(Some("ab12")));
    set(&mut first, "spec.runPolicy.cleanPodPolicy", json!("None"));
    let mut world = World::running(MX, first);
    for replica in [MX.worker(0), MX.worker(1), MX.chief(0)] {
        world.exit(replica, 0);
    }
    let (kept, status) = (pods(&world), world.status());
    assert_eq!(kept.len(), 4);
    let mut other = manifest(None);
    set(&mut other, "spec.runPolicy.cleanPodPolicy", json!("None"));
    world.replace(other);
    assert_eq!((pods(&world), world.status()), (kept, status));
}

#[test]
fn what_has_ended_by_then_is_the_end() {
    // All have succeeded.
    let mut world = World::running(MX, manifest(Some(Some("ab12"))));
    for replica in [MX.worker(0), MX.worker(1), MX.chief(0)] {
        world.exit_unseen(replica, 0);
    }
    world.replace(manifest(None));
    assert_eq!(
        (world.phase().as_str(), world.status().restarts),
        ("Succeeded", None)
    );
    // One has failed.
    let mut world = World::running(MX, manifest(Some(Some("ab12"))));
    world.exit_unseen(MX.worker(0), 1);
    world.replace(manifest(None));
    assert_eq!(world.phase(), "Failed");
    assert_eq!(services(&world), Vec::<String>::new());
}

/// Nobody can look for a pod under the name that it had.
#[test]
fn a_pod_that_is_not_seen_when_names_change_is_nobodys_failure() {
    let mut never = manifest(Some(Some("ab12")));
    for role in [MX.chief, MX.server, MX.worker] {
        let policy = format!("spec.mxReplicaSpecs.{role}.restartPolicy");
        set(&mut never, &policy, json!("Never"));
    }
    let mut world = World::running(MX, never.clone());
    annotated(&mut never, None, None);
    world.replace_unseen(never);
    let mut look = Look::of(&world);
    look.pods.retain(|pod| !pod.name.contains("worker"));
    let status = look.plan().status.unwrap();
    assert_eq!(status.reason.as_deref(), Some("MXJobRenamed"));
}

// contract: 12.18
#[test]
fn a_suspended_job_resumes_under_its_new_names() {
    let mut world = World::running(MX, manifest(Some(Some("ab12"))));
    world.obedient = false;
    world.edit("spec.runPolicy.suspend", json!(true));
    let old = pods(&world);
    let mut suspended = manifest(None);
    set(&mut suspended, "spec.runPolicy.suspend", json!(true));
    world.replace(suspended);
    world.replace(manifest(None));
    assert_eq!(pods(&world), old, "they are stopping");
    world.obedient = true;
    world.settle();
    assert_eq!(pods(&world), wanted(&world));
    world.start_all();
    assert_eq!(
        (world.phase().as_str(), world.status().restarts),
        ("Running", None)
    );
    // Both at once.
    let mut both = manifest(Some(None));
    set(&mut both, "spec.runPolicy.suspend", json!(true));
    world.replace(both);
    assert_eq!((pods(&world), services(&world)), (Vec::new(), Vec::new()));
    assert_eq!(
        (world.phase().as_str(), world.status().restarts),
        ("Suspended", None)
    );
}

// contract: 12.18
#[test]
fn a_job_whose_members_may_come_and_go_restarts_as_well() {
    let mut world = World::running(TUNING, tuning());
    let mut older = tuning();
    let path = ["spec", "terminationPolicy", "chief", "replicaName"];
    let chief = json!({"path": path, "was": "WORKER", "is": "TUNER"});
    let held = json!({"origin": "v1alpha1", "rest": {"v1alpha1": [chief]}});
    let key = mxjob_core::conversion::CONVERSION_ANNOTATION;
    set(
        &mut older,
        "metadata.annotations",
        json!({key: held.to_string()}),
    );
    world.replace(older);
    assert_eq!(world.said("MXJobRenamed"), [TOLD]);
    assert_eq!(
        (pods(&world), services(&world)),
        (wanted(&world), wanted(&world))
    );
    assert!(pods(&world).iter().all(|name| name.split('-').count() == 4));
    world.start_all();
    assert_eq!(
        (world.phase().as_str(), world.status().restarts),
        ("Running", Some(1))
    );
}

/// Changed again before anything new was made, and back.
#[test]
fn names_changed_again_while_the_old_pods_stop_are_one_restart() {
    for last in [Some(Some("ab12")), None] {
        let mut world = World::running(MX, manifest(Some(Some("ab12"))));
        world.obedient = false;
        for id in [Some(Some("zz9z")), Some(None), last] {
            world.replace(manifest(id));
        }
        world.obedient = true;
        world.settle();
        assert_eq!(
            (pods(&world), world.status().restarts),
            (wanted(&world), Some(1))
        );
    }
}
