//! Jobs of the groups whose roles are a list, and what their first operators would have seen of them.

use crate::lists::table;
use crate::support::{MX, Set, World};
use jiff::Timestamp;
use mxjob_core::api::Version;
use mxjob_core::check::{list_rules, structure};
use mxjob_core::conversion::convert;
use mxjob_core::model::{Cluster, Part, Preconditions, StoredJob};
use mxjob_core::{Job, MxRole, ReplicaRole, RoleTable};
use serde_json::{Value, json};

/// The groups that have jobs of that form.
pub(crate) const GROUPS: [&str; 2] = ["kubeflow.org", "fioravanzo.org"];

fn of(group: &str) -> &'static RoleTable {
    let newest = MxRole::TABLE;
    if newest.crd.group == group {
        newest
    } else {
        table()
    }
}

/// A manifest at `v1alpha1`.
pub(crate) fn manifest(group: &str, entries: &[Value]) -> Value {
    json!({
        "apiVersion": format!("{group}/v1alpha1"), "kind": "MXJob",
        "metadata": {"name": "demo", "namespace": "lab", "uid": "u-1"},
        "spec": {"RuntimeId": "ab12", "replicaSpecs": entries},
    })
}

fn stored(manifest: &Value) -> (&'static RoleTable, Value) {
    let group = manifest["apiVersion"].as_str().unwrap();
    let table = of(group.split_once('/').unwrap().0);
    (
        table,
        convert(table, manifest.clone(), Version::V1).unwrap(),
    )
}

/// What the operator knows of such a job.
pub(crate) fn job(manifest: &Value) -> Job {
    let (table, stored) = stored(manifest);
    Job::read(table, &stored)
}

/// What the API server, by its rules for that version, and `mxjob lint` have against it.
pub(crate) fn problems(manifest: &Value) -> String {
    let (table, _) = stored(manifest);
    let mut problems = structure(table, manifest);
    if problems.is_empty() {
        problems.extend(list_rules(table, "demo", manifest));
    }
    let lines: Vec<_> = problems.iter().map(ToString::to_string).collect();
    lines.join("\n")
}

/// A job whose pods all run.
pub(crate) fn world(manifest: &Value) -> World {
    let (table, stored) = stored(manifest);
    World::running(Set { table, ..MX }, stored)
}

/// A job that its first operator has left in that phase, with what `leave` puts beside it.
pub(crate) fn left(
    manifest: &Value,
    phase: &str,
    state: &str,
    leave: impl FnOnce(&Job, &mut Cluster, Timestamp),
) -> World {
    let mut manifest = manifest.clone();
    manifest["status"] = json!({"phase": phase, "state": state});
    let (table, stored) = stored(&manifest);
    let name = manifest["metadata"]["name"].as_str().unwrap();
    let status = Job::read(table, &stored).status;
    World::left(Set { table, ..MX }, stored, |cluster, now| {
        let any = Preconditions::default();
        let write = |job: &mut StoredJob| *job.status_mut() = status;
        let written = cluster.server.update(name, &any, Part::Status, write);
        leave(written.unwrap().job(), cluster, now);
    })
}

/// Its status as the group shows it.
pub(crate) fn view(world: &World, group: &str) -> Value {
    let stored: &StoredJob = &world.cluster.server.get("demo").unwrap();
    let mut object = convert(of(group), manifest(group, &[]), Version::V1).unwrap();
    object["metadata"] = json!(stored.metadata);
    object["spec"] = json!(*stored.spec);
    object["status"] = json!(stored.job().status);
    convert(of(group), object, Version::V1Alpha1).unwrap()["status"].clone()
}

/// Why the job has failed without having had anything; it is not tried again.
pub(crate) fn ended(world: &World, group: &str) -> String {
    let status = view(world, group);
    assert_eq!(
        (&status["phase"], &status["state"]),
        (&json!("Failed"), &json!("Failed"))
    );
    assert_eq!((world.pods().len(), world.services()), (0, 0), "{group}");
    assert!(
        world.is_quiet() && world.cluster.next_deadline().is_none(),
        "{group}"
    );
    status["reason"].as_str().unwrap().to_owned()
}
