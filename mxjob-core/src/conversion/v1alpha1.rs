//! `v1alpha1`: replicas as a list, with its defaults shown.
//!
//! | v1alpha1 | v1 |
//! |---|---|
//! | an entry | the role it names in any letter case, or the role of entries that name none |
//! | `PsRootPort` of an entry, or what the resource calls it | the job's port of its main container |
//! | `mxImage` | image of a main container that has none |
//! | `schedulerName` that is not empty | `schedulerName` of every template |
//! | `cleanupPodPolicy`, absent or empty: as the resource says | `cleanPodPolicy` |
//! | `jobMode`: dist, local, empty or absent | the mode of the jobs of this version |
//! | `replicas: 0` of a local job that must say its mode | 1, which its operator made of it |
//! | exit codes that are retried | `restartPolicy: ExitCode` of every role, `retryableExitCodes` |
//! | `RuntimeId`, `terminationPolicy`, the word of `jobMode` | only in the annotation |
//!
//! `ExitCode` is nearest to what this version promises: a replica that ends with one of a few codes
//! is replaced after a growing wait, and with any other code the job has failed. The template's own
//! `restartPolicy` stays in the template and on the pod: where the kubelet starts containers again,
//! what they ended with decides in place.

use serde_json::{Map, Value, json};

use super::phase;
use super::port::Place;
use super::sections::{
    self, LISTED, POLICIES, ROLES, SPEC, STATUS, Sections, TYPE, fields, flat, policy,
};
use super::v1beta1::{default, run_policy};
use crate::api::v1::CleanPodPolicy;
use crate::api::v1alpha1::{DIST, LOCAL};
use crate::role::{JobMode, ListForm, RestartPolicy, RoleId, RoleTable};

/// Field of a spec that names who decides.
pub(super) const POLICY: &str = "terminationPolicy";
const CLEAN: &str = "cleanupPodPolicy";

/// Shows the defaults.
pub(super) fn fill(table: &RoleTable, form: &ListForm, content: &mut Sections) {
    let chief = chief(table, form, content);
    if let Some(spec) = sections::fields_mut(content, SPEC) {
        let policy = json!({"chief": {"replicaName": capitals(table, chief), "replicaIndex": 0}});
        let defaults = [("mxImage", form.legacy.image.into()), (POLICY, policy)];
        for (field, value) in defaults {
            if form.has(field) {
                default(spec, field, || value);
            }
        }
    }
    for (name, entry) in sections::fields_mut(content, LISTED).into_iter().flatten() {
        let (Some(role), Some(entry)) = (table.find(name), entry.as_object_mut()) else {
            continue;
        };
        default(entry, "replicas", || table.role(role).default.into());
        if entry.get(TYPE).is_some_and(|name| name == "") {
            entry.shift_remove(TYPE);
        }
        default(entry, TYPE, || capitals(table, role).into());
        let template = entry.get("template").unwrap_or(&Value::Null);
        let port = Place::of(table, role).number(template);
        default(entry, form.legacy.port_field, || port.into());
    }
}

/// The role that decides where nobody is named.
pub(super) fn chief(table: &RoleTable, form: &ListForm, content: &Sections) -> RoleId {
    let is_there = |listed: &Map<String, Value>| listed.contains_key(table.role(form.chief).name);
    if fields(content, LISTED).is_none_or(is_there) {
        form.chief
    } else {
        form.worker
    }
}

/// A role as this version spells it.
pub(super) fn capitals(table: &RoleTable, role: RoleId) -> String {
    table.role(role).name.to_ascii_uppercase()
}

/// To v1.
pub(super) fn up(table: &RoleTable, form: &ListForm, content: &Sections) -> Sections {
    let mut v1 = Sections::new();
    match content.get(SPEC) {
        Some(Value::Object(spec)) => {
            let said = |field: &str| spec.get(field).filter(|_| form.has(field));
            // The first operator stored the field of a job without one as an empty text.
            let own = ["", DIST, LOCAL];
            let mode = said("jobMode").filter(|mode| {
                !mode.is_null() && !own.iter().any(|known| mode.as_str() == Some(known))
            });
            let mode = mode.cloned().unwrap_or_else(|| form.legacy.mode.into());
            let roles = fields(content, LISTED).into_iter().flatten();
            let roles = roles
                .map(|(name, entry)| (name.clone(), role_up(table, form, (name, entry), spec)));
            let new = [
                ("jobMode", mode),
                (ROLES, roles.collect()),
                ("runPolicy", run_policy(form.legacy)),
            ];
            let new = new.map(|(key, value)| (key.to_owned(), value));
            v1.insert(SPEC.to_owned(), Value::Object(new.into_iter().collect()));
            let clean = said(CLEAN);
            let clean = clean.filter(|clean| !clean.is_null() && **clean != "");
            let clean = clean.cloned().unwrap_or_else(|| json!(form.legacy.clean));
            v1.insert(POLICIES.to_owned(), json!({"cleanPodPolicy": flat(clean)}));
        }
        Some(spec) => {
            v1.insert(SPEC.to_owned(), spec.clone());
        }
        None => {}
    }
    if let Some(status) = content.get(STATUS) {
        v1.insert(STATUS.to_owned(), phase::up(table, form, status));
    }
    v1
}

fn role_up(
    table: &RoleTable,
    form: &ListForm,
    (name, entry): (&str, &Value),
    spec: &Map<String, Value>,
) -> Value {
    let said = |field: &str| spec.get(field).filter(|_| form.has(field));
    let mut new = Map::new();
    let mut copy = |key: &str| {
        if let Some(value) = entry.get(key) {
            new.insert(key.to_owned(), value.clone());
        }
    };
    copy("replicas");
    copy("template");
    if is_one(table, form, name, &said) && new.get("replicas") == Some(&json!(0)) {
        new.insert("replicas".to_owned(), json!(1));
    }
    new.insert("restartPolicy".to_owned(), json!(RestartPolicy::ExitCode));
    if let (Some(role), Some(template)) = (table.find(name), new.get_mut("template")) {
        let place = Place::of(table, role);
        if let Some(port) = entry.get(form.legacy.port_field).and_then(Value::as_i64) {
            place.set(template, port);
        }
        let container = place.container(template).and_then(Value::as_object_mut);
        if let (Some(container), Some(image)) = (container, said("mxImage")) {
            if container.get("image").is_some_and(|image| image == "") {
                container.shift_remove("image");
            }
            default(container, "image", || image.clone());
        }
        let scheduler = said("schedulerName").and_then(Value::as_str);
        let pod = template.get_mut(SPEC).and_then(Value::as_object_mut);
        if let (Some(scheduler), Some(pod)) = (scheduler.filter(|name| !name.is_empty()), pod) {
            pod.insert("schedulerName".to_owned(), scheduler.into());
        }
    }
    Value::Object(new)
}

/// The role is the one worker of a local job, of a resource whose operator made that whatever the
/// number.
fn is_one<'a>(
    table: &RoleTable,
    form: &ListForm,
    role: &str,
    said: &impl Fn(&str) -> Option<&'a Value>,
) -> bool {
    form.legacy.job_mode == JobMode::Needed
        && table.find(role) == Some(form.worker)
        && said("jobMode").is_some_and(|mode| *mode == LOCAL)
}

/// From v1 all but the status, with the defaults.
pub(super) fn down(table: &RoleTable, form: &ListForm, v1: &Sections) -> Sections {
    let mut content = Sections::new();
    match v1.get(SPEC) {
        Some(Value::Object(_)) => {
            let mut spec = Map::new();
            if form.has(CLEAN) {
                let clean = policy(v1, "cleanPodPolicy").cloned();
                let clean = clean.unwrap_or_else(|| json!(CleanPodPolicy::default()));
                spec.insert(CLEAN.to_owned(), clean);
            }
            content.insert(SPEC.to_owned(), Value::Object(spec));
            content.insert(LISTED.to_owned(), Value::Object(listed(table, v1)));
        }
        Some(spec) => {
            content.insert(SPEC.to_owned(), spec.clone());
        }
        None => {}
    }
    fill(table, form, &mut content);
    content
}

/// The roles that this version can list, as far as it can say what they are.
fn listed(table: &RoleTable, v1: &Sections) -> Map<String, Value> {
    let roles = sections::roles(v1);
    let entry = |role: RoleId| {
        let name = table.role(role).name;
        let entry = roles?.get(name)?.as_object()?;
        let copy = |key: &str| Some((key.to_owned(), entry.get(key)?.clone()));
        let fields = ["replicas", "template"].into_iter().filter_map(copy);
        Some((name.to_owned(), Value::Object(fields.collect())))
    };
    table.listed_roles().filter_map(entry).collect()
}
