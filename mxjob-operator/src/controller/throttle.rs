//! Who sends the next request: jobs take turns, so that a job with a thousand requests does not
//! hold up one with three. What nobody waits for comes last.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::Instant;

use super::key::JobKey;
use super::limit::{Limit, Verdict};

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
    /// Requests that nobody waits for, and how many of them run.
    leisure: VecDeque<oneshot::Sender<Permit>>,
    leisurely: u32,
}

/// The right to send one request.
#[derive(Debug)]
pub(super) struct Permit {
    /// `None`: it gives nothing back.
    throttle: Option<Throttle>,
    since: Instant,
    urgency: Urgency,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Urgency {
    Job,
    Leisure,
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
        granted(receiver).await
    }

    /// Waits until no job has anything to send. One such request at a time does not wait so long.
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
            let Some((next, urgency)) = state.next() else {
                return;
            };
            let permit = Permit {
                throttle: Some(self.clone()),
                since: now,
                urgency,
            };
            match next.send(permit) {
                Ok(()) => {
                    state.running += 1;
                    state.leisurely += u32::from(urgency == Urgency::Leisure);
                }
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
        urgency: Urgency::Job,
    })
}

impl State {
    /// Whose request is the next.
    fn next(&mut self) -> Option<(oneshot::Sender<Permit>, Urgency)> {
        if self.leisurely > 0
            && let Some(next) = self.next_of_jobs()
        {
            return Some((next, Urgency::Job));
        }
        let next = self.leisure.pop_front();
        let leisure = next.map(|next| (next, Urgency::Leisure));
        leisure.or_else(|| Some((self.next_of_jobs()?, Urgency::Job)))
    }

    /// Whoever waits longest of the job whose turn it is.
    fn next_of_jobs(&mut self) -> Option<oneshot::Sender<Permit>> {
        let job = self.turns.pop_front()?;
        let lane = self.lanes.get_mut(&job)?;
        let next = lane.pop_front();
        if lane.is_empty() {
            self.lanes.remove(&job);
        } else {
            self.turns.push_back(job);
        }
        next
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
        state.running = state.running.saturating_sub(1);
        if self.urgency == Urgency::Leisure {
            state.leisurely = state.leisurely.saturating_sub(1);
        }
        throttle.grant(&mut state);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(name: &str) -> JobKey {
        JobKey::new("default", name)
    }

    #[tokio::test(start_paused = true)]
    async fn jobs_take_turns() {
        let throttle = Throttle::default();
        let mut held = Vec::new();
        for _ in 0..16 {
            held.push(throttle.permit(&job("big")).await);
        }
        let order = Arc::new(Mutex::new(Vec::new()));
        let wait = |name: &'static str| {
            let (throttle, order) = (throttle.clone(), order.clone());
            tokio::spawn(async move {
                let permit = throttle.permit(&job(name)).await;
                order.lock().unwrap().push(name);
                permit.settle(Verdict::Fine);
            })
        };
        let mut waiting: Vec<_> = (0..50).map(|_| wait("big")).collect();
        tokio::task::yield_now().await;
        waiting.push(wait("small"));
        tokio::task::yield_now().await;
        held.pop();
        for one in waiting {
            one.await.unwrap();
        }
        let place = order
            .lock()
            .unwrap()
            .iter()
            .position(|name| *name == "small");
        assert!(place.unwrap() <= 2, "{place:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn what_nobody_waits_for_comes_last_but_for_one_at_a_time() {
        let throttle = Throttle::default();
        let mut held = Vec::new();
        for _ in 0..16 {
            held.push(throttle.permit(&job("a")).await);
        }
        let order = Arc::new(Mutex::new(String::new()));
        let wait = |leisure: bool| {
            let (throttle, order) = (throttle.clone(), order.clone());
            tokio::spawn(async move {
                let permit = if leisure {
                    throttle.leisure().await
                } else {
                    throttle.permit(&job("a")).await
                };
                order.lock().unwrap().push(if leisure { 'l' } else { 'j' });
                tokio::time::sleep(Duration::from_secs(1)).await;
                permit.settle(Verdict::Fine);
            })
        };
        let waiting = [true, true, true, false, false, false].map(wait);
        tokio::task::yield_now().await;
        held.truncate(12);
        for one in waiting {
            one.await.unwrap();
        }
        assert_eq!(*order.lock().unwrap(), "ljjjll");
    }

    #[tokio::test(start_paused = true)]
    async fn a_waiter_that_gives_up_takes_no_permit_with_it() {
        let throttle = Throttle::default();
        let job = job("a");
        let sixteen = || futures::future::join_all((0..16).map(|_| throttle.permit(&job)));
        let held = sixteen().await;
        let gives_up = tokio::time::timeout(Duration::from_secs(1), throttle.permit(&job)).await;
        assert!(gives_up.is_err());
        drop(held);
        assert!(
            tokio::time::timeout(Duration::from_secs(1), sixteen())
                .await
                .is_ok()
        );
    }

    #[tokio::test(start_paused = true)]
    async fn nothing_is_sent_while_the_server_asked_for_a_pause() {
        let throttle = Throttle::default();
        throttle.pause(Duration::from_secs(3));
        let start = Instant::now();
        let _permit = throttle.permit(&job("a")).await;
        assert_eq!(start.elapsed().as_secs(), 3);
    }
}
