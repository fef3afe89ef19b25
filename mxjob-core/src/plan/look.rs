//! What the pods say is remembered: their job goes on when they are gone.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::draft::{Draft, whole_seconds};
use super::failure::is_done_in_place;
use super::memory::Memory;
use super::success::is_decided;
use super::world::World;
use super::{Action, Event, Observed, PodPhase, PodView, ServiceView, Target, restart, warnings};
use crate::job::{Replica, Spec};
use crate::wiring::{labels, names};

/// The pods of this life and attempt, by replica.
pub(super) type Current<'a> = BTreeMap<Replica, &'a PodView>;

/// The pods of this life and attempt; the others.
pub(super) fn sort<'a>(
    world: &World<'a>,
    spec: &Spec,
    memory: &Memory,
) -> (Current<'a>, Current<'a>) {
    let wanted = |replica: &Replica| {
        spec.role(replica.role)
            .is_some_and(|role| replica.index < role.replicas)
    };
    let pods = world.pods.iter().map(|(replica, pod)| (*replica, *pod));
    pods.partition(|(replica, pod)| wanted(replica) && !memory.is_stale(*replica, pod))
}

/// Remembers what the pods of this life say.
pub(super) fn look(draft: &mut Draft<'_>, spec: &Spec, current: &Current<'_>, memory: &mut Memory) {
    let mut going = Vec::new();
    for (replica, pod) in current {
        let was_done = memory.has_completed(*replica);
        if !was_done {
            going.push((*replica, *pod));
        }
        let in_place = spec
            .role(replica.role)
            .is_some_and(|role| is_done_in_place(spec, role, pod));
        let succeeded = !pod.deleting && (pod.phase == PodPhase::Succeeded || in_place);
        let role = memory.role_mut(replica.role);
        if pod.started {
            role.started.insert(replica.index);
        }
        if !was_done {
            role.found(replica.index);
        }
        if succeeded && !was_done {
            let end = pod
                .ended_at()
                .filter(|_| spec.chiefs().any(|chief| chief == *replica));
            let wrong = end.is_some_and(|at| draft.is_to_come(at));
            let seen = if wrong { Some(draft.now) } else { end };
            // Started again, its pod tells of another end.
            let first_end = seen.filter(|_| in_place || wrong).map(whole_seconds);
            role.succeeded(replica.index, first_end);
            draft.event(exit_event(draft, &pod.name, 0));
        }
        // Once the pod is gone nothing else tells why.
        if pod.disrupted && pod.started && !role.completed.contains(&replica.index) {
            role.disrupted.insert(replica.index);
        } else {
            role.disrupted.remove(&replica.index);
        }
        if pod.deleting && pod.started_at.is_some_and(|at| ran_long(draft, at, pod)) {
            memory.start_waits_over(*replica);
        }
    }
    // Once the chief has decided they do not count, in a later life of the job neither.
    if !is_decided(spec, memory) {
        for (replica, pod) in going {
            if restarted(memory, replica, pod) {
                warnings::restarted_in_place(draft, spec, replica, pod);
            }
        }
    }
}

/// Puts labels back that somebody took off: services and the operator's watch find pods by them.
pub(super) fn label(draft: &mut Draft<'_>, current: &Current<'_>) {
    let goes_on = |pod: &PodView| !pod.deleting && !pod.phase.is_final();
    for (replica, pod) in current.iter().filter(|(_, pod)| goes_on(pod)) {
        if !pod.labelled && !pod.orphan {
            let target = Target::of(pod);
            draft.actions.push(Action::LabelPod(*replica, target));
        }
        if pod.bare {
            let target = Target::of(pod);
            draft.actions.push(Action::LabelPodOfJob(*replica, target));
        }
    }
}

/// Makes the job the owner of what an older operator has left of it: it goes when the job does.
pub(super) fn adopt(draft: &mut Draft<'_>, world: &World<'_>) {
    let pods = world.pods.iter();
    for (replica, pod) in pods.filter(|(_, pod)| pod.orphan && !pod.deleting) {
        let target = Target::of(pod);
        draft.actions.push(Action::AdoptPod(*replica, target));
    }
    let goes = |service: &ServiceView| {
        let target = Target::of_service(service);
        draft.actions.contains(&Action::DeleteService(target))
    };
    let left: Vec<_> = world
        .own_services()
        .filter(|service| service.orphan && !service.deleting && !goes(service))
        .filter_map(|service| {
            let replica = names::parse(draft.job, &service.name)?;
            Some(Action::AdoptService(replica, Target::of_service(service)))
        })
        .collect();
    draft.actions.extend(left);
}

/// What is to be looked for at the server before [`super::plan`] says what it means that it is not there: no
/// watch shows it, and it may be there all the same.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Missing {
    /// Names of pods that have run, whose labels somebody may have taken off, and of the Jobs of pods that
    /// are there.
    pub names: Vec<String>,
    /// Labels of pods that are to be listed, for a replica has none that is known, and no name tells which an
    /// older operator has made for it: such a pod may be between two watches. None: there are no such pods.
    pub labels: Vec<(&'static str, String)>,
}

/// What is missing of what the job is to have or has had.
pub(super) fn missing(observed: &Observed<'_>) -> Missing {
    let job = observed.job;
    let Ok(spec) = &job.spec else {
        return Missing::default();
    };
    let not_ours = job.meta.deleting || job.meta.managed_elsewhere || job.status.is_paused();
    if not_ours || job.status.is_finished() || spec.suspend {
        return Missing::default();
    }
    let world = World::of(observed);
    let memory = Memory::load(spec, &job.status);
    let is_missing = |replica: &Replica| {
        let pod = world.pods.get(replica);
        let gone = memory.has_started(*replica)
            && !memory.has_completed(*replica)
            && !memory.has_vanished(*replica)
            && pod.is_none()
            && !world.foreign.contains_key(replica);
        gone || pod.is_some_and(|pod| pod.left_over)
    };
    let names = spec.replicas().filter(is_missing);
    let has_none = |replica: &Replica| {
        !memory.has_completed(*replica)
            && !memory.has_vanished(*replica)
            && !world.pods.contains_key(replica)
            && !world.foreign.contains_key(replica)
    };
    let mut labels = labels::of_older_pods(job);
    if !labels.is_empty() && !spec.replicas().any(|replica| has_none(&replica)) {
        labels.clear();
    }
    Missing {
        names: names.map(|replica| names::replica(job, replica)).collect(),
        labels,
    }
}

/// Remembers the container restarts of the pods of this life, unless the chief has decided.
pub(super) fn restarts(world: &World<'_>, spec: &Spec, memory: &mut Memory) {
    if is_decided(spec, memory) {
        return;
    }
    for (replica, pod) in sort(world, spec, memory).0 {
        if !memory.has_completed(replica) {
            restarted(memory, replica, pod);
        }
    }
}

/// Remembers the restarts of a replica that is not done, or was not before this look; true when they
/// are its first. What the kubelet does with one that is done is nobody's failure.
fn restarted(memory: &mut Memory, replica: Replica, pod: &PodView) -> bool {
    // The last of them may have come after its end.
    let after = memory.has_completed(replica) && pod.exit.is_none();
    let restarts = pod.container_restarts.saturating_sub(i32::from(after));
    if restarts <= 0 {
        return false;
    }
    let known = &mut memory.role_mut(replica.role).container_restarts;
    let before = known.get(&replica.index).copied();
    // A pod that comes from an old look at it has fewer.
    known.insert(replica.index, restarts.max(before.unwrap_or(0)));
    before.is_none()
}

/// It has run, until its end or until now, long enough for its waits to start over.
fn ran_long(draft: &Draft<'_>, started_at: Timestamp, pod: &PodView) -> bool {
    let until = pod.exit.as_ref().and_then(|exit| exit.at);
    let until = until.unwrap_or(draft.now);
    restart::was_long(until.duration_since(started_at).as_secs())
}

/// Says that the container of a pod has ended.
pub(super) fn exit_event(draft: &Draft<'_>, pod: &str, code: i32) -> Event {
    let (kind, namespace) = (draft.job.table.children().kind(), &draft.job.meta.namespace);
    let message = format!("{kind}: {namespace}.{pod} exited with code {code}");
    Event::normal("ExitedWithCode", message)
}
