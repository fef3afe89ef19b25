//! The objects that the calls are about, and what a call does to one.

use k8s_openapi::api::core::v1::{ConfigMap, Pod, Service};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use mxjob_core::model::{Stored, StoredJob};
use mxjob_core::{MxRole, ReplicaRole as _};
use serde_json::{Value, json};

use crate::calls::{Call, Kind, Only, Pick, Verb};

const FINALIZER: &str = "example.org/hold";

/// The uid and the resourceVersion that a call names.
pub(crate) fn named(only: Only, meta: Option<&ObjectMeta>) -> (Option<String>, Option<String>) {
    let pick = |pick, current: Option<String>, other: &str| match pick {
        Pick::Any => None,
        Pick::Current => current.or_else(|| Some(other.to_owned())),
        Pick::Other => Some(other.to_owned()),
    };
    let uid = meta.and_then(|meta| meta.uid.clone());
    let version = meta.and_then(|meta| meta.resource_version.clone());
    (
        pick(only.uid, uid, "00000000-0000-0000-0000-000000000000"),
        // Long ago on the server, and never in the model, which begins there.
        pick(
            only.version,
            version.clone(),
            if is_first(version.as_deref()) {
                "2"
            } else {
                "1"
            },
        ),
    )
}

fn is_first(version: Option<&str>) -> bool {
    version == Some("1")
}

pub(crate) fn fresh(call: &Call, owner: Option<(String, String)>) -> Value {
    let Verb::Create { held, on_node, .. } = &call.verb else {
        return Value::Null;
    };
    let container = json!({"name": "mxnet", "image": "some/image:0"});
    let mut object = match call.kind {
        Kind::Job => json!({
            "apiVersion": "kubeflow.org/v1", "kind": "MXJob",
            "spec": {"mxReplicaSpecs": {"Worker": {"replicas": 1, "template": {"spec": {"containers": [container]}}}}},
        }),
        Kind::Pod => json!({
            "apiVersion": "v1", "kind": "Pod",
            "spec": {"containers": [container], "terminationGracePeriodSeconds": 20},
        }),
        Kind::Service => json!({
            "apiVersion": "v1", "kind": "Service",
            "spec": {"clusterIP": "None", "ports": [{"port": 9091}]},
        }),
        Kind::ConfigMap => json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"v": "0"}}),
    };
    object["metadata"] = json!({"name": call.name});
    if *held {
        object["metadata"]["finalizers"] = json!([FINALIZER]);
    }
    if let Some((name, uid)) = owner {
        object["metadata"]["ownerReferences"] = json!([{
            "apiVersion": "kubeflow.org/v1", "kind": "MXJob", "name": name, "uid": uid,
            "controller": true, "blockOwnerDeletion": true,
        }]);
    }
    if *on_node && call.kind == Kind::Pod {
        object["spec"]["nodeName"] = json!("nowhere");
    }
    object
}

/// What a call changes, as a patch.
pub(crate) fn change(call: &Call, meta: Option<&ObjectMeta>) -> Value {
    let with = |mut change: Value, only: Only| {
        let (uid, version) = named(only, meta);
        if let Some(uid) = uid {
            change["metadata"]["uid"] = json!(uid);
        }
        if let Some(version) = version {
            change["metadata"]["resourceVersion"] = json!(version);
        }
        change
    };
    match &call.verb {
        Verb::Label(value, only) => with(
            json!({"metadata": {"labels": {"v": value.to_string()}}}),
            *only,
        ),
        Verb::Hold(hold) => json!({"metadata": {"finalizers": hold.then_some([FINALIZER])}}),
        Verb::Spec(value) => spec_change(call.kind, *value),
        Verb::Status(value, only) => with(json!({"status": status(call.kind, *value)}), *only),
        Verb::Create { .. } | Verb::Get | Verb::Replace(..) | Verb::Delete(..) => Value::Null,
    }
}

fn spec_change(kind: Kind, value: u8) -> Value {
    match kind {
        Kind::Job => json!({"spec": {"runPolicy": {"backoffLimit": value}}}),
        Kind::Pod => {
            let container = json!({"name": "mxnet", "image": format!("some/image:{value}")});
            json!({"spec": {"containers": [container]}})
        }
        Kind::Service => json!({"spec": {"publishNotReadyAddresses": value > 0}}),
        Kind::ConfigMap => json!({"data": {"v": value.to_string()}}),
    }
}

fn phase(value: u8) -> &'static str {
    ["Pending", "Running", "Failed"][usize::from(value)]
}

fn status(kind: Kind, value: u8) -> Value {
    match kind {
        Kind::Job => json!({"restarts": value}),
        Kind::Pod => json!({"phase": phase(value)}),
        Kind::Service | Kind::ConfigMap => json!({}),
    }
}

/// A kind as the model stores it, and how its objects are changed.
pub(crate) trait Subject: Stored {
    fn read(object: Value) -> Self;
    fn set_spec(&mut self, value: u8);
    fn set_status(&mut self, _value: u8) {}

    fn set_label(&mut self, value: u8) {
        let labels = self.meta_mut().labels.get_or_insert_default();
        labels.insert("v".to_owned(), value.to_string());
    }

    fn hold(&mut self, hold: bool) {
        self.meta_mut().finalizers = hold.then(|| vec![FINALIZER.to_owned()]);
    }
}

impl Subject for StoredJob {
    fn read(object: Value) -> Self {
        Self::new(MxRole::TABLE, &object)
    }

    fn set_spec(&mut self, value: u8) {
        let mut spec = Value::clone(&self.spec);
        spec["runPolicy"]["backoffLimit"] = json!(value);
        self.spec = spec.into();
    }

    fn set_status(&mut self, value: u8) {
        self.status_mut().restarts = Some(value.into());
    }
}

impl Subject for Pod {
    fn read(object: Value) -> Self {
        serde_json::from_value(object).unwrap()
    }

    fn set_spec(&mut self, value: u8) {
        let containers = &mut self.spec.as_mut().unwrap().containers;
        containers[0].image = Some(format!("some/image:{value}"));
    }

    fn set_status(&mut self, value: u8) {
        self.status.get_or_insert_default().phase = Some(phase(value).to_owned());
    }
}

impl Subject for Service {
    fn read(object: Value) -> Self {
        serde_json::from_value(object).unwrap()
    }

    fn set_spec(&mut self, value: u8) {
        let spec = self.spec.get_or_insert_default();
        spec.publish_not_ready_addresses = (value > 0).then_some(true);
    }
}

impl Subject for ConfigMap {
    fn read(object: Value) -> Self {
        serde_json::from_value(object).unwrap()
    }

    fn set_spec(&mut self, value: u8) {
        let data = self.data.get_or_insert_default();
        data.insert("v".to_owned(), value.to_string());
    }
}
