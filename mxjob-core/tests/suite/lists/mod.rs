//! Jobs whose replicas are a list, and those of the group that has jobs of its own.

use mxjob_core::api::Version;
use mxjob_core::conversion::{Stored, convert};
use mxjob_core::role::apis;
use mxjob_core::wiring::{Addresses, Wiring};
use mxjob_core::{Job, MxRole, RoleTable};
use serde_json::{Value, json};

/// The table of that group.
pub(crate) fn table() -> &'static RoleTable {
    let mut older = apis::<MxRole>().filter(|table| table.crd.group == "fioravanzo.org");
    older.next().unwrap()
}

pub(crate) fn to(version: Version, object: &Value) -> Value {
    convert(table(), object.clone(), version).unwrap()
}

pub(crate) fn read(object: &Value) -> (Job, Stored) {
    Stored::read(table(), object)
}

pub(crate) fn entry(role: &str, replicas: u32) -> Value {
    let container = json!({"name": "mxnet", "image": "some/image"});
    let pod = json!({"containers": [container]});
    json!({"mxReplicaType": role, "replicas": replicas, "template": {"spec": pod}})
}

/// Pods, then services.
pub(crate) fn objects(job: &Job) -> (Vec<Value>, Vec<Value>) {
    let spec = job.spec.as_ref().unwrap();
    let wiring = Wiring::new(job, spec, Addresses::Cluster);
    let pods = wiring.pods().map(|pod| serde_json::to_value(pod).unwrap());
    let services = wiring.services().into_iter();
    let services = services.map(|service| serde_json::to_value(service).unwrap());
    (pods.collect(), services.collect())
}
