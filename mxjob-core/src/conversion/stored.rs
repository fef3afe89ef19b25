//! Jobs of a resource that has no v1: read as v1, written in their own words. Of a resource that is
//! stored at v1 everything is what it is.

use std::sync::Arc;

use serde_json::{Value, json};

use super::sections::{self, ROLES, SPEC, STATUS, fields};
use super::{Older, convert, runtime_id};
use crate::api::Version;
use crate::api::v1::{ConditionType, JobStatus};
use crate::check;
use crate::job::Job;
use crate::problem::Problem;
use crate::role::RoleTable;

/// How a stored job is written.
#[derive(Clone, Debug)]
pub struct Stored {
    table: &'static RoleTable,
    /// The job as v1, without its templates; `None`: it is stored so.
    v1: Option<Arc<Value>>,
    /// Its spec with its defaults, where some are not stored.
    filled: Option<Arc<Value>>,
}

impl Stored {
    /// Reads an object as it is stored, whatever its shape.
    pub fn read(table: &'static RoleTable, object: &Value) -> (Job, Self) {
        let mut stored = Self {
            table,
            v1: None,
            filled: None,
        };
        if table.crd.alone.is_none() {
            return (Job::read(table, object), stored);
        }
        let Ok(mut v1) = convert(table, object.clone(), Version::V1) else {
            return (Job::read(table, object), stored);
        };
        let mut job = Job::read(table, &v1);
        // In the words of its version, before those of v1.
        let problems = check::stored_list(table, object);
        if problems.iter().any(Problem::is_error) {
            job.spec = Err(problems.into_iter().filter(Problem::is_error).collect());
        } else if !is_accepted(&job.status) {
            stored.filled = filled(table, object).map(Arc::new);
        }
        let roles = v1.get_mut(SPEC).and_then(|spec| spec.get_mut(ROLES));
        let roles = roles.and_then(Value::as_object_mut).into_iter().flatten();
        for (_, entry) in roles {
            if let Some(entry) = entry.as_object_mut() {
                entry.shift_remove("template");
            }
        }
        stored.v1 = Some(Arc::new(v1));
        (job, stored)
    }

    /// The spec to be stored before anything else is done for the job: its own, with its defaults
    /// written out. `None`: it is stored as it should be. `job` is what was read.
    pub fn spec(&self, job: &Job) -> Option<&Value> {
        let meta = &job.meta;
        let is_new = job.spec.is_ok() && !is_accepted(&job.status) && !job.status.is_paused();
        let filled = self.filled.as_deref();
        filled.filter(|_| is_new && !meta.deleting && !meta.managed_elsewhere)
    }

    /// A status as it is stored.
    pub fn status(&self, status: &JobStatus) -> Value {
        let Some(v1) = &self.v1 else {
            return json!(status);
        };
        let mut v1 = Value::clone(v1);
        if let Some(fields) = v1.as_object_mut() {
            fields.insert(STATUS.to_owned(), json!(status));
        }
        let stored = convert(self.table, v1, Version::stored(self.table));
        // Cannot fail for what has come the other way.
        stored.map_or_else(
            |_| json!(status),
            |mut stored| stored.get_mut(STATUS).map(Value::take).unwrap_or_default(),
        )
    }
}

fn is_accepted(status: &JobStatus) -> bool {
    status.condition(ConditionType::Created).is_some() || status.is_finished()
}

/// The spec with its defaults; `None`: they are all there.
fn filled(table: &RoleTable, object: &Value) -> Option<Value> {
    let before = object.get(SPEC)?;
    let mut object = object.as_object()?.clone();
    let version = Version::stored(table);
    let older = Older::of(table, version, &object)?;
    let mut content = sections::take(table, version, &mut object);
    fields(&content, SPEC)?;
    older.fill(table, older.version(), &mut content);
    if let Older::V1Alpha1 { uid, .. } = &older {
        runtime_id::fill(uid, &mut content);
    }
    sections::put(table, version, content, &mut object);
    object.remove(SPEC).filter(|filled| filled != before)
}
