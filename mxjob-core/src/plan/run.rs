//! One look at a job that is to run: what its pods say, who decides, what is missing.

use super::draft::Draft;
use super::failure::{self, Failure, Response};
use super::finish::{self, End};
use super::look::{self, Current, exit_event};
use super::memory::Memory;
use super::rescale::Edit;
use super::world::World;
use super::{
    PodPhase, PodView, accept, conditions, counts, create, rescale, restart, stalled, success,
    suspend,
};
use crate::api::v1::ConditionType;
use crate::job::{Replica, Spec};

pub(super) fn run(draft: &mut Draft<'_>, world: &World<'_>, spec: &Spec) {
    accept::accept(draft, spec);
    let mut memory = Memory::load(spec, &draft.status);
    if !suspend::resume(draft, world) {
        counts::write(draft, spec, &memory, &Current::new());
        return;
    }
    accept::start(draft);
    memory.learn(world);
    let (mut current, old) = look::sort(world, spec, &memory);
    rescale::remove(draft, world, spec, &mut memory, &old);
    look::look(draft, spec, &current, &mut memory);
    let mut failures = failures(draft, world, spec, &mut memory, &current);
    if success::is_decided(spec, &memory) {
        failures.clear();
    }
    let edit = rescale::edit(&draft.status, world, spec, &memory);
    // What a job of another size has done is not what this one is to do.
    let comparable = edit != Some(Edit::Size);
    let reached = comparable && success::is_reached(draft, spec, &memory, &current);
    if let Some(end) = end(draft, world, spec, &memory, &failures, reached) {
        for failure in &failures {
            exited(draft, failure);
        }
        finish::finish(draft, world, spec, &memory, &current, end);
        return;
    }
    if let Some(edit) = edit {
        for failure in &failures {
            exited(draft, failure);
        }
        rescale::restart(draft, world, &mut memory, edit);
    } else {
        recover(draft, world, spec, &mut memory, failures);
    }
    current.retain(|replica, pod| !memory.is_stale(*replica, pod));
    note_running(draft, spec, &current);
    stalled::judge(draft, world, spec);
    counts::write(draft, spec, &memory, &current);
    create::create(draft, world, spec, &memory);
    look::label(draft, &current);
}

/// The replicas that have failed: pods in phase Failed, and pods that vanished after their start.
fn failures<'a>(
    draft: &Draft<'_>,
    world: &World<'a>,
    spec: &'a Spec,
    memory: &mut Memory,
    current: &Current<'a>,
) -> Vec<Failure<'a>> {
    let all = spec
        .roles
        .iter()
        .flat_map(|role| role.replicas().map(move |replica| (role, replica)));
    let mut failed = Vec::new();
    for (role, replica) in all {
        if memory.has_completed(replica) {
            continue;
        }
        let pod = current.get(&replica).copied();
        // Where names have changed a pod that is not seen may go on under the old one.
        let gone = !world.renamed && !world.pods.contains_key(&replica);
        let vanished = gone && memory.has_started(replica);
        let has_failed = |pod: &PodView| !pod.deleting && failure::has_failed(spec, role, pod);
        if pod.is_some_and(has_failed) || vanished {
            failed.push(Failure {
                replica,
                role,
                pod,
                vanished_at: vanished.then(|| memory.vanished_at(replica, draft.stamp())),
                disrupted: pod.map_or(memory.was_disrupted(replica), |pod| pod.disrupted),
            });
        }
    }
    failed
}

/// How the job ends now, if it does. A failure beats success, success beats a deadline.
fn end(
    draft: &mut Draft<'_>,
    world: &World<'_>,
    spec: &Spec,
    memory: &Memory,
    failures: &[Failure<'_>],
    succeeded: bool,
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
    if succeeded {
        return Some(End::Succeeded);
    }
    if let Some(message) = without_pod(draft, world, spec, memory) {
        return failed(message);
    }
    if let (Some(limit), Some(start)) = (spec.deadline, draft.status.start_time.clone())
        && draft.passed(start.0, limit)
    {
        return failed(format!(
            "Job {name} has failed because it was active longer than specified deadline"
        ));
    }
    limit(draft, spec, memory, failures).and_then(failed)
}

/// What is to be said of a replica that has no pod in a job that gets none: the others would wait for it for
/// ever.
fn without_pod(
    draft: &Draft<'_>,
    world: &World<'_>,
    spec: &Spec,
    memory: &Memory,
) -> Option<String> {
    let why = spec.closed.as_ref()?;
    let has_none =
        |replica: &Replica| !world.pods.contains_key(replica) && !memory.has_completed(*replica);
    // One that an edit asks for beyond those that there are is not waited for by the others.
    let pods = &world.pods;
    let is_new = draft.job.status.observed_generation.is_none() || pods.is_empty();
    let is_within = |replica: &Replica| {
        let beyond = |one: &Replica| one.role == replica.role && one.index > replica.index;
        is_new || memory.has_started(*replica) || pods.keys().any(beyond)
    };
    let missing = spec.replicas().find(|one| has_none(one) && is_within(one));
    let missing = missing.filter(|_| !success::is_decided(spec, memory))?;
    let (table, name) = (draft.job.table, &draft.job.meta.name);
    let (role, index) = (table.role(missing.role).name, missing.index);
    Some(format!(
        "Job {name} has failed because {role}/{index} has no {} and can get none: {why}",
        table.children().word()
    ))
}

/// The message of the restart limit that would be passed. Once the chief has decided nothing is
/// restarted for the job's sake.
fn limit(
    draft: &Draft<'_>,
    spec: &Spec,
    memory: &Memory,
    failures: &[Failure<'_>],
) -> Option<String> {
    if success::is_decided(spec, memory) {
        return None;
    }
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
    let in_place = memory.in_place();
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
    for failure in failures
        .iter()
        .filter(|one| restart::was_long(one.ran_for()))
    {
        memory.start_waits_over(failure.replica);
    }
    let (whole, single): (Vec<_>, Vec<_>) = failures
        .into_iter()
        .partition(|failure| matches!(failure.response(spec), Response::RestartJob { .. }));
    if !whole.is_empty() {
        let earlier = memory.waits_of_job();
        // The first failure's wait is the job's.
        if whole
            .iter()
            .any(|failure| restart::is_due(draft, failure, earlier))
        {
            let counts = whole
                .iter()
                .any(|one| one.response(spec) == Response::RestartJob { counts: true });
            // The restart deletes the pods of all of them.
            for failure in whole.iter().chain(&single) {
                exited(draft, failure);
            }
            restart::restart_job(draft, world, memory, &whole, counts);
        }
        return;
    }
    let due: Vec<_> = single
        .into_iter()
        .filter(|failure| restart::is_due(draft, failure, memory.waits_of(failure.replica)))
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
    if spec.chiefs().any(runs) && !draft.status.is(ConditionType::Running) {
        let message = format!(
            "{} {} is running.",
            draft.job.table.crd.kind, draft.job.meta.name
        );
        let reason = draft.reason("Running");
        conditions::set_true(draft, ConditionType::Running, reason, message);
    }
}

fn exited(draft: &mut Draft<'_>, failure: &Failure<'_>) {
    if let Some((pod, exit)) = failure.pod.and_then(|pod| Some((pod, pod.exit()?))) {
        draft.event(exit_event(draft, &pod.name, exit.code));
    }
}
