//! Jobs whose replicas are a list, and those of the group that has jobs of its own.

use std::fs;
use std::path::Path;

use mxjob_core::api::Version;
use mxjob_core::conversion::{Stored, convert};
use mxjob_core::role::apis;
use mxjob_core::wiring::{Addresses, Wiring};
use mxjob_core::{Job, MxRole, RoleTable};
use serde_json::{Value, json};

/// A group that has jobs of its own.
#[derive(Clone, Copy)]
pub(crate) struct Group(pub(crate) &'static str);

impl Group {
    pub(crate) fn table(self) -> &'static RoleTable {
        let mut older = apis::<MxRole>().filter(|table| table.crd.group == self.0);
        older.next().unwrap()
    }

    pub(crate) fn to(self, version: Version, object: &Value) -> Value {
        convert(self.table(), object.clone(), version).unwrap()
    }

    pub(crate) fn read(self, object: &Value) -> (Job, Stored) {
        Stored::read(self.table(), object)
    }
}

const FIORAVANZO: Group = Group("fioravanzo.org");

pub(crate) fn table() -> &'static RoleTable {
    FIORAVANZO.table()
}

pub(crate) fn to(version: Version, object: &Value) -> Value {
    FIORAVANZO.to(version, object)
}

pub(crate) fn read(object: &Value) -> (Job, Stored) {
    FIORAVANZO.read(object)
}

/// A published manifest, as the API server stores it.
pub(crate) fn sample(name: &str) -> Value {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let text = fs::read_to_string(folder.join(name)).unwrap();
    let mut object: Value = serde_saphyr::from_str(&text).unwrap();
    object["metadata"] = json!({"name": "example", "namespace": "lab", "uid": "u-1"});
    object
}

/// Everything of `written` is in `shown`, where it was.
pub(crate) fn has(shown: &Value, written: &Value) -> bool {
    match (written, shown) {
        (Value::Object(written), Value::Object(shown)) => {
            let mut fields = written.iter();
            fields.all(|(key, value)| shown.get(key).is_some_and(|shown| has(shown, value)))
        }
        (Value::Array(written), Value::Array(shown)) => {
            written.len() == shown.len()
                && written
                    .iter()
                    .zip(shown)
                    .all(|(written, shown)| has(shown, written))
        }
        _ => written == shown,
    }
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
