//! What is counted about jobs, each fact once. Facts are differences between stored statuses, so a
//! status that was refused counts nothing, and one that is read twice counts once.

use std::collections::BTreeMap;

use super::{Observed, memory::Memory, world::World};
use crate::api::v1::{ConditionType, JobStatus};
use crate::job::{Job, Spec};

/// What happened to a job since it was last looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// Taken up for the first time.
    pub created: u64,
    /// Gone.
    pub deleted: u64,
    /// Succeeded.
    pub successful: u64,
    /// Failed.
    pub failed: u64,
    /// Replaced replicas, and restarts of the whole job.
    pub restarted: u64,
}

/// What has been counted about one job. What its status says when it is met for the first time was
/// counted by an earlier operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    uid: String,
    created: bool,
    ended: bool,
    lives: i32,
    attempts: BTreeMap<(String, String), i32>,
}

impl Account {
    /// Looks at the stored job (`None`: there is none) and says what has happened since `known` was
    /// brought up to date. Jobs that somebody else runs are not counted.
    pub fn book(known: &mut Option<Self>, job: Option<&Job>) -> Facts {
        let job = job.filter(|job| !job.meta.managed_elsewhere);
        let mut facts = Facts::default();
        if known.as_ref().map(|one| one.uid.as_str()) != job.map(|job| job.meta.uid.as_str()) {
            facts.deleted = u64::from(known.as_ref().is_some_and(|one| one.created));
            *known = job.map(Self::open);
        } else if let (Some(account), Some(job)) = (known, job) {
            account.catch_up(job, &mut facts);
        }
        facts
    }

    fn open(job: &Job) -> Self {
        Self {
            uid: job.meta.uid.clone(),
            created: is_taken_up(&job.status),
            ended: job.status.is_finished(),
            lives: lives(&job.status),
            attempts: attempts(&job.status),
        }
    }

    fn catch_up(&mut self, job: &Job, facts: &mut Facts) {
        let (before, status) = (self.clone(), &job.status);
        // A user may have wiped the status since; the job is taken up and ends once all the same.
        self.created |= is_taken_up(status);
        self.ended |= status.is_finished();
        self.lives = lives(status);
        self.attempts = attempts(status);
        facts.created = u64::from(self.created && !before.created);
        if self.ended && !before.ended {
            let failed = status.is(ConditionType::Failed);
            facts.failed = u64::from(failed);
            facts.successful = u64::from(!failed);
        }
        let lives = self.lives.saturating_sub(before.lives).max(0);
        facts.restarted = u64::from(lives.unsigned_abs());
        if let (0, Ok(spec)) = (lives, &job.spec) {
            facts.restarted = self.replaced_since(&before, spec);
        }
    }

    /// Replicas replaced. Those that the job was told not to want any more are not.
    fn replaced_since(&self, before: &Self, spec: &Spec) -> u64 {
        let is_wanted = |(role, index): &(String, String)| {
            let index: Option<u32> = index.parse().ok();
            spec.role_named(role)
                .zip(index)
                .is_some_and(|(role, index)| index < role.replicas)
        };
        self.attempts
            .iter()
            .filter(|(replica, _)| is_wanted(replica))
            .map(|(replica, now)| {
                let then = before.attempts.get(replica).copied().unwrap_or(0);
                u64::from(now.saturating_sub(then).max(0).unsigned_abs())
            })
            .sum()
    }
}

/// An invalid job fails without having been accepted; it was created nevertheless.
fn is_taken_up(status: &JobStatus) -> bool {
    status.is(ConditionType::Created) || status.is_finished()
}

fn lives(status: &JobStatus) -> i32 {
    status.restarts.unwrap_or(0).max(0)
}

fn attempts(status: &JobStatus) -> BTreeMap<(String, String), i32> {
    let of_role = |(name, role): (&String, &crate::api::v1::ReplicaStatus)| {
        let name = name.to_ascii_lowercase();
        let one = |(index, times): (&String, &i32)| ((name.clone(), index.clone()), *times);
        role.attempts.iter().map(one).collect::<Vec<_>>()
    };
    status.replica_statuses.iter().flat_map(of_role).collect()
}

/// How far a job has got in creating its pods.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// Some are missing.
    Underway,
    /// Every replica has its pod, or does not need one any more.
    Complete,
    /// There is nothing to wait for: the job is suspended, has ended, or is not ours to run.
    Void,
}

impl Start {
    /// How far that job has got.
    pub fn of(observed: &Observed<'_>) -> Self {
        let job = observed.job;
        let not_ours = job.meta.deleting || job.meta.managed_elsewhere;
        let idle = not_ours || job.status.is_paused() || job.status.is_finished();
        let Some(spec) = job.spec.as_ref().ok().filter(|spec| !idle && !spec.suspend) else {
            return Self::Void;
        };
        let (world, memory) = (World::of(observed), Memory::load(spec, &job.status));
        let mut replicas = spec.replicas();
        let complete = replicas
            .all(|replica| world.pods.contains_key(&replica) || memory.has_completed(replica));
        if complete {
            Self::Complete
        } else {
            Self::Underway
        }
    }
}
