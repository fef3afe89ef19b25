//! Random lives of a job: 20,000 schedules of everything that can happen to it and its operators,
//! always the same. `MXJOB_RANDOM_LIVES` lives that many, `MXJOB_RANDOM_SEED` the one of that seed, or
//! so many from it on.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use mxjob_core::Job;
use proptest::strategy::ValueTree as _;

/// Schedules of a usual run.
const LIVES: u64 = 20_000;

fn variable(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(
        text.parse()
            .unwrap_or_else(|_| panic!("{name} is no number: {text}")),
    )
}

// contract: 5.3.4, 6.6, 8.2, 9.6
// promise: P67
#[test]
fn whatever_happens_the_invariants_hold() {
    let first = variable("MXJOB_RANDOM_SEED");
    let usual = if first.is_some() { 1 } else { LIVES };
    let first = first.unwrap_or(0);
    let end = first + variable("MXJOB_RANDOM_LIVES").unwrap_or(usual);
    let (next, found) = (AtomicU64::new(first), AtomicBool::new(false));
    let work = || {
        while !found.load(Ordering::Relaxed) {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= end {
                break;
            }
            if let Err(why) = crate::random::live(seed) {
                found.store(true, Ordering::Relaxed);
                panic!("{why}");
            }
        }
    };
    std::thread::scope(|threads| {
        threads.spawn(work);
        work();
    });
}

/// A set that no schedule draws would prove nothing, nor would jobs of v1alpha1 that are all refused.
#[test]
fn there_are_lives_of_every_set_and_of_jobs_made_at_v1alpha1() {
    let (mut sets, mut taken, mut refused) = (BTreeMap::new(), 0, 0);
    for seed in 0..1_000 {
        let schedule = crate::random::draw(seed).current();
        *sets.entry(schedule.set.worker).or_insert(0) += 1;
        let mut manifest = schedule.manifest;
        manifest["metadata"]["uid"] = "u-1".into();
        let job = Job::read(schedule.set.table, &manifest);
        if job.meta.run.is_some() {
            *(if job.spec.is_ok() {
                &mut taken
            } else {
                &mut refused
            }) += 1;
        }
    }
    assert!(
        sets.len() == 3 && sets.values().all(|lives| *lives > 200),
        "{sets:?}"
    );
    assert!(
        taken > 50 && refused < taken,
        "{taken} taken, {refused} refused"
    );
}
