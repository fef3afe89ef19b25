//! Who sends the next request: jobs take turns, so that a job with a thousand requests does not
//! hold up one with three.

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
}

/// The right to send one request.
#[derive(Debug)]
pub(super) struct Permit {
    /// `None`: it gives nothing back.
    throttle: Option<Throttle>,
    since: Instant,
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
        // The sender lives in the state as long as the throttle does.
        receiver.await.unwrap_or_else(|_| Permit {
            throttle: None,
            since: Instant::now(),
        })
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

    fn grant(&self, state: &mut State) {
        let now = Instant::now();
        if state.paused_until.is_some_and(|until| now < until) {
            return;
        }
        while state.limit.allows(state.running) {
            let Some(job) = state.turns.pop_front() else {
                return;
            };
            let next = state.lanes.get_mut(&job).and_then(VecDeque::pop_front);
            if state.lanes.get(&job).is_some_and(|lane| !lane.is_empty()) {
                state.turns.push_back(job);
            } else {
                state.lanes.remove(&job);
            }
            let permit = Permit {
                throttle: Some(self.clone()),
                since: now,
            };
            match next.map(|sender| sender.send(permit)) {
                Some(Ok(())) => state.running += 1,
                // Nobody waits any more. Dropping the permit would lock the state again.
                Some(Err(mut permit)) => permit.throttle = None,
                None => {}
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
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
