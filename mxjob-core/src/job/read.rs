//! Reading a stored object: total, whatever was stored.

use serde_json::{Map, Value};

use super::{Job, JobMeta, Spec, defaults};
use crate::api::v1::{JobSpec, JobStatus};
use crate::check;
use crate::problem::Problem;
use crate::role::RoleTable;

impl Job {
    /// Reads an object. What is wrong with its spec stands in [`Job::spec`]; of a status that cannot
    /// be read every field that can be is kept.
    pub fn read(table: &'static RoleTable, object: &Value) -> Self {
        let mut meta = meta(object.get("metadata").unwrap_or(&Value::Null));
        let manager = object.pointer("/spec/runPolicy/managedBy");
        meta.managed_elsewhere = manager
            .and_then(Value::as_str)
            .is_some_and(|manager| manager != table.manager());
        let status = object.get("status").map(status).unwrap_or_default();
        let spec = spec(table, &meta, object);
        Self {
            table,
            meta,
            status,
            spec,
        }
    }
}

fn meta(meta: &Value) -> JobMeta {
    let text = |key: &str| {
        meta.get(key)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    JobMeta {
        namespace: text("namespace"),
        name: text("name"),
        uid: text("uid"),
        generation: meta
            .get("generation")
            .and_then(Value::as_i64)
            .unwrap_or_default(),
        deleting: meta
            .get("deletionTimestamp")
            .is_some_and(|time| !time.is_null()),
        managed_elsewhere: false,
    }
}

fn status(value: &Value) -> JobStatus {
    serde_json::from_value(value.clone()).unwrap_or_else(|_| {
        let fields = value.as_object().into_iter().flatten();
        let readable = fields.filter(|(key, field)| {
            let alone = Map::from_iter([((*key).clone(), (*field).clone())]);
            serde_json::from_value::<JobStatus>(Value::Object(alone)).is_ok()
        });
        let readable = readable
            .map(|(key, field)| (key.clone(), field.clone()))
            .collect();
        serde_json::from_value(Value::Object(readable)).unwrap_or_default()
    })
}

fn spec(table: &'static RoleTable, meta: &JobMeta, object: &Value) -> Result<Spec, Vec<Problem>> {
    errors(check::structure(table, object))?;
    let spec: JobSpec = serde_json::from_value(object.get("spec").cloned().unwrap_or_default())
        .map_err(|error| vec![Problem::error("spec", error.to_string())])?;
    errors(check::rules(table, &meta.name, &spec))?;
    defaults::spec(table, &spec).map_err(|problem| vec![problem])
}

fn errors(problems: Vec<Problem>) -> Result<(), Vec<Problem>> {
    let errors: Vec<_> = problems.into_iter().filter(Problem::is_error).collect();
    if errors.is_empty() {
        Ok(())
    } else {
        Err(errors)
    }
}
