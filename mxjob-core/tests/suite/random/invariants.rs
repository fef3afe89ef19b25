//! What holds, whatever happens.
//!
//! Where it cannot by nature, this is what holds instead:
//! * Somebody who wipes the status takes the job's memory: counters and the final condition are
//!   those of the new status, and pods that were judged already are judged once more. One of two
//!   leaders that remembers the old status puts it back, over what the other has counted meanwhile.
//! * Two leaders act on what each has seen. The status is fenced by its resourceVersion: no count is
//!   lost or made twice, no final condition changes. A create is not: one that has not yet heard of
//!   the end, or of pods that the other made, when it makes its plan, may still create; one that has
//!   heard of the end plans nothing of the kind, and what was made too late goes when it looks.
//! * A leader that hears of a suspension and of its end before it hears of pods that the other made has
//!   nothing to wait for, and takes them for pods of now when they go. So one of two hears of
//!   everything before it hears of the job. A leader alone may hear of each kind as late as it likes. In
//!   a cluster one that takes the lead has heard what its watches have said, all kinds side by side.
//! * Nor is a delete fenced: a leader that has not heard of the end of a suspension still deletes pods,
//!   and the job takes them for lost.
//! * A pod without the operator's label is not seen by a suspension. When the job is resumed it is met
//!   again as if it were a pod of now, with its restarts and its end.
//! * A pod that has lost the operator's label before anybody saw it run is met when its name is
//!   needed: until then the next life of the job may begin beside it.
//! * A copy of a pod that the user makes is there until a leader sees it.
//! * Two creates of one replica exclude each other by its name. When names change they do not: one of
//!   two leaders that makes a pod by an older plan, and one that does not know that its first pods were
//!   made, have two of a replica until they hear of both.
//! * A pod without the operator's label is looked for by name. When names change nobody can look for it
//!   any more: it is taken for lost if no other pod tells of the change, and runs beside the others.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{ConfigMap, Pod, Service};
use mxjob_core::api::v1::{CleanPodPolicy, ConditionType, JobStatus, SuccessPolicy};
use mxjob_core::job::{Job, Replica, RoleSpec, Spec};
use mxjob_core::model::{Cluster, Leader};
use mxjob_core::plan::{Action, PodPhase, PodView};
use mxjob_core::role::RestartPolicy;
use mxjob_core::wiring::{labels, names};

use super::history;
use super::life::{Life, owner};

type Verdict = Result<(), String>;

/// After every step.
pub(crate) fn hold(life: &Life<'_>) -> Verdict {
    let Some(job) = life
        .cluster
        .job()
        .filter(|job| job.meta.uid == life.history.uid)
    else {
        return Ok(());
    };
    history::follows(&life.history, &job.status)?;
    if !life.history.last.is_finished() {
        history::is_justified(&life.history, &job.status)?;
        has_earned(life, &job.status)?;
    }
    one_pod_each(life)
}

/// At most one live pod per role and index, and of one life of the job.
fn one_pod_each(life: &Life<'_>) -> Verdict {
    let mut by_replica: BTreeMap<Replica, Vec<PodView>> = BTreeMap::new();
    let mut lives = BTreeSet::new();
    for pod in life.cluster.pods() {
        let view = PodView::of(pod, life.set.table);
        let made = !life.seconds.contains(&view.name);
        let is_alive = !view.deleting && !view.phase.is_final();
        if is_alive && made && owner(pod) == Some(&life.history.uid) {
            lives.insert(view.attempt.job);
            if let Some(replica) = replica_of(life, pod) {
                by_replica.entry(replica).or_default().push(view);
            }
        }
    }
    let history = &life.history;
    let blind = history.rivals || history.unheard || history.hidden || history.wiped;
    let nameless = blind && history.renames > 0;
    if let Some((replica, pods)) = by_replica.iter().find(|(_, pods)| pods.len() > 1)
        && !nameless
    {
        return Err(format!("two live pods of {replica:?}: {pods:?}"));
    }
    let sure = life.schedule.leaders == 1 && !history.wiped && !history.hidden && history.lost == 0;
    if sure && lives.len() > 1 {
        return Err(format!("pods of the lives {lives:?} side by side"));
    }
    Ok(())
}

/// By its name, with whatever runtime id: labels can be edited.
fn replica_of(life: &Life<'_>, pod: &Pod) -> Option<Replica> {
    let name = pod.metadata.name.as_deref()?;
    let (replica, _) = names::of_pod(life.set.table, &life.job.meta.name, name)?;
    Some(replica)
}

/// What is watched of a job that is to run has the names that it has now.
fn is_called_right(life: &Life<'_>, job: &Job) -> Verdict {
    let pods = life.cluster.pods().filter(|pod| {
        is_watched(life, pod, &job.meta.uid) && pod.metadata.deletion_timestamp.is_none()
    });
    let services = life.cluster.services().filter(|one| {
        let owners = one.metadata.owner_references.as_deref().unwrap_or_default();
        owners.iter().any(|owner| owner.uid == job.meta.uid)
    });
    let names = pods
        .map(|pod| &pod.metadata)
        .chain(services.map(|one| &one.metadata))
        .filter_map(|meta| meta.name.as_deref());
    for name in names {
        let run = names::of_pod(job.table, &job.meta.name, name).map(|(_, run)| run);
        if name != job.meta.name && run != Some(job.meta.run.as_deref()) {
            return Err(format!("{name} is not called as {:?} says", job.meta.run));
        }
    }
    Ok(())
}

/// Were the status that it wrote the job's and nothing else changed, it would write and say nothing.
pub(crate) fn says_it_once(leader: &Leader, now: Timestamp, written: &JobStatus) -> Verdict {
    let text = serde_json::to_string(written).unwrap();
    let read: JobStatus = serde_json::from_str(&text).unwrap();
    if read != *written {
        return Err(format!(
            "a status is not read as it was written: {written:?} {read:?}"
        ));
    }
    let again = leader.plan(now, Some(written)).unwrap();
    if again.status.is_none() && again.events.is_empty() {
        return Ok(());
    }
    Err(format!("the same once more: {written:?} then {again:?}"))
}

/// Only what the job, or one of its name before it, owns is deleted.
pub(crate) fn touches_its_own(
    before: &Cluster,
    own: &BTreeSet<String>,
    action: &Action,
) -> Verdict {
    let (target, meta) = match action {
        Action::DeletePod(target) => {
            let found = before.server.get::<Pod>(&target.name);
            (target, found.map(|one| one.metadata.clone()))
        }
        Action::DeleteService(target) => {
            let found = before.server.get::<Service>(&target.name);
            (target, found.map(|one| one.metadata.clone()))
        }
        Action::DeleteConfigMap(target) => {
            let found = before.server.get::<ConfigMap>(&target.name);
            (target, found.map(|one| one.metadata.clone()))
        }
        _ => return Ok(()),
    };
    let Ok(meta) = meta else { return Ok(()) };
    let owners = meta.owner_references.unwrap_or_default();
    if meta.uid.as_ref() != Some(&target.uid) || owners.iter().any(|one| own.contains(&one.uid)) {
        return Ok(());
    }
    Err(format!("touched what is somebody else's: {action:?}"))
}

/// When a leader that has seen everything wants nothing more.
pub(crate) fn at_rest(life: &Life<'_>) -> Verdict {
    let Some(job) = life.cluster.job() else {
        return Ok(());
    };
    let Ok(spec) = &job.spec else { return Ok(()) };
    let status = &job.status;
    let pods: BTreeMap<Replica, PodView> = life
        .cluster
        .pods()
        .filter(|pod| owner(pod) == Some(&job.meta.uid))
        .filter_map(|pod| Some((replica_of(life, pod)?, PodView::of(pod, life.set.table))))
        .collect();
    if status.is_finished() {
        return cleaned_up(life, spec);
    }
    if spec.suspend {
        return match life
            .cluster
            .pods()
            .find(|pod| is_watched(life, pod, &job.meta.uid))
        {
            Some(pod) if pod.metadata.deletion_timestamp.is_none() => Err(format!(
                "a suspended job has a pod: {:?}",
                pod.metadata.name
            )),
            _ => Ok(()),
        };
    }
    // One that is to be resumed waits for its old pods to be gone and looks at nothing else.
    if !status.is(ConditionType::Suspended) {
        is_called_right(life, job)?;
    }
    nothing_is_overlooked(life, spec, status, &pods)
}

/// The watches show no pod without the operator's label; it is found again when its name is needed.
fn is_watched(life: &Life<'_>, pod: &Pod, uid: &str) -> bool {
    let labels = pod.metadata.labels.as_ref();
    owner(pod).is_some_and(|one| one == uid)
        && labels.is_some_and(|all| all.contains_key(labels::OPERATOR))
        && life.cluster.job().is_some()
}

/// Every replica has a pod or a reason to have none, and what its pod says is known.
fn nothing_is_overlooked(
    life: &Life<'_>,
    spec: &Spec,
    status: &JobStatus,
    pods: &BTreeMap<Replica, PodView>,
) -> Verdict {
    let strangers = life
        .cluster
        .pods()
        .any(|pod| owner(pod) != Some(&life.history.uid))
        || life.cluster.services().any(|one| {
            let owners = one.metadata.owner_references.as_deref().unwrap_or_default();
            owners.iter().all(|one| one.uid != life.history.uid)
        });
    let stopping = life
        .cluster
        .pods()
        .any(|pod| pod.metadata.deletion_timestamp.is_some());
    // One of an earlier life has been judged.
    let is_judged = |pod: &&PodView| {
        let stored = life.cluster.server.get::<Pod>(&pod.name);
        let shown = stored.is_ok_and(|stored| is_watched(life, &stored, &life.history.uid));
        shown && !pod.deleting && pod.attempt.job >= status.restarts.unwrap_or(0)
    };
    let known_of = |role: &RoleSpec| {
        let known = status.replica_statuses.get(role.role.name);
        known.cloned().unwrap_or_default()
    };
    // The one that decides has: what becomes of the others is of no account.
    let decided = spec.success == SuccessPolicy::Chief
        && spec.profile.chief.is_some_and(|chief| {
            let known = spec.role(chief.role).map(known_of).unwrap_or_default();
            indexes(known.completed_indexes.as_deref()).contains(&chief.index)
        });
    for role in &spec.roles {
        let known = known_of(role);
        let completed = indexes(known.completed_indexes.as_deref());
        for replica in role.replicas() {
            let waits = known.ended_at.contains_key(&replica.index.to_string());
            let pod = pods.get(&replica);
            if pod.is_none()
                && !completed.contains(&replica.index)
                && !waits
                && !strangers
                && !stopping
            {
                return Err(format!("{replica:?} has no pod: {status:?}"));
            }
            let Some(pod) = pod.filter(|pod| is_judged(pod)) else {
                continue;
            };
            if pod.phase == PodPhase::Succeeded && !completed.contains(&replica.index) {
                return Err(format!(
                    "the success of {replica:?} is not kept: {status:?}"
                ));
            }
            if !pod.labelled && !pod.phase.is_final() {
                return Err(format!("{replica:?} is without its labels: {pod:?}"));
            }
            let fatal = !decided
                && spec.failure.is_none()
                && (role.restart == RestartPolicy::Never
                    || (role.restart == RestartPolicy::ExitCode
                        && pod.exit.as_ref().is_some_and(|exit| exit.code == 1)));
            if fatal && pod.phase == PodPhase::Failed && !completed.contains(&replica.index) {
                return Err(format!(
                    "the failure of {replica:?} is overlooked: {status:?}"
                ));
            }
            // What the kubelet does with one that is done is of no account, nor with any after the chief.
            let counted = known.container_restarts.get(&replica.index.to_string());
            let is_done = completed.contains(&replica.index);
            let counts = !decided && !is_done;
            if counts && pod.container_restarts > counted.copied().unwrap_or(0) {
                return Err(format!(
                    "restarts of {replica:?} are not counted: {status:?}"
                ));
            }
        }
    }
    Ok(())
}

fn indexes(text: Option<&str>) -> BTreeSet<u32> {
    let part = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        first.parse().unwrap()..=last.parse().unwrap()
    };
    text.into_iter()
        .flat_map(|text| text.split(','))
        .flat_map(part)
        .collect()
}

/// Nothing is left of a finished job but what its policy keeps.
fn cleaned_up(life: &Life<'_>, spec: &Spec) -> Verdict {
    let failed = life
        .cluster
        .job()
        .is_some_and(|job| job.status.is(ConditionType::Failed));
    for pod in life
        .cluster
        .pods()
        .filter(|pod| is_watched(life, pod, &life.history.uid))
    {
        let view = PodView::of(pod, life.set.table);
        let stays = match spec.clean {
            CleanPodPolicy::All => false,
            CleanPodPolicy::Running => view.phase.is_final(),
            CleanPodPolicy::None => !failed || view.phase.is_final(),
        };
        if !stays && !view.deleting {
            return Err(format!("{} is left after the end", view.name));
        }
    }
    let ours = |one: &Service| {
        let owners = one.metadata.owner_references.as_deref().unwrap_or_default();
        owners.iter().any(|owner| owner.uid == life.history.uid)
    };
    match life.cluster.services().find(|one| ours(one)) {
        Some(service) => Err(format!("{:?} is left after the end", service.metadata.name)),
        None => Ok(()),
    }
}

/// Left alone, the job has ended; well, unless something happened that ends it otherwise.
pub(crate) fn ended_as_declared(life: &Life<'_>) -> Verdict {
    let job = life.cluster.job().ok_or("the job is gone")?;
    let spec = job
        .spec
        .as_ref()
        .map_err(|why| format!("not valid: {why:?}"))?;
    let for_ever = spec.failure.is_none()
        && spec
            .roles
            .iter()
            .any(|role| role.restart == RestartPolicy::Always);
    if !job.status.is_finished() && !for_ever {
        return Err(format!("never ended: {:?}", job.status));
    }
    Ok(())
}

/// Who decides has succeeded, when the job has.
pub(crate) fn has_earned(life: &Life<'_>, status: &JobStatus) -> Verdict {
    let spec = life.cluster.job().and_then(|job| job.spec.as_ref().ok());
    let Some(spec) = spec.filter(|_| status.is(ConditionType::Succeeded) && !life.history.wiped)
    else {
        return Ok(());
    };
    let by_workers = spec.success == SuccessPolicy::AllWorkers && spec.workers().count() > 0;
    let all = spec.chiefs().filter_map(|chief| spec.role(chief.role));
    let deciding: BTreeMap<_, &RoleSpec> = match spec.profile.chief {
        _ if by_workers => spec.workers().map(|role| (role.id, role)).collect(),
        Some(chief) if !life.history.succeeded.contains(&chief) => {
            return Err(format!("succeeded without {chief:?}: {:?}", life.history));
        }
        Some(_) => BTreeMap::new(),
        None => all.map(|role| (role.id, role)).collect(),
    };
    for role in deciding.into_values() {
        // The size that it ended with; the spec may have been edited since.
        let known = status.replica_statuses.get(role.role.name);
        let size = known.and_then(|role| role.replicas).unwrap_or(0);
        for index in 0..u32::try_from(size).unwrap() {
            let replica = Replica {
                role: role.id,
                index,
            };
            if !life.history.succeeded.contains(&replica) {
                return Err(format!("succeeded without {replica:?}: {:?}", life.history));
            }
        }
    }
    Ok(())
}
