//! Which job is looked at next: each by one worker at a time, in the order in which something
//! happened to them.

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};

use tokio::time::Instant;

use super::key::JobKey;

/// Jobs to look at now, and later.
#[derive(Debug, Default)]
pub(super) struct Queue {
    ready: VecDeque<JobKey>,
    queued: HashSet<JobKey>,
    busy: HashMap<JobKey, Again>,
    alarms: BTreeSet<(Instant, JobKey)>,
    alarm_of: HashMap<JobKey, Instant>,
}

/// Whether something happened to a job while a worker had it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Again {
    No,
    Yes,
}

impl Queue {
    /// Something happened to the job.
    pub(super) fn push(&mut self, key: &JobKey) {
        if let Some(again) = self.busy.get_mut(key) {
            *again = Again::Yes;
        } else if self.queued.insert(key.clone()) {
            self.ready.push_back(key.clone());
        }
    }

    /// Nothing is to be looked at any more, but for what a worker has and what has an alarm.
    pub(super) fn clear(&mut self) {
        self.ready.clear();
        self.queued.clear();
    }

    /// The next job, which is then busy until [`Queue::done`].
    pub(super) fn pop(&mut self, now: Instant) -> Option<JobKey> {
        self.ring(now);
        let key = self.ready.pop_front()?;
        self.queued.remove(&key);
        self.silence(&key);
        self.busy.insert(key.clone(), Again::No);
        Some(key)
    }

    /// The worker has finished; the job is to be looked at again at `alarm`, or when something
    /// happens, or at once when something has happened meanwhile.
    pub(super) fn done(&mut self, key: &JobKey, alarm: Option<Instant>) {
        let again = self.busy.remove(key);
        if let Some(at) = alarm {
            self.silence(key);
            self.alarms.insert((at, key.clone()));
            self.alarm_of.insert(key.clone(), at);
        }
        if again == Some(Again::Yes) {
            self.push(key);
        }
    }

    /// When [`Queue::pop`] would have something although nothing happens.
    pub(super) fn next_alarm(&self) -> Option<Instant> {
        self.alarms.first().map(|(at, _)| *at)
    }

    fn ring(&mut self, now: Instant) {
        while let Some((at, key)) = self.alarms.first().cloned().filter(|(at, _)| *at <= now) {
            self.alarms.remove(&(at, key.clone()));
            self.alarm_of.remove(&key);
            self.push(&key);
        }
    }

    fn silence(&mut self, key: &JobKey) {
        if let Some(at) = self.alarm_of.remove(key) {
            self.alarms.remove(&(at, key.clone()));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use mxjob_core::{MxRole, ReplicaRole as _};

    use super::*;

    fn job(name: &str) -> JobKey {
        JobKey::new(MxRole::TABLE, "default", name)
    }

    #[test]
    fn jobs_come_in_order_and_once() {
        let (mut queue, now) = (Queue::default(), Instant::now());
        for name in ["b", "a", "b"] {
            queue.push(&job(name));
        }
        assert_eq!(queue.pop(now), Some(job("b")));
        assert_eq!(queue.pop(now), Some(job("a")));
        assert_eq!(queue.pop(now), None);
    }

    #[test]
    fn a_busy_job_waits_for_its_worker() {
        let (mut queue, now) = (Queue::default(), Instant::now());
        queue.push(&job("a"));
        queue.pop(now);
        queue.push(&job("a"));
        assert_eq!(queue.pop(now), None);
        queue.done(&job("a"), None);
        assert_eq!(queue.pop(now), Some(job("a")));
        queue.done(&job("a"), None);
        assert_eq!(queue.pop(now), None);
    }

    #[test]
    fn a_job_with_more_to_do_goes_to_the_back() {
        let (mut queue, now) = (Queue::default(), Instant::now());
        queue.push(&job("big"));
        queue.pop(now);
        queue.push(&job("small"));
        queue.push(&job("big"));
        queue.done(&job("big"), None);
        assert_eq!(queue.pop(now), Some(job("small")));
        assert_eq!(queue.pop(now), Some(job("big")));
    }

    #[test]
    fn an_alarm_rings_once_and_the_newest_counts() {
        let (mut queue, start) = (Queue::default(), Instant::now());
        let after = |seconds| start + Duration::from_secs(seconds);
        queue.done(&job("a"), Some(after(1)));
        queue.done(&job("a"), Some(after(5)));
        assert_eq!(queue.next_alarm(), Some(after(5)));
        assert_eq!(queue.pop(after(4)), None);
        assert_eq!(queue.pop(after(5)), Some(job("a")));
        queue.done(&job("a"), None);
        assert_eq!((queue.pop(after(9)), queue.next_alarm()), (None, None));
    }

    #[test]
    fn looking_at_a_job_early_takes_its_alarm_away() {
        let (mut queue, now) = (Queue::default(), Instant::now());
        queue.done(&job("a"), Some(now + Duration::from_secs(5)));
        queue.push(&job("a"));
        queue.pop(now);
        assert_eq!(queue.next_alarm(), None);
    }
}
