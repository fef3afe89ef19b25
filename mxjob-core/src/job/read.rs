//! Reading a stored object: total, whatever was stored.

use serde::Deserialize as _;
use serde_json::{Map, Value};

use super::{Job, JobMeta, Spec, defaults, profile};
use crate::api::v1::{ConditionType, JobSpec, JobStatus};
use crate::check;
use crate::conversion::{Ports, Said, as_made};
use crate::problem::Problem;
use crate::role::RoleTable;
use crate::schema::rule::NAME;

impl Job {
    /// Reads an object. What is wrong with its spec stands in [`Job::spec`]; of a status that cannot
    /// be read every field that can be is kept.
    pub fn read(table: &'static RoleTable, object: &Value) -> Self {
        let mut meta = meta(object.get("metadata").unwrap_or(&Value::Null));
        let manager = object.pointer("/spec/runPolicy/managedBy");
        meta.managed_elsewhere = manager
            .and_then(Value::as_str)
            .is_some_and(|manager| manager != table.manager());
        meta.ttl = ["/spec/runPolicy", "/spec"]
            .iter()
            .find_map(|place| {
                object
                    .pointer(place)?
                    .get("ttlSecondsAfterFinished")?
                    .as_i64()
            })
            .filter(|ttl| *ttl >= 0);
        let status = object.get("status").map(status).unwrap_or_default();
        let said = Said::of(table, object);
        meta.listed = said.is_some();
        let run = said.as_ref().map(profile::run).transpose();
        meta.run = run.as_ref().ok().cloned().flatten();
        let spec = match run {
            Ok(_) => spec(table, &meta, object, said.as_ref()).or_else(|problems| match &said {
                Some(said) => as_large_as_before(table, &meta, object, &status, problems)
                    .or_else(|problems| as_left(table, &meta, object, &status, said, problems)),
                None => Err(problems),
            }),
            // Without names there is no job.
            Err(problem) => Err(vec![problem]),
        };
        Self {
            table,
            meta,
            status,
            wiped: false,
            spec,
        }
    }

    /// The job as it is now, known as `before` until now: of a status that somebody has wiped the one
    /// from before stands in. Nobody else ever takes back that a job was accepted or has ended. Nor can
    /// a spec that is not valid be judged before that status is written again.
    #[must_use]
    pub fn after(mut self, before: &Self) -> Self {
        let (now, then) = (&self.status, &before.status);
        let accepted = |status: &JobStatus| status.condition(ConditionType::Created).is_some();
        let lost = (then.is_finished() && !now.is_finished()) || (accepted(then) && !accepted(now));
        if lost && self.meta.uid == before.meta.uid {
            self.status = JobStatus {
                paused: now.paused,
                ..then.clone()
            };
            self.wiped = true;
            if self.spec.is_err() {
                self.spec.clone_from(&before.spec);
                self.meta.run.clone_from(&before.meta.run);
            }
        }
        self
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
        created_at: text("creationTimestamp").parse().ok(),
        generation: meta
            .get("generation")
            .and_then(Value::as_i64)
            .unwrap_or_default(),
        deleting: meta
            .get("deletionTimestamp")
            .is_some_and(|time| !time.is_null()),
        managed_elsewhere: false,
        ttl: None,
        run: None,
        listed: false,
    }
}

/// Of a status that somebody wrote by hand, what can be read of it.
pub(crate) fn status(value: &Value) -> JobStatus {
    let reads = |value: &Value| JobStatus::deserialize(value).is_ok();
    let readable = readable(value, &reads).unwrap_or_default();
    serde_json::from_value(readable).unwrap_or_default()
}

/// The value without the parts that cannot be read; `None`: nothing is left.
fn readable(value: &Value, reads: &dyn Fn(&Value) -> bool) -> Option<Value> {
    if reads(value) {
        return Some(value.clone());
    }
    let left = match value {
        Value::Object(fields) => {
            let alone = |key: &String, value: &Value| {
                Value::Object(Map::from_iter([(key.clone(), value.clone())]))
            };
            let field = |(key, value): (&String, &Value)| {
                let left = readable(value, &|value| reads(&alone(key, value)))?;
                Some((key.clone(), left))
            };
            Value::Object(fields.iter().filter_map(field).collect())
        }
        Value::Array(items) => {
            let item =
                |item: &Value| readable(item, &|item| reads(&Value::Array(vec![item.clone()])));
            Value::Array(items.iter().filter_map(item).collect())
        }
        _ => return None,
    };
    reads(&left).then_some(left)
}

fn spec(
    table: &'static RoleTable,
    meta: &JobMeta,
    object: &Value,
    said: Option<&Said>,
) -> Result<Spec, Vec<Problem>> {
    judged(table, meta, object, said, &|_| true)
}

/// The spec, if it is right as far as `counts` says.
fn judged(
    table: &'static RoleTable,
    meta: &JobMeta,
    object: &Value,
    said: Option<&Said>,
    counts: &dyn Fn(&Problem) -> bool,
) -> Result<Spec, Vec<Problem>> {
    let errors = |problems: Vec<Problem>| {
        let counted = errors(problems.into_iter().filter(counts).collect());
        counted.map_err(|problems| as_made(table, object, problems))
    };
    errors(check::stored_structure(table, object))?;
    let spec: JobSpec = serde_json::from_value(object.get("spec").cloned().unwrap_or_default())
        .map_err(|error| vec![Problem::error("spec", error.to_string())])?;
    let ports = Ports::of(table, object);
    errors(check::rules_with(table, &meta.name, &spec, &ports))?;
    errors(check::pod_names(table, meta, &spec))?;
    let spec = defaults::spec(table, &spec, &ports);
    let spec = spec.and_then(|spec| match said {
        Some(said) => profile::apply(table, said, spec),
        None => Ok(spec),
    });
    spec.map_err(|problem| vec![problem])
}

/// The job in the size that it has, where another one is asked for that makes it wrong. The rules of
/// v1 see neither a runtime id nor who decides, so the API server lets such edits pass; what runs
/// is not to fail of one.
fn as_large_as_before(
    table: &'static RoleTable,
    meta: &JobMeta,
    object: &Value,
    status: &JobStatus,
    problems: Vec<Problem>,
) -> Result<Spec, Vec<Problem>> {
    let mut object = object.clone();
    let roles = object.pointer_mut("/spec/mxReplicaSpecs");
    if let Some(roles) = roles.and_then(Value::as_object_mut) {
        let is_there = |name: &String| roles.keys().any(|key| key.eq_ignore_ascii_case(name));
        let mut had = status.replica_statuses.iter();
        // Without one of its roles it would have another size.
        if had.any(|(name, role)| role.replicas > Some(0) && !is_there(name)) {
            return Err(problems);
        }
        roles.retain(|key, entry| {
            let known = status.size_of(key).zip(entry.as_object_mut());
            let set = |(size, entry): (i32, &mut Map<String, Value>)| {
                entry.insert("replicas".to_owned(), size.into())
            };
            known.map(set).is_some()
        });
    }
    let said = Said::of(table, &object);
    match spec(table, meta, &object, said.as_ref()) {
        Ok(spec) => Ok(Spec {
            kept: Some(Problem::in_one_line(&problems)),
            ..spec
        }),
        Err(_) => Err(problems),
    }
}

/// The job as an older operator has left it, whose name is too long for the names of now. That wrote
/// no sizes into the status, and none are written while this is so.
fn as_left(
    table: &'static RoleTable,
    meta: &JobMeta,
    object: &Value,
    status: &JobStatus,
    said: &Said,
    problems: Vec<Problem>,
) -> Result<Spec, Vec<Problem>> {
    let mut roles = status.replica_statuses.values();
    let was_left = status.condition(ConditionType::Created).is_some()
        && roles.all(|role| role.replicas.is_none());
    let other = |problem: &Problem| problem.path != NAME;
    if !was_left || problems.iter().any(other) {
        return Err(problems);
    }
    let spec = judged(table, meta, object, Some(said), &other)?;
    Ok(Spec {
        closed: Some(Problem::in_one_line(&problems)),
        ..spec
    })
}

fn errors(problems: Vec<Problem>) -> Result<(), Vec<Problem>> {
    let errors: Vec<_> = problems.into_iter().filter(Problem::is_error).collect();
    if errors.is_empty() {
        Ok(())
    } else {
        Err(errors)
    }
}
