//! What keeps a job from going on, as the API shows it: pods that wait, and names that are taken.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

mod support;

use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use mxjob_core::api::v1::{Condition, ConditionType};
use mxjob_core::plan::{EventKind, Plan, PodView, ServiceView};
use mxjob_core::{MxRole, ReplicaRole};
use serde_json::{Value, json};
use support::{Look, MX, World};

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

fn container(name: &str, state: Value) -> Value {
    json!({"name": name, "image": "", "imageID": "", "ready": false, "restartCount": 0, "state": state})
}

fn waiting(name: &str, reason: &str) -> Value {
    container(name, json!({"waiting": {"reason": reason}}))
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
        let running = container("mxnet", json!({"running": {}}));
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
                        container("first", json!({"terminated": {"exitCode": 0}})),
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
