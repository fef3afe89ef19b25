//! What has become of a job's replicas, for an API that shows it: the ten newest.

use super::batch::image;
use super::draft::Draft;
use crate::api::v1::{ConditionType, JobStatus, Milestone, ReplicaStatus};
use crate::job::{Replica, RoleSpec, Spec};
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
    let removed = replaced(draft, spec);
    news.extend(removed.map(|name| ("RemovingDeadMember", format!("removing dead member {name}"))));
    let known = &draft.status.milestones;
    let upgraded = upgraded(draft, spec).map(|what| format!("upgrading cluster member {what}"));
    let upgraded = upgraded.filter(|told| !known.iter().any(|one| one.reason == *told));
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

/// Names of the pods that go so that others take their places.
fn replaced<'a>(draft: &'a Draft<'_>, spec: &'a Spec) -> impl Iterator<Item = String> {
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
        .map(|replica| names::replica(draft.job, replica))
}

/// Whose place is taken by one of another image: a template that was edited before there were rules.
fn upgraded<'a>(draft: &'a Draft<'_>, spec: &'a Spec) -> impl Iterator<Item = String> {
    let goes = move |name: &str| draft.images.iter().find(|(gone, _)| gone == name);
    let of_role = move |role: &'a RoleSpec| {
        let image = image(&role.template, role.container(draft.job.table));
        let image = image.unwrap_or_default();
        role.replicas().filter_map(move |replica| {
            let (name, old) = goes(&names::replica(draft.job, replica))?;
            (*old != image).then(|| format!("{name} version to {image}"))
        })
    };
    spec.roles.iter().flat_map(of_role)
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
