//! What a job that was made at an older version is promised beyond what v1 can say.

use std::sync::Arc;

use k8s_openapi::api::core::v1::PodSpec;

use super::{Replica, Spec};
use crate::api::v1alpha1::CONDITIONS;
use crate::conversion::Said;
use crate::problem::Problem;
use crate::role::{Children, Env, LabelValue, RestartPolicy, RoleTable};
use crate::schema::rule::{
    ID_LETTERS, NO_CHIEF, can_stand_in_names, missing_chief, missing_replica,
};

/// Stands for a runtime id that follows from a uid that the job does not have yet. No name of an
/// object has capitals.
pub const NO_RUN: &str = "RRRR";

/// What an older version adds to a job. To one made at v1 or v1beta1 that is nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Profile {
    /// Labels of pods and services beside those of every job.
    pub labels: &'static [(&'static str, LabelValue)],
    /// Environment of its replicas, where their mode has one.
    pub env: &'static [Env],
    /// The replica that alone decides when the job has succeeded; `None`: the chief roles of its
    /// mode do.
    pub chief: Option<Replica>,
    /// Reasons of containers that ended for good, whatever the exit code.
    pub permanent_reasons: &'static [&'static str],
    /// What each replica is.
    pub children: Children,
    /// Its status shows what has become of its replicas.
    pub milestones: bool,
}

/// The runtime id that stands in names.
pub(super) fn run(said: &Said) -> Result<String, Problem> {
    let Some(id) = said.runtime_id() else {
        return Ok(NO_RUN.to_owned());
    };
    match id.as_str().filter(|id| can_stand_in_names(id)) {
        Some(id) => Ok(id.to_owned()),
        None => Err(Problem::error(
            "spec.RuntimeId",
            format!("{id} cannot stand in names: it must be {ID_LETTERS}"),
        )),
    }
}

/// Adds what was said at v1alpha1 to a spec.
pub(super) fn apply(
    table: &'static RoleTable,
    said: &Said,
    mut spec: Spec,
) -> Result<Spec, Problem> {
    spec.profile = Profile {
        labels: said.form.legacy.labels,
        env: said.form.legacy.env,
        chief: Some(chief(table, said, &spec)?),
        permanent_reasons: said.form.legacy.permanent_reasons,
        children: table.children(),
        milestones: said.form.shows(CONDITIONS),
    };
    for role in &mut spec.roles {
        if let Some(pod) = &mut Arc::make_mut(&mut role.template).spec {
            without_repetitions(pod);
        }
        let pod = role.template.spec.as_ref();
        let policy = pod.and_then(|pod| pod.restart_policy.as_deref());
        role.own_restart = policy.and_then(RestartPolicy::of_pods);
    }
    Ok(spec)
}

/// The first operators added the volumes of an accelerator to the stored template, some of them again
/// whenever they started. The API server takes no pod that has one twice.
fn without_repetitions(pod: &mut PodSpec) {
    if let Some(volumes) = &mut pod.volumes {
        once(volumes);
    }
    let init = pod.init_containers.iter_mut().flatten();
    for container in pod.containers.iter_mut().chain(init) {
        if let Some(mounts) = &mut container.volume_mounts {
            once(mounts);
        }
    }
}

/// Takes what is there already out of the list. Two of one name that differ are a mistake to be told.
fn once<T: PartialEq>(list: &mut Vec<T>) {
    for item in std::mem::take(list) {
        if !list.contains(&item) {
            list.push(item);
        }
    }
}

fn chief(table: &'static RoleTable, said: &Said, spec: &Spec) -> Result<Replica, Problem> {
    let nobody = || Problem::error("spec.terminationPolicy", NO_CHIEF);
    let (name, index) = said.chief().ok_or_else(nobody)?;
    let missing = |message| Problem::error("spec.terminationPolicy.chief", message);
    let role = table.find(name).and_then(|id| spec.role(id));
    let role = role.ok_or_else(|| missing(missing_chief(name)))?;
    let known = u32::try_from(index)
        .ok()
        .filter(|index| *index < role.replicas);
    let none = || missing(missing_replica(name, index, role.replicas.into()));
    Ok(Replica {
        role: role.id,
        index: known.ok_or_else(none)?,
    })
}
