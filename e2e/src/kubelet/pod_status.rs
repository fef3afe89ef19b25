//! The pod status that a kubelet writes (`v1` PodStatus), as merge patches.

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{ContainerStatus, Pod};
use serde_json::{Value, json};

/// What becomes of a pod whose containers have exited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Exit {
    /// The restart policy starts the containers again.
    Restarted,
    /// The pod has succeeded or failed.
    Over,
}

/// The phase; what the apiserver has not been told anything about is pending.
pub(super) fn phase(pod: &Pod) -> &str {
    let phase = pod.status.as_ref().and_then(|s| s.phase.as_deref());
    phase.unwrap_or("Pending")
}

/// The node that the pod is bound to.
pub(super) fn node(pod: &Pod) -> Option<&str> {
    pod.spec.as_ref()?.node_name.as_deref()
}

/// Whether the pod has ended for good.
pub(super) fn is_over(pod: &Pod) -> bool {
    matches!(phase(pod), "Succeeded" | "Failed")
}

/// All containers run and are ready.
pub(super) fn running(pod: &Pod) -> Value {
    let containers = containers(pod, |container| {
        running_container(container, restarts(container), &Value::Null)
    });
    json!({
        "phase": "Running",
        "startTime": start_time(pod),
        "hostIP": "127.0.0.1",
        "podIP": "127.0.0.1",
        "podIPs": [{"ip": "127.0.0.1"}],
        "conditions": conditions("True", None),
        "containerStatuses": containers,
    })
}

/// All containers have exited with `code`, and the restart policy has had its say.
pub(super) fn exited(pod: &Pod, code: i32) -> (Exit, Value) {
    let policy = pod.spec.as_ref().and_then(|s| s.restart_policy.as_deref());
    let restarts_in_place = match policy {
        Some("Never") => false,
        Some("OnFailure") => code != 0,
        // The API's default.
        _ => true,
    };
    if restarts_in_place {
        let containers = containers(pod, |container| {
            let last = termination(container, code);
            running_container(container, restarts(container) + 1, &last)
        });
        return (Exit::Restarted, json!({"containerStatuses": containers}));
    }
    (Exit::Over, over(pod, code))
}

/// What a deleted pod looks like at its end: it obeyed SIGTERM.
pub(super) fn terminated(pod: &Pod) -> Value {
    over(pod, 143)
}

/// The end of a pod on a node that is short of memory.
pub(super) fn evicted(pod: &Pod) -> Value {
    let target = json!({
        "type": "DisruptionTarget",
        "status": "True",
        "reason": "TerminationByKubelet",
        "message": "The node was low on resource: memory.",
        "lastTransitionTime": now(),
    });
    let mut status = over(pod, 137);
    if let Some(fields) = status.as_object_mut() {
        fields.insert("reason".into(), "Evicted".into());
        let message = "The node was low on resource: memory.";
        fields.insert("message".into(), message.into());
        fields.insert("conditions".into(), conditions("False", Some(target)));
    }
    status
}

fn over(pod: &Pod, code: i32) -> Value {
    let containers = containers(pod, |container| {
        json!({
            "name": container.name,
            "image": container.image,
            "imageID": "",
            "containerID": container.id,
            "ready": false,
            "started": false,
            "restartCount": restarts(container),
            "state": termination(container, code),
        })
    });
    json!({
        "phase": if code == 0 { "Succeeded" } else { "Failed" },
        "startTime": start_time(pod),
        "conditions": conditions("False", None),
        "containerStatuses": containers,
    })
}

/// A container of the spec, with its status so far.
struct Container<'a> {
    name: &'a str,
    image: &'a str,
    id: String,
    status: Option<&'a ContainerStatus>,
}

fn containers(pod: &Pod, show: impl Fn(&Container<'_>) -> Value) -> Vec<Value> {
    let statuses = pod.status.as_ref();
    let statuses = statuses.and_then(|status| status.container_statuses.as_deref());
    let uid = pod.metadata.uid.as_deref().unwrap_or_default();
    let spec = pod.spec.as_ref().map(|spec| spec.containers.as_slice());
    let spec = spec.unwrap_or_default().iter();
    spec.map(|container| {
        let name = &container.name;
        show(&Container {
            name,
            image: container.image.as_deref().unwrap_or_default(),
            id: format!("scripted://{uid}/{name}"),
            status: statuses
                .unwrap_or_default()
                .iter()
                .find(|status| status.name == *name),
        })
    })
    .collect()
}

fn running_container(container: &Container<'_>, restarts: i32, last: &Value) -> Value {
    json!({
        "name": container.name,
        "image": container.image,
        "imageID": "",
        "containerID": container.id,
        "ready": true,
        "started": true,
        "restartCount": restarts,
        "state": {"running": {"startedAt": now()}},
        "lastState": if last.is_null() { json!({}) } else { last.clone() },
    })
}

fn restarts(container: &Container<'_>) -> i32 {
    container.status.map_or(0, |status| status.restart_count)
}

fn termination(container: &Container<'_>, code: i32) -> Value {
    let running = container.status.and_then(|status| status.state.as_ref());
    let running = running.and_then(|state| state.running.as_ref());
    let started = running.and_then(|running| running.started_at.as_ref());
    json!({"terminated": {
        "exitCode": code,
        "reason": if code == 0 { "Completed" } else { "Error" },
        "startedAt": started.map_or_else(now, |time| time.0.to_string()),
        "finishedAt": now(),
        "containerID": container.id,
    }})
}

fn conditions(ready: &str, more: Option<Value>) -> Value {
    let always = ["PodScheduled", "Initialized"].map(|kind| (kind, "True"));
    let ready = ["Ready", "ContainersReady"].map(|kind| (kind, ready));
    let known = always
        .into_iter()
        .chain(ready)
        .map(|(kind, status)| json!({"type": kind, "status": status, "lastTransitionTime": now()}));
    known.chain(more).collect()
}

fn start_time(pod: &Pod) -> String {
    let status = pod.status.as_ref();
    let start = status.and_then(|status| status.start_time.as_ref());
    start.map_or_else(now, |time| time.0.to_string())
}

/// In whole seconds, which is all that the API keeps.
fn now() -> String {
    let second = Timestamp::now().as_second();
    Timestamp::from_second(second)
        .unwrap_or_default()
        .to_string()
}
