//! Who sends the next request: jobs take turns, so that a job with a thousand requests does not
//! hold up one with three. What nobody waits for comes last.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::Instant;
use tracing::Instrument as _;

use super::key::JobKey;
use super::limit::{Limit, Verdict};

/// Requests of one job at a time while another has something to send, too: those of a small job wait
/// behind them at the server.
const SHARE: u32 = 32;
/// How long a job counts as having something to send after its last request: it may be between two
/// steps.
const BETWEEN: Duration = Duration::from_millis(500);
/// While jobs wait, what nobody waits for is sent this seldom.
const PACE: Duration = Duration::from_millis(100);

/// Hands out permits for requests, as many as the server can take, to each job in turn.
#[derive(Clone, Debug, Default)]
pub(super) struct Throttle {
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    limit: Limit,
    running: u32,
    paused_until: Option<Instant>,
    lanes: HashMap<JobKey, VecDeque<oneshot::Sender<Permit>>>,
    turns: VecDeque<JobKey>,
    /// Requests under way, of each job.
    under_way: HashMap<JobKey, u32>,
    /// The two jobs that last sent something, the last one first.
    last: [Option<(JobKey, Instant)>; 2],
    /// Requests that nobody waits for, and how many of them run.
    leisure: VecDeque<oneshot::Sender<Permit>>,
    leisurely: u32,
    /// When the last of them began.
    leisurely_at: Option<Instant>,
}

/// The right to send one request.
#[derive(Debug)]
pub(super) struct Permit {
    /// `None`: it gives nothing back.
    throttle: Option<Throttle>,
    since: Instant,
    /// `None`: nobody waits for it.
    job: Option<JobKey>,
}

impl Throttle {
    /// Waits until `job` may send a request.
    pub(super) async fn permit(&self, job: &JobKey) -> Permit {
        let receiver = {
            let mut state = self.lock();
            let (sender, receiver) = oneshot::channel();
            let lane = state.lanes.entry(job.clone()).or_default();
            lane.push_back(sender);
            if lane.len() == 1 {
                state.turns.push_back(job.clone());
            }
            self.grant(&mut state);
            receiver
        };
        granted(receiver)
            .instrument(tracing::debug_span!("turn"))
            .await
    }

    /// Waits until no job has anything to send; now and then one such request does not wait so long.
    pub(super) async fn leisure(&self) -> Permit {
        let receiver = {
            let mut state = self.lock();
            let (sender, receiver) = oneshot::channel();
            state.leisure.push_back(sender);
            self.grant(&mut state);
            receiver
        };
        granted(receiver).await
    }

    /// Sends nothing for a while; the server has asked for it.
    pub(super) fn pause(&self, time: Duration) {
        let until = Instant::now() + time.min(Duration::from_mins(1));
        let mut state = self.lock();
        if state.paused_until.is_some_and(|already| already >= until) {
            return;
        }
        state.paused_until = Some(until);
        drop(state);
        let throttle = self.clone();
        tokio::spawn(async move {
            tokio::time::sleep_until(until).await;
            throttle.grant(&mut throttle.lock());
        });
    }

    /// Waits until the pause is over, if there is one.
    pub(super) async fn rest(&self) {
        loop {
            let until = self.lock().paused_until;
            match until.filter(|until| Instant::now() < *until) {
                Some(until) => tokio::time::sleep_until(until).await,
                None => return,
            }
        }
    }

    fn grant(&self, state: &mut State) {
        let now = Instant::now();
        if state.paused_until.is_some_and(|until| now < until) {
            return;
        }
        while state.limit.allows(state.running) {
            let Some((next, job)) = state.next(now) else {
                return;
            };
            let permit = Permit {
                throttle: Some(self.clone()),
                since: now,
                job: job.clone(),
            };
            match next.send(permit) {
                Ok(()) => state.begins(job, now),
                // Nobody waits any more. Dropping the permit would lock the state again.
                Err(mut permit) => permit.throttle = None,
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The sender lives in the state as long as the throttle does.
async fn granted(receiver: oneshot::Receiver<Permit>) -> Permit {
    receiver.await.unwrap_or_else(|_| Permit {
        throttle: None,
        since: Instant::now(),
        job: None,
    })
}

impl State {
    /// Whose request is the next.
    fn next(&mut self, now: Instant) -> Option<(oneshot::Sender<Permit>, Option<JobKey>)> {
        let is_soon = |at: Instant| now.duration_since(at) < PACE;
        let its_turn = self.leisurely == 0 && !self.leisurely_at.is_some_and(is_soon);
        let may_be_leisurely = its_turn || self.lanes.is_empty();
        let next = may_be_leisurely.then(|| self.leisure.pop_front()).flatten();
        let leisure = next.map(|next| (next, None));
        leisure.or_else(|| self.next_of_jobs(now))
    }

    /// Whoever waits longest of the job whose turn it is, and that does not have its share.
    fn next_of_jobs(&mut self, now: Instant) -> Option<(oneshot::Sender<Permit>, Option<JobKey>)> {
        for _ in 0..self.turns.len() {
            let job = self.turns.pop_front()?;
            if self.has_its_share(&job, now) {
                self.turns.push_back(job);
                continue;
            }
            let lane = self.lanes.get_mut(&job)?;
            let next = lane.pop_front();
            if lane.is_empty() {
                self.lanes.remove(&job);
            } else {
                self.turns.push_back(job.clone());
            }
            return Some((next?, Some(job)));
        }
        None
    }

    /// Whether the job has as many requests under way as it may have beside others.
    fn has_its_share(&self, job: &JobKey, now: Instant) -> bool {
        if self.under_way.get(job).is_none_or(|count| *count < SHARE) {
            return false;
        }
        let is_recent = |at: &Instant| now.duration_since(*at) < BETWEEN;
        let mut others = self.last.iter().flatten().filter(|(other, _)| other != job);
        self.lanes.len() > 1 || others.any(|(_, at)| is_recent(at))
    }

    fn begins(&mut self, job: Option<JobKey>, now: Instant) {
        self.running += 1;
        let Some(job) = job else {
            self.leisurely += 1;
            self.leisurely_at = Some(now);
            return;
        };
        *self.under_way.entry(job.clone()).or_default() += 1;
        let [last, before] = &mut self.last;
        if last.as_ref().is_some_and(|(other, _)| *other != job) {
            *before = last.take();
        }
        *last = Some((job, now));
    }

    fn ends(&mut self, job: Option<&JobKey>) {
        self.running = self.running.saturating_sub(1);
        let Some(job) = job else {
            self.leisurely = self.leisurely.saturating_sub(1);
            return;
        };
        if let Entry::Occupied(mut count) = self.under_way.entry(job.clone()) {
            *count.get_mut() -= 1;
            if *count.get() == 0 {
                count.remove();
            }
        }
    }
}

impl Permit {
    /// The request has been answered.
    pub(super) fn settle(self, verdict: Verdict) {
        let Some(throttle) = &self.throttle else {
            return;
        };
        let now = Instant::now();
        let mut state = throttle.lock();
        let full = !state.limit.allows(state.running);
        state
            .limit
            .learn(verdict, now.duration_since(self.since), full, now);
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let Some(throttle) = &self.throttle else {
            return;
        };
        let mut state = throttle.lock();
        state.ends(self.job.as_ref());
        throttle.grant(&mut state);
    }
}

#[cfg(test)]
mod tests;
