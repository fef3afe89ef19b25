//! How many requests may be under way at once: more while the server keeps up, fewer when it says
//! that it does not or answers ever more slowly.

use std::time::Duration;

use tokio::time::Instant;

const START: f64 = 16.0;
const LEAST: f64 = 2.0;
/// Where a real apiserver on two cores was measured to do all that it can.
const CEILING: f64 = 128.0;
/// One overload is many slow answers; they count once.
const CUT_PAUSE: Duration = Duration::from_secs(1);
/// Answers that are slower than usual by this factor, and slower than [`SLOW`], mean overload.
const SLOWER: f64 = 4.0;
/// Seconds; what Kubernetes promises of 99 in 100 writes (the service level objective of its API).
const SLOW: f64 = 1.0;

/// What an answer said about the server's load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It kept up.
    Fine,
    /// It said that it has too much to do, or did not answer in time.
    Overloaded,
}

/// One more for each answer until the first overload, then additive increase, multiplicative
/// decrease.
#[derive(Debug)]
pub(super) struct Limit {
    most: f64,
    /// Seconds; follows the fastest answers at once and slower ones slowly.
    usual: Option<f64>,
    /// Seconds; the mean of the last answers.
    recent: f64,
    cut_at: Option<Instant>,
}

impl Default for Limit {
    fn default() -> Self {
        Self {
            most: START,
            usual: None,
            recent: 0.0,
            cut_at: None,
        }
    }
}

impl Limit {
    /// Whether one more request may start beside `running` others.
    pub(super) fn allows(&self, running: u32) -> bool {
        f64::from(running) + 1.0 <= self.most
    }

    /// Learns from an answer; `full`: as many requests as allowed were under way.
    pub(super) fn learn(&mut self, verdict: Verdict, latency: Duration, full: bool, now: Instant) {
        let slow = self.measure(latency.as_secs_f64());
        if verdict == Verdict::Overloaded || slow {
            self.cut(now);
        } else if full {
            let step = self.cut_at.map_or(1.0, |_| 1.0 / self.most);
            self.most = (self.most + step).min(CEILING);
        }
    }

    fn measure(&mut self, seconds: f64) -> bool {
        let usual = self.usual.map_or(seconds, |usual| {
            usual.min(seconds) + 0.001 * (seconds - usual).max(0.0)
        });
        self.recent = if self.usual.is_none() {
            seconds
        } else {
            0.9 * self.recent + 0.1 * seconds
        };
        self.usual = Some(usual);
        self.recent > SLOW && self.recent > SLOWER * usual
    }

    fn cut(&mut self, now: Instant) {
        if self
            .cut_at
            .is_none_or(|at| now.duration_since(at) >= CUT_PAUSE)
        {
            self.cut_at = Some(now);
            self.most = (self.most / 2.0).max(LEAST);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUICK: Duration = Duration::from_millis(5);

    fn allowed(limit: &Limit) -> u32 {
        (0..=200).find(|running| !limit.allows(*running)).unwrap()
    }

    #[test]
    fn it_grows_only_while_it_is_used_up() {
        let (mut limit, now) = (Limit::default(), Instant::now());
        for _ in 0..1000 {
            limit.learn(Verdict::Fine, QUICK, false, now);
        }
        assert_eq!(allowed(&limit), 16);
        for _ in 0..16 {
            limit.learn(Verdict::Fine, QUICK, true, now);
        }
        assert_eq!(allowed(&limit), 32);
        for _ in 0..1000 {
            limit.learn(Verdict::Fine, QUICK, true, now);
        }
        assert_eq!(allowed(&limit), 128);
        limit.learn(Verdict::Overloaded, QUICK, true, now);
        for _ in 0..100 {
            limit.learn(Verdict::Fine, QUICK, true, now);
        }
        assert!((65..=68).contains(&allowed(&limit)), "{}", allowed(&limit));
    }

    #[test]
    fn an_overloaded_server_halves_it_once_a_second() {
        let (mut limit, now) = (Limit::default(), Instant::now());
        for _ in 0..100 {
            limit.learn(Verdict::Overloaded, QUICK, true, now);
        }
        assert_eq!(allowed(&limit), 8);
        for second in 1..10 {
            limit.learn(
                Verdict::Overloaded,
                QUICK,
                true,
                now + Duration::from_secs(second),
            );
        }
        assert_eq!(allowed(&limit), 2);
    }

    #[test]
    fn answers_that_get_slower_and_slower_halve_it() {
        let (mut limit, now) = (Limit::default(), Instant::now());
        for _ in 0..50 {
            limit.learn(Verdict::Fine, QUICK, false, now);
        }
        for _ in 0..50 {
            limit.learn(Verdict::Fine, Duration::from_secs(2), false, now);
        }
        assert_eq!(allowed(&limit), 8);
    }
}
