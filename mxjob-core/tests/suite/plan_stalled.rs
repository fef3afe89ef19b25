//! What keeps a job from going on, as the API shows it: pods that wait, and names that are taken.

use crate::support::{Look, MX, World};
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use mxjob_core::api::v1::{Condition, ConditionType};
use mxjob_core::plan::{EventKind, Plan, PodView, ServiceView};
use mxjob_core::{MxRole, ReplicaRole};
use serde_json::{Value, json};

const NAME: &str = "demo-worker-0";

/// A job whose worker is as old and shows itself as said.
fn showing(age: i64, status: Value) -> Look {
    let world = World::running(MX, MX.job(1, 0, 1));
    let mut look = Look::of(&world);
    let mut pod = worker(&world);
    pod.metadata.creation_timestamp = look.seconds_ago(age).map(Time);
    pod.status = Some(serde_json::from_value(status).unwrap());
    *look.pod(NAME) = PodView::of(&pod, MxRole::TABLE);
    look
}

fn worker(world: &World) -> Pod {
    let mut pods = world.cluster.pods();
    let is_it = |pod: &&Pod| pod.metadata.name.as_deref() == Some(NAME);
    pods.find(is_it).unwrap().clone()
}

fn container(name: &str, state: &Value) -> Value {
    json!({"name": name, "image": "", "imageID": "", "ready": false, "restartCount": 0, "state": state})
}

fn waiting(name: &str, reason: &str) -> Value {
    container(name, &json!({"waiting": {"reason": reason}}))
}

fn stalled(plan: &Plan) -> Option<Condition> {
    let status = plan.status.as_ref()?;
    status.condition(ConditionType::Stalled).cloned()
}

fn reason(plan: &Plan) -> Option<String> {
    stalled(plan)?.reason
}

// contract: 9.5
#[test]
fn a_pod_stalls_the_job_whichever_of_its_containers_waits() {
    let mut shown = vec![(
        "Unschedulable",
        json!({"conditions": [
            {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"},
        ]}),
    )];
    for cause in [
        "ImagePullBackOff",
        "ErrImagePull",
        "CreateContainerConfigError",
        "CrashLoopBackOff",
    ] {
        let running = container("mxnet", &json!({"running": {}}));
        shown.extend([
            (
                cause,
                json!({"containerStatuses": [waiting("mxnet", cause)]}),
            ),
            (
                cause,
                json!({"containerStatuses": [running, waiting("log", cause)]}),
            ),
            (
                cause,
                json!({
                    "containerStatuses": [waiting("mxnet", "PodInitializing")],
                    "initContainerStatuses": [
                        container("first", &json!({"terminated": {"exitCode": 0}})),
                        waiting("second", cause),
                    ],
                }),
            ),
        ]);
    }
    for (cause, status) in shown {
        let plan = showing(29, status.clone()).plan();
        assert!(plan.wake_at.is_some(), "{status}");
        assert_eq!(reason(&plan), None, "{status}");
        let plan = showing(30, status.clone()).plan();
        assert_eq!(reason(&plan).as_deref(), Some(cause), "{status}");
    }
}

// contract: 9.5
#[test]
fn a_pod_that_is_getting_ready_does_not_stall_the_job() {
    for state in ["ContainerCreating", "PodInitializing"] {
        let status = json!({"containerStatuses": [waiting("mxnet", state)]});
        assert_eq!(reason(&showing(3600, status).plan()), None, "{state}");
    }
}

// contract: 9.5
#[test]
fn a_crash_loop_is_as_old_as_the_last_run() {
    let after = |seconds: i64| {
        let look = showing(3600, json!({}));
        let ended = look.seconds_ago(seconds).unwrap();
        let mut one = waiting("mxnet", "CrashLoopBackOff");
        one["restartCount"] = json!(3);
        one["lastState"] = json!({"terminated": {"exitCode": 1, "finishedAt": ended}});
        let plan = showing(
            3600,
            json!({"phase": "Running", "containerStatuses": [one]}),
        )
        .plan();
        (plan, ended)
    };
    let (plan, _) = after(29);
    assert!(plan.wake_at.is_some());
    assert_eq!(reason(&plan), None);
    let (plan, ended) = after(30);
    assert_eq!(
        stalled(&plan).unwrap().message.unwrap(),
        format!("Worker/0 waits: CrashLoopBackOff, pod {NAME} ran until {ended}")
    );
}

/// A job whose worker's name, or whose worker's service, is taken by what is as said.
fn taken(object: &str, change: impl Fn(&mut ObjectMeta)) -> Look {
    let world = World::running(MX, MX.job(1, 0, 1));
    let mut look = Look::of(&world);
    look.job.status.replica_statuses.clear();
    if object == "Pod" {
        let mut pod = worker(&world);
        change(&mut pod.metadata);
        *look.pod(NAME) = PodView::of(&pod, MxRole::TABLE);
    } else {
        let mut services = world.cluster.services();
        let service = services.find(|one| one.metadata.name.as_deref() == Some(NAME));
        let mut service = service.unwrap().clone();
        change(&mut service.metadata);
        look.services.retain(|one| one.name != NAME);
        look.services.push(ServiceView::of(&service, MxRole::TABLE));
    }
    look
}

fn owned_by(meta: &mut ObjectMeta, api_version: &str, kind: &str, name: &str) {
    let owner = json!([{"apiVersion": api_version, "kind": kind, "name": name,
        "uid": "uid-of-another", "controller": true}]);
    meta.owner_references = serde_json::from_value(owner).unwrap();
}

// contract: 8.8, 9.5
#[test]
fn only_what_a_job_of_the_same_name_owned_is_waited_for() {
    for object in ["Pod", "Service"] {
        for (api_version, kind, name, waits) in [
            ("kubeflow.org/v1", "MXJob", "demo", true),
            ("kubeflow.org/v1", "MXJob", "demo-worker-0", false),
            ("kubeflow.org/v1", "TFJob", "demo", false),
            ("example.org/v1", "MXJob", "demo", false),
            ("apps/v1", "ReplicaSet", "web", false),
        ] {
            let look = taken(object, |meta| owned_by(meta, api_version, kind, name));
            let plan = look.plan();
            let wanted = (!waits).then(|| "NameTaken".to_owned());
            assert_eq!(reason(&plan), wanted, "{object} of {kind} {name}");
            assert_eq!(plan.wake_at.is_some(), waits, "{object} of {kind} {name}");
        }
    }
}

// contract: 5.3.4
#[test]
fn a_name_that_is_taken_under_our_labels_is_told_once() {
    for object in ["Pod", "Service"] {
        let mut look = taken(object, |meta| meta.owner_references = None);
        let plan = look.plan();
        let [event] = &plan.events[..] else {
            unreachable!("one event, not {:?}", plan.events)
        };
        let said = (event.kind, event.reason.as_ref(), event.message.as_str());
        let reason = format!("FailedCreate{object}");
        let message = format!(
            "Error creating: {} {NAME} belongs to somebody else: delete or rename it",
            object.to_lowercase()
        );
        assert_eq!(said, (EventKind::Warning, &*reason, &*message));
        look.job.status = plan.status.unwrap();
        assert_eq!(look.plan().events, []);
    }
}

// contract: 5.3.4
#[test]
fn a_name_that_is_taken_without_our_labels_is_told_by_the_refused_create() {
    for object in ["Pod", "Service"] {
        let look = taken(object, |meta| {
            (meta.owner_references, meta.labels) = (None, None);
        });
        let plan = look.plan();
        assert_eq!(reason(&plan).as_deref(), Some("NameTaken"));
        assert_eq!(plan.events, []);
    }
}
