//! Hands jobs to workers until it is time to stop.

use std::collections::HashMap;
use std::future;
use std::time::Duration;

use tokio::task::{Id, JoinError, JoinSet};
use tokio::time::{Instant, MissedTickBehavior};
use tracing::Instrument as _;

use super::backoff;
use super::key::JobKey;
use super::reconcile::{Next, Operator};

/// Jobs that are looked at at the same time, as many as requests may run: of some jobs there is only
/// one. They take turns at the throttle.
const WORKERS: usize = 128;
/// How often unconfirmed answers are looked through.
const SWEEP: Duration = Duration::from_secs(10);
/// What a worker may need to finish what it has begun; the whole stop takes less than 5 s.
const GRACE: Duration = Duration::from_secs(3);

/// Workers and what they are at.
struct Dispatcher<'a> {
    operator: &'a Operator,
    workers: JoinSet<Next>,
    keys: HashMap<Id, JobKey>,
    failures: HashMap<JobKey, u32>,
}

/// Looks after jobs until it is time to stop, then lets the workers finish. Whether they have.
pub(super) async fn dispatch(operator: &Operator) -> bool {
    let mut dispatcher = Dispatcher {
        operator,
        workers: JoinSet::new(),
        keys: HashMap::new(),
        failures: HashMap::new(),
    };
    dispatcher.run().await;
    dispatcher.finish().await
}

impl Dispatcher<'_> {
    async fn run(&mut self) {
        let shared = &self.operator.shared;
        let mut sweep = tokio::time::interval(SWEEP);
        sweep.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut synced = false;
        while !self.operator.stop.is_due() {
            if !synced && shared.world().is_synced() {
                synced = true;
                tracing::info!("caches are complete, looking after jobs");
            }
            let alarm = if synced { self.hand_out() } else { None };
            tokio::select! {
                () = self.operator.stop.due() => {}
                () = shared.news() => {}
                () = ring(alarm) => {}
                Some(result) = self.workers.join_next_with_id() => self.take_back(result),
                _ = sweep.tick() => {
                    let late = shared.world().expire(Instant::now());
                    shared.push(&late);
                }
            }
        }
    }

    /// Gives every free worker a job; returns when the next one is due.
    fn hand_out(&mut self) -> Option<Instant> {
        let mut queue = self.operator.shared.queue();
        while self.workers.len() < WORKERS {
            let Some(key) = queue.pop(Instant::now()) else {
                break;
            };
            let (operator, job) = (self.operator.clone(), key.clone());
            let span =
                tracing::debug_span!("reconcile", namespace = %job.namespace, job = %job.name);
            let look = async move { operator.reconcile(&job).await };
            let worker = self.workers.spawn(look.instrument(span));
            self.keys.insert(worker.id(), key);
        }
        queue.next_alarm().filter(|_| self.workers.len() < WORKERS)
    }

    fn take_back(&mut self, result: Result<(Id, Next), JoinError>) {
        let (id, next) = match result {
            Ok(done) => done,
            Err(error) => (error.id(), Next::Retry(None)),
        };
        let Some(key) = self.keys.remove(&id) else {
            return;
        };
        match next {
            Next::Retry(_) => *self.failures.entry(key.clone()).or_default() += 1,
            // What could not be written may only be waiting for its next turn.
            Next::At(_) => {}
            Next::Rest | Next::More => drop(self.failures.remove(&key)),
        }
        let alarm = match next {
            Next::Rest => None,
            Next::At(at) => Some(at),
            Next::More => Some(Instant::now()),
            Next::Retry(at_latest) => {
                let failures = self.failures.get(&key).copied().unwrap_or(1);
                let again = Instant::now() + backoff::wait(failures);
                Some(at_latest.map_or(again, |at| at.min(again)))
            }
        };
        self.operator.shared.queue().done(&key, alarm);
    }

    async fn finish(&mut self) -> bool {
        let all = async { while self.workers.join_next().await.is_some() {} };
        let in_time = tokio::time::timeout(GRACE, all).await.is_ok();
        if !in_time {
            tracing::warn!(
                workers = self.workers.len(),
                "requests were cut off: no answer within {} s",
                GRACE.as_secs()
            );
            self.workers.shutdown().await;
        }
        in_time
    }
}

async fn ring(alarm: Option<Instant>) {
    match alarm {
        Some(at) => tokio::time::sleep_until(at).await,
        None => future::pending().await,
    }
}
