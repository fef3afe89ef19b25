//! What has become of a job's replicas, for an API that shows it: the ten newest.

use super::batch::image;
use super::draft::Draft;
use crate::api::v1::{ConditionType, JobStatus, Milestone, ReplicaStatus};
use crate::job::{Replica, Spec};
use crate::wiring::names;

/// How many are kept.
const KEPT: usize = 10;
const READY: &str = "Ready";

/// Adds what is planned to the status.
pub(super) fn note(draft: &mut Draft<'_>) {
    let job = draft.job;
    let Ok(spec) = &job.spec else { return };
    if !spec.profile.milestones || draft.status.is_finished() {
        return;
    }
    let mut news: Vec<(&str, String)> = Vec::new();
    news.extend(scaled(&job.status, &draft.status));
    news.extend(recovering(draft).map(|why| ("Recovering", why)));
    let replaced: Vec<_> = replaced(draft, spec).collect();
    let dead = replaced
        .iter()
        .map(|(_, name)| format!("removing dead member {name}"));
    news.extend(dead.map(|told| ("RemovingDeadMember", told)));
    let upgraded = replaced
        .iter()
        .filter_map(|(replica, name)| upgraded(draft, spec, *replica, name));
    news.extend(upgraded.map(|told| ("Upgrading", told)));
    let newest = draft.status.milestones.last().map(|one| one.kind.as_str());
    let newest = news.last().map(|(kind, _)| *kind).or(newest);
    if all_run(&draft.status, spec) && newest != Some(READY) {
        news.push((READY, String::new()));
    }
    let at = draft.stamp().0.to_string();
    let news = news.into_iter().map(|(kind, reason)| Milestone {
        kind: kind.to_owned(),
        reason,
        transition_time: at.clone(),
    });
    let all = &mut draft.status.milestones;
    all.extend(news);
    let old = all.len().saturating_sub(KEPT);
    all.drain(..old);
}

/// The job has another size than it had.
fn scaled(before: &JobStatus, now: &JobStatus) -> Option<(&'static str, String)> {
    let size = |status: &JobStatus| {
        // A role that is gone may have left its restarts.
        let sizes = status.replica_statuses.values();
        let mut sizes = sizes.filter_map(|role| role.replicas).map(i64::from);
        let first = sizes.next()?;
        Some(sizes.fold(first, |sum, size| sum + size))
    };
    let (had, wanted) = size(before).zip(size(now))?;
    let kind = match had.cmp(&wanted) {
        std::cmp::Ordering::Less => "ScalingUp",
        std::cmp::Ordering::Greater => "ScalingDown",
        std::cmp::Ordering::Equal => return None,
    };
    let message = format!("Current cluster size: {had}, desired cluster size: {wanted}");
    Some((kind, message))
}

/// Why a replica is tried again, by the operator or where it is.
fn recovering(draft: &Draft<'_>) -> Option<String> {
    let of_role = |role: &ReplicaStatus| {
        let present = role.container_restarts.values().map(|one| i64::from(*one));
        i64::from(role.restarts) + i64::from(role.in_place_restarts) + present.sum::<i64>()
    };
    let tries = |status: &JobStatus| status.replica_statuses.values().map(of_role).sum::<i64>();
    let reason = draft.reason(ConditionType::Restarting.name());
    let why = draft.events.iter().find(|event| event.reason == reason);
    let why = why.map(|why| why.message.clone()).unwrap_or_default();
    (tries(&draft.status) > tries(&draft.job.status)).then_some(why)
}

/// The replicas whose pods go so that others take their places, with the names of those.
fn replaced<'a>(draft: &'a Draft<'_>, spec: &'a Spec) -> impl Iterator<Item = (Replica, String)> {
    let attempt = |status: &JobStatus, name: &str, index: u32| {
        let role = status.replica_statuses.get(name)?;
        role.attempts.get(&index.to_string()).copied()
    };
    let is_replaced = move |replica: &Replica| {
        let name = draft.job.table.role(replica.role).name;
        let before = attempt(&draft.job.status, name, replica.index);
        attempt(&draft.status, name, replica.index) > before
    };
    spec.replicas()
        .filter(is_replaced)
        .map(|replica| (replica, names::replica(draft.job, replica)))
}

/// Another image takes its place than it had: its template was edited before there were rules.
fn upgraded(draft: &Draft<'_>, spec: &Spec, replica: Replica, name: &str) -> Option<String> {
    let (_, had) = draft.images.iter().find(|(gone, _)| gone == name)?;
    let role = spec.roles.iter().find(|role| role.id == replica.role)?;
    let image = image(&role.template, role.container(draft.job.table))?;
    (*had != image).then(|| format!("upgrading cluster member {name} version to {image}"))
}

/// Every replica runs, or has done its work.
fn all_run(status: &JobStatus, spec: &Spec) -> bool {
    let of_role = |name: &str| status.replica_statuses.get(name);
    let mut roles = spec.roles.iter();
    let complete = roles.all(|role| {
        let there = of_role(role.role.name).map_or(0, |role| role.active + role.succeeded);
        i64::from(there) >= i64::from(role.replicas)
    });
    complete && status.replica_statuses.values().any(|role| role.active > 0)
}
