//! What the watches of a job show, by the labels of an object.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::stored::Stored;
use crate::role::RoleTable;
use crate::wiring::labels;

/// True for what the job's watches show: what has this operator's label.
pub(super) fn is_watched<T: Stored>(object: &T, table: &RoleTable, job: &str) -> bool {
    is_ours(object.meta(), table, job)
}

/// True for what the watches of an older operator's objects show: what has its label and not this one's.
pub(super) fn is_older<T: Stored>(object: &T, table: &RoleTable, job: &str) -> bool {
    let meta = object.meta();
    let marked = label(meta, table.mark()).is_some_and(str::is_empty);
    marked && !is_labelled(meta, table) && labels::job(meta, table) == Some(job)
}

/// The same, of its marks.
pub(super) fn is_ours(meta: &ObjectMeta, table: &RoleTable, job: &str) -> bool {
    is_labelled(meta, table) && labels::job(meta, table) == Some(job)
}

fn is_labelled(meta: &ObjectMeta, table: &RoleTable) -> bool {
    label(meta, Some(labels::OPERATOR)).is_some_and(|one| *one == table.operator())
}

fn label<'a>(meta: &'a ObjectMeta, key: Option<&str>) -> Option<&'a str> {
    let labels = meta.labels.as_ref();
    Some(labels?.get(key?)?.as_str())
}
