//! Labels and annotations of pods, services and ConfigMaps.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};

use super::names;
use crate::job::{Job, Replica, RoleSpec, Spec};
use crate::role::{Children, LabelValue, Legacy, RoleTable};

/// Label with the operator's name.
pub const OPERATOR: &str = "training.kubeflow.org/operator-name";
/// Label with the job's name.
pub const JOB: &str = "training.kubeflow.org/job-name";
/// Label with the replica's role, lower-case.
pub const ROLE: &str = "training.kubeflow.org/replica-type";
/// Label with the replica's index.
pub const INDEX: &str = "training.kubeflow.org/replica-index";
/// Label of chief pods, always `master`.
pub const JOB_ROLE: &str = "training.kubeflow.org/job-role";

/// Label of the pods of a `batch/v1` Job with its name, which the cluster gives them.
pub const BATCH: &str = "batch.kubernetes.io/job-name";

/// Longest value of a label.
const LONGEST: usize = 63;

/// The object's controlling owner.
pub fn controller(meta: &ObjectMeta) -> Option<&OwnerReference> {
    let owners = meta.owner_references.as_deref().unwrap_or_default();
    owners.iter().find(|owner| owner.controller == Some(true))
}

/// The job of that role set that owns the object.
pub(crate) fn owner<'a>(meta: &'a ObjectMeta, table: &RoleTable) -> Option<&'a OwnerReference> {
    let ours = |owner: &&OwnerReference| {
        owner.kind == table.crd.kind && owner.api_version.split('/').next() == Some(table.crd.group)
    };
    controller(meta).filter(ours)
}

/// Kind and name of the object's controlling owner, like `MXJob.kubeflow.org/demo`.
pub(crate) fn owner_name(meta: &ObjectMeta) -> Option<String> {
    let owner = controller(meta)?;
    let group = owner.api_version.split('/').next().unwrap_or_default();
    Some(full_name(&owner.kind, group, &owner.name))
}

/// What [`owner_name`] says of the job's objects.
pub(crate) fn name_as_owner(job: &Job) -> String {
    let crd = &job.table.crd;
    full_name(crd.kind, crd.group, &job.meta.name)
}

fn full_name(kind: &str, group: &str, name: &str) -> String {
    format!("{kind}.{group}/{name}")
}

/// True when the object's labels say that it is of a job that could give it its name.
pub(crate) fn is_claimed(meta: &ObjectMeta) -> bool {
    let (labels, name) = (meta.labels.as_ref(), meta.name.as_deref());
    let label = |key: &str| labels.and_then(|labels| labels.get(key));
    let rest = label(JOB)
        .zip(name)
        .and_then(|(job, name)| name.strip_prefix(job.as_str()));
    label(OPERATOR).is_some() && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
}

/// Name of the `batch/v1` Job that owns a pod, where replicas are such.
pub(crate) fn batch<'a>(meta: &'a ObjectMeta, table: &RoleTable) -> Option<&'a str> {
    let owner = controller(meta).filter(|owner| owner.kind == "Job");
    let owner = owner.filter(|_| table.children() == Children::Jobs);
    owner.map(|owner| owner.name.as_str())
}

/// Name of the job that an object belongs to: its owner, else the one that its labels name, else where
/// replicas are `batch/v1` Jobs the one that such a Job's name tells.
pub fn job<'a>(meta: &'a ObjectMeta, table: &RoleTable) -> Option<&'a str> {
    let labelled = || meta.labels.as_ref()?.get(JOB).map(String::as_str);
    let named = || {
        let own = batch(meta, table).or(meta.name.as_deref());
        names::job(table, own.filter(|_| table.children() == Children::Jobs)?)
    };
    owner(meta, table)
        .map(|owner| owner.name.as_str())
        .or_else(labelled)
        .or_else(named)
}

/// True when the object has the mark of the operators that had this resource before.
pub fn is_marked(meta: &ObjectMeta, table: &RoleTable) -> bool {
    let mark = table.crd.legacy.and_then(Legacy::mark);
    let labels = meta.labels.as_ref();
    mark.is_none_or(|mark| labels.is_some_and(|labels| labels.contains_key(mark)))
}

/// True when nobody owns the object and its labels are those that an older operator, which owned
/// nothing, gave a replica's object of that name.
pub(crate) fn is_orphan(meta: &ObjectMeta, table: &RoleTable) -> bool {
    let name = meta.name.as_deref().unwrap_or_default();
    let job = names::job(table, name).unwrap_or_default();
    let form = table
        .list_form()
        .filter(|_| table.children() == Children::Jobs);
    let replica = names::parts(table, job, name).and_then(|(replica, run)| Some((replica, run?)));
    let Some(((replica, run), form)) = replica.zip(form) else {
        return false;
    };
    let agrees = |(key, says): &(&str, LabelValue)| {
        let (wanted, must) = match says {
            LabelValue::Text(text) => ((*text).to_owned(), text.is_empty()),
            LabelValue::Job => (job.to_owned(), false),
            LabelValue::Run => (run.to_owned(), true),
            LabelValue::Role => (table.role(replica.role).name.to_ascii_uppercase(), true),
            LabelValue::Index => (replica.index.to_string(), true),
        };
        let found = meta.labels.as_ref().and_then(|labels| labels.get(*key));
        found.map_or(!must, |found| *found == wanted)
    };
    let has_mark = form.legacy.mark().is_some();
    has_mark && controller(meta).is_none() && form.legacy.labels.iter().all(agrees)
}

/// Labels of the pods that an older operator made for the job, and of those that this one makes for it;
/// none: there was no such operator. Such a pod is in one watch until it has [`OPERATOR`], and in
/// another from then on.
pub(crate) fn of_older_pods(job: &Job) -> Vec<(&'static str, String)> {
    let form = job.table.list_form().filter(|_| job.table.mark().is_some());
    let Some((form, run)) = form.zip(job.meta.run.as_ref()) else {
        return Vec::new();
    };
    let tells = |(key, says): &(&'static str, LabelValue)| match says {
        LabelValue::Text("") => Some((*key, String::new())),
        LabelValue::Run => Some((*key, run.clone())),
        _ => None,
    };
    form.legacy.labels.iter().filter_map(tells).collect()
}

/// Annotation of the ConfigMap with a job's layout: the runtime id, where the job has one, and the
/// numbers of replicas that it was made for.
pub const SIZE: &str = "mxjob.kubeflow.org/size";

/// The value of [`SIZE`], like `scheduler=1,worker=3000` or `e9c9:scheduler=1,worker=3000`.
pub(crate) fn size(job: &Job, spec: &Spec) -> String {
    let role =
        |role: &RoleSpec| format!("{}={}", role.role.name.to_ascii_lowercase(), role.replicas);
    let roles = spec.roles.iter().map(role).collect::<Vec<_>>().join(",");
    match &job.meta.run {
        Some(run) => format!("{run}:{roles}"),
        None => roles,
    }
}

/// Labels that everything of a job carries.
pub(crate) fn of_job(job: &Job) -> BTreeMap<String, String> {
    BTreeMap::from([
        (OPERATOR.to_owned(), job.table.operator()),
        (JOB.to_owned(), job.meta.name.clone()),
    ])
}

/// True when the labels are those of that replica of the job, whatever else is there.
pub(crate) fn are_of(
    found: Option<&BTreeMap<String, String>>,
    table: &RoleTable,
    job: &str,
    replica: Replica,
) -> bool {
    let has = |label: &str, value: &str| {
        found
            .and_then(|found| found.get(label))
            .is_some_and(|found| found == value)
    };
    has(OPERATOR, &table.operator())
        && has(JOB, job)
        && has(ROLE, &table.role(replica.role).name.to_ascii_lowercase())
        && has(INDEX, &replica.index.to_string())
}

/// The labels by which a replica's pod and service are found.
pub(crate) fn of_replica(job: &Job, replica: Replica) -> BTreeMap<String, String> {
    let mut labels = of_job(job);
    labels.insert(
        ROLE.to_owned(),
        job.table.role(replica.role).name.to_ascii_lowercase(),
    );
    labels.insert(INDEX.to_owned(), replica.index.to_string());
    labels
}

/// Labels of a replica's pod and service that an older version promises: for people, nothing is
/// found by them. What cannot be the value of a label is left out.
pub(crate) fn of_profile(job: &Job, spec: &Spec, replica: Replica) -> BTreeMap<String, String> {
    let value = |value: LabelValue| match value {
        LabelValue::Text(text) => Some(text.to_owned()),
        LabelValue::Job => Some(job.meta.name.clone()),
        LabelValue::Run => job.meta.run.clone(),
        LabelValue::Role => Some(job.table.role(replica.role).name.to_ascii_uppercase()),
        LabelValue::Index => Some(replica.index.to_string()),
    };
    let labels = spec.profile.labels.iter();
    let labels = labels.filter_map(|(key, says)| Some(((*key).to_owned(), value(*says)?)));
    labels.filter(|(_, value)| value.len() <= LONGEST).collect()
}
