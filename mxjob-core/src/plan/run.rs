//! One look at a job that is to run: what its pods say, who decides, what is missing.

use std::collections::BTreeMap;

use super::draft::Draft;
use super::failure::{Failure, Response};
use super::finish::{self, End};
use super::memory::Memory;
use super::world::World;
use super::{
    Event, PodPhase, PodView, accept, conditions, counts, create, restart, stalled, success,
    suspend,
};
use crate::api::v1::ConditionType;
use crate::job::{Replica, Spec};

type Current<'a> = BTreeMap<Replica, &'a PodView>;

pub(super) fn run(draft: &mut Draft<'_>, world: &World<'_>, spec: &Spec) {
    accept::accept(draft, spec);
    let mut memory = Memory::load(spec, &draft.status);
    if !suspend::resume(draft, world) {
        counts::write(draft, spec, &memory, &Current::new());
        return;
    }
    accept::start(draft);
    let mut current = sort(draft, world, spec, &memory);
    look(draft, &current, &mut memory);
    let failures = failures(world, spec, &memory, &current);
    if let Some(end) = end(draft, spec, &memory, &current, &failures) {
        for failure in &failures {
            exited(draft, failure);
        }
        finish::finish(draft, world, spec, &memory, &current, end);
        return;
    }
    recover(draft, world, spec, &mut memory, failures);
    current.retain(|replica, pod| !memory.is_stale(*replica, pod));
    note_running(draft, spec, &current);
    stalled::judge(draft, world, spec);
    counts::write(draft, spec, &memory, &current);
    create::create(draft, world, spec, &memory);
}

/// The pods of this life and attempt; the others are deleted.
fn sort<'a>(draft: &mut Draft<'_>, world: &World<'a>, spec: &Spec, memory: &Memory) -> Current<'a> {
    let wanted = |replica: &Replica| {
        spec.role(replica.role)
            .is_some_and(|role| replica.index < role.replicas)
    };
    let (current, old): (Current<'a>, Current<'a>) = world
        .pods
        .iter()
        .map(|(replica, pod)| (*replica, *pod))
        .partition(|(replica, pod)| wanted(replica) && !memory.is_stale(*replica, pod));
    old.values()
        .chain(&world.strays)
        .for_each(|pod| draft.delete_pod(pod));
    current
}

/// Remembers which replicas have started and which have succeeded.
fn look(draft: &mut Draft<'_>, current: &Current<'_>, memory: &mut Memory) {
    for (replica, pod) in current {
        let role = memory.role_mut(replica.role);
        if pod.started {
            role.started.insert(replica.index);
        }
        let succeeded = pod.phase == PodPhase::Succeeded && !pod.deleting;
        if succeeded && role.completed.insert(replica.index) {
            draft.event(exit_event(draft, &pod.name, pod.exit_code.unwrap_or(0)));
        }
    }
}

/// The replicas that have failed: pods in phase Failed, and pods that vanished after their start.
fn failures<'a>(
    world: &World<'a>,
    spec: &'a Spec,
    memory: &Memory,
    current: &Current<'a>,
) -> Vec<Failure<'a>> {
    let all = spec
        .roles
        .iter()
        .flat_map(|role| role.replicas().map(move |replica| (role, replica)));
    let pending = all.filter(|(_, replica)| !memory.has_completed(*replica));
    let failed = pending.filter_map(|(role, replica)| match current.get(&replica) {
        Some(pod) if pod.phase == PodPhase::Failed && !pod.deleting => Some(Failure {
            replica,
            role,
            pod: Some(pod),
        }),
        Some(_) => None,
        None => {
            (memory.has_started(replica) && !world.pods.contains_key(&replica)).then_some(Failure {
                replica,
                role,
                pod: None,
            })
        }
    });
    failed.collect()
}

/// How the job ends now, if it does. A failure beats success, success beats a deadline.
fn end(
    draft: &mut Draft<'_>,
    spec: &Spec,
    memory: &Memory,
    current: &Current<'_>,
    failures: &[Failure<'_>],
) -> Option<End> {
    let name = draft.job.meta.name.clone();
    let failed = |message: String| Some(End::Failed { message });
    let fatal: Vec<_> = failures
        .iter()
        .filter(|one| one.response(spec) == Response::FailJob)
        .copied()
        .collect();
    if let Some((role, count)) = restart::worst(&fatal) {
        let singular = draft.job.table.crd.singular;
        return failed(format!(
            "{singular} {name} is failed because {count} {} replica(s) failed.",
            role.role.name
        ));
    }
    if success::is_reached(draft, spec, memory, current) {
        return Some(End::Succeeded);
    }
    if let (Some(limit), Some(start)) = (spec.deadline, draft.status.start_time.clone())
        && draft.passed(start.0, limit)
    {
        return failed(format!(
            "Job {name} has failed because it was active longer than specified deadline"
        ));
    }
    limit(draft, spec, memory, current, failures).and_then(failed)
}

/// The message of the restart limit that would be passed.
fn limit(
    draft: &Draft<'_>,
    spec: &Spec,
    memory: &Memory,
    current: &Current<'_>,
    failures: &[Failure<'_>],
) -> Option<String> {
    let name = &draft.job.meta.name;
    let responses: Vec<_> = failures
        .iter()
        .map(|failure| failure.response(spec))
        .collect();
    if let Some(policy) = &spec.failure
        && responses.contains(&Response::RestartJob { counts: true })
        && draft.status.counted_restarts.unwrap_or(0) >= policy.max_restarts
    {
        let max = policy.max_restarts;
        return Some(format!(
            "Job {name} has failed because it has reached maxRestarts ({max})"
        ));
    }
    let in_place = current
        .values()
        .map(|pod| pod.container_restarts)
        .fold(memory.in_place(), i32::saturating_add);
    let replacing = responses
        .iter()
        .filter(|response| **response == Response::Replace { counts: true })
        .count();
    let replacing = i32::try_from(replacing).unwrap_or(i32::MAX);
    let total = in_place
        .saturating_add(memory.replacements())
        .saturating_add(replacing);
    let passes = spec
        .backoff_limit
        .is_some_and(|limit| replacing > 0 && total > limit);
    (passes || restart::in_place_limit_reached(spec, in_place)).then(|| {
        format!("Job {name} has failed because it has reached the specified backoff limit")
    })
}

/// Restarts the job or replaces replicas, when their waits are over.
fn recover<'a>(
    draft: &mut Draft<'_>,
    world: &World<'a>,
    spec: &Spec,
    memory: &mut Memory,
    failures: Vec<Failure<'a>>,
) {
    let (whole, single): (Vec<_>, Vec<_>) = failures
        .into_iter()
        .partition(|failure| matches!(failure.response(spec), Response::RestartJob { .. }));
    if !whole.is_empty() {
        let life = memory.life;
        // The first failure's wait is the job's.
        if whole
            .iter()
            .any(|failure| restart::is_due(draft, failure, life))
        {
            let counts = whole
                .iter()
                .any(|one| one.response(spec) == Response::RestartJob { counts: true });
            for failure in &whole {
                exited(draft, failure);
            }
            restart::restart_job(draft, world, memory, &whole, counts);
        }
        return;
    }
    let due: Vec<_> = single
        .into_iter()
        .filter(|failure| restart::is_due(draft, failure, memory.attempt(failure.replica).replica))
        .collect();
    if !due.is_empty() {
        restart::restarting(draft, &due);
    }
    for failure in &due {
        exited(draft, failure);
        let counts = failure.response(spec) == Response::Replace { counts: true };
        restart::replace(draft, memory, failure, counts);
    }
}

/// Running: a chief replica is.
fn note_running(draft: &mut Draft<'_>, spec: &Spec, current: &Current<'_>) {
    let runs = |replica: Replica| {
        current
            .get(&replica)
            .is_some_and(|pod| pod.phase == PodPhase::Running && !pod.deleting)
    };
    let running = spec.chief().is_some_and(|chief| chief.replicas().any(runs));
    if running && !draft.status.is(ConditionType::Running) {
        let message = format!(
            "{} {} is running.",
            draft.job.table.crd.kind, draft.job.meta.name
        );
        let reason = draft.reason("Running");
        conditions::set_true(draft, ConditionType::Running, reason, message);
    }
}

fn exited(draft: &mut Draft<'_>, failure: &Failure<'_>) {
    if let Some((pod, code)) = failure.pod.and_then(|pod| Some((pod, pod.exit_code?))) {
        draft.event(exit_event(draft, &pod.name, code));
    }
}

fn exit_event(draft: &Draft<'_>, pod: &str, code: i32) -> Event {
    Event::normal(
        "ExitedWithCode",
        format!(
            "Pod: {}.{pod} exited with code {code}",
            draft.job.meta.namespace
        ),
    )
}
