//! What has been counted about each job, and which of them are still starting.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use mxjob_core::Job;
use mxjob_core::api::v1::ConditionType;
use mxjob_core::plan::{Account, Facts, Start};
use tokio::time::Instant;

use crate::controller::key::JobKey;

/// Jobs that have no phase yet, or one that the operator has not written.
const UNKNOWN: &str = "Unknown";

/// What is known of the jobs that are there.
#[derive(Debug, Default)]
pub(super) struct Ledger(HashMap<JobKey, Entry>);

#[derive(Debug, Default)]
struct Entry {
    account: Option<Account>,
    /// When it was first seen, while its pods are still to be created.
    starting: Option<Instant>,
}

impl Ledger {
    /// Takes a look at a job (`None`: it is gone), which was read at `seen`.
    pub(super) fn book(&mut self, key: &JobKey, job: Option<&Job>, seen: Instant) -> Facts {
        let entry = self.0.entry(key.clone()).or_default();
        let known = entry.account.clone();
        let facts = Account::book(&mut entry.account, job);
        if known.is_none() || facts.deleted > 0 {
            // Of one that an earlier operator has taken up nobody knows since when.
            let fresh = job.is_some_and(|job| job.status.start_time.is_none());
            entry.starting = Some(seen).filter(|_| fresh);
        }
        if entry.account.is_none() {
            self.0.remove(key);
        }
        facts
    }

    /// Nothing is known of any job.
    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether the job's pods are still to be created for the first time.
    pub(super) fn is_starting(&self, key: &JobKey) -> bool {
        self.0
            .get(key)
            .is_some_and(|entry| entry.starting.is_some())
    }

    /// How far the job has got; how long it took when that is the end of it.
    pub(super) fn start(&mut self, key: &JobKey, start: Start, now: Instant) -> Option<Duration> {
        let entry = self.0.get_mut(key)?;
        match start {
            Start::Underway => None,
            Start::Complete => entry.starting.take().map(|seen| now.duration_since(seen)),
            Start::Void => {
                entry.starting = None;
                None
            }
        }
    }
}

/// How many jobs there are in each phase; every phase is there.
pub(in crate::controller) fn phases<'a>(
    jobs: impl Iterator<Item = &'a Job>,
) -> BTreeMap<&'static str, i64> {
    let names = ConditionType::PHASES.map(ConditionType::name);
    let mut counts: BTreeMap<_, _> = names
        .into_iter()
        .chain([UNKNOWN])
        .map(|name| (name, 0))
        .collect();
    for job in jobs.filter(|job| !job.meta.managed_elsewhere) {
        let phase = job.status.phase.as_deref();
        let known = names.into_iter().find(|name| Some(*name) == phase);
        *counts.entry(known.unwrap_or(UNKNOWN)).or_default() += 1;
    }
    counts
}
