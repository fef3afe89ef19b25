//! A job whose size was edited, or the names of its objects: the status keeps the numbers that its
//! pods were made for, and the pods' own names tell for which runtime id.

use super::draft::Draft;
use super::look::Current;
use super::memory::Memory;
use super::world::World;
use super::{Event, conditions};
use crate::api::v1::{ConditionType, JobStatus, ReplicaStatus};
use crate::job::{Replica, RoleSpec, Spec};
use crate::wiring::names;

/// What was edited so that the whole job has to be made anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Edit {
    Size,
    Names,
}

impl Edit {
    /// As in the reason `MXJobRescaled`, and what has changed.
    const fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::Size => ("Rescaled", "its size changed"),
            Self::Names => ("Renamed", "the names of its replicas changed"),
        }
    }
}

/// What was edited since the pods of this life of the job were made. Members know each other by
/// name, so other names make any job anew; another size those that cannot change it in place.
pub(super) fn edit(
    status: &JobStatus,
    world: &World<'_>,
    spec: &Spec,
    memory: &Memory,
) -> Option<Edit> {
    let is_current = |pod: &super::PodView| pod.attempt.job >= memory.life;
    let size = spec.mode.fixed_membership
        && is_other_size(status, spec)
        && (memory.has_begun() || world.own_pods().any(is_current));
    let names =
        world.renamed && spec.closed.is_none() && world.pods.values().copied().any(is_current);
    size.then_some(Edit::Size)
        .or_else(|| names.then_some(Edit::Names))
}

fn is_other_size(status: &JobStatus, spec: &Spec) -> bool {
    // A status that says nothing may have been lost in a backup.
    if status
        .replica_statuses
        .values()
        .all(|role| role.replicas.is_none())
    {
        return false;
    }
    let known = |role: &RoleSpec| i64::from(status.size_of(role.role.name).unwrap_or(0));
    let another = spec
        .roles
        .iter()
        .any(|role| known(role) != i64::from(role.replicas));
    let gone = |(key, role): (&String, &ReplicaStatus)| {
        role.replicas.is_some_and(|replicas| replicas > 0) && spec.role_named(key).is_none()
    };
    another || status.replica_statuses.iter().any(gone)
}

/// Restarts the whole job as it was edited to be; that neither counts nor waits.
pub(super) fn restart(draft: &mut Draft<'_>, world: &World<'_>, memory: &mut Memory, edit: Edit) {
    let crd = draft.job.table.crd;
    let name = &draft.job.meta.name;
    let (suffix, what) = edit.words();
    let message = format!("{} {name} is restarting because {what}.", crd.kind);
    let reason = draft.reason(suffix);
    draft.event(Event::normal(reason.clone(), message.clone()));
    conditions::set_true(draft, ConditionType::Restarting, reason, message);
    world.own_pods().for_each(|pod| draft.delete_pod(pod));
    memory.restart();
    memory.does_not_wait();
}

/// Deletes what belongs to replicas that are not wanted any more or to none, and the pods of earlier
/// attempts.
pub(super) fn remove(
    draft: &mut Draft<'_>,
    world: &World<'_>,
    spec: &Spec,
    memory: &mut Memory,
    old: &Current<'_>,
) {
    let is_wanted = |replica: Replica| {
        spec.role(replica.role)
            .is_some_and(|role| replica.index < role.replicas)
    };
    for (replica, pod) in old {
        // Wanted again before it is gone, it must not count as one that vanished.
        if !is_wanted(*replica) && !memory.is_stale(*replica, pod) {
            memory.retire(*replica);
        }
    }
    old.values()
        .chain(&world.strays)
        .for_each(|pod| draft.delete_pod(pod));
    for (name, service) in &world.services {
        let is_of_job = *name == draft.job.meta.name;
        // Pods of an older operator know each other by the cut name until they are replaced.
        let replica = names::of_service(draft.job, name);
        if !is_of_job && !replica.is_some_and(is_wanted) {
            draft.delete_service(service);
        }
    }
}

/// Writes the size into the status. Of roles that the spec does not have only counts stay.
pub(super) fn note(spec: &Spec, status: &mut JobStatus) {
    for (key, role) in &mut status.replica_statuses {
        if let Some(wanted) = spec.role_named(key) {
            let size = Some(wanted.replicas).filter(|_| spec.closed.is_none());
            role.replicas = size.and_then(|size| i32::try_from(size).ok());
        } else {
            let present = role.container_restarts.values().map(|one| (*one).max(0));
            let in_place = present.fold(role.in_place_restarts, i32::saturating_add);
            *role = ReplicaStatus {
                restarts: role.restarts,
                in_place_restarts: in_place,
                ..ReplicaStatus::default()
            };
        }
    }
    let nothing = ReplicaStatus::default();
    status.replica_statuses.retain(|_, role| *role != nothing);
}
