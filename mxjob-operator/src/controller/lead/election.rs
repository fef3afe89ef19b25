//! Who leads, without a clock and without I/O: what was seen of the lease goes in, what to do next
//! comes out.
//!
//! Times are of the candidate's own clock, since whenever; those of two candidates are never compared,
//! and what the lease says of the time is not read. That no two lead at once rests on this alone:
//! * The lease is written over the version that was seen, and over no other.
//! * A leader's term ends [`Pace::term`] after its last successful write was *sent*. The server has
//!   written it later than that.
//! * A candidate takes the lease of another when it has seen it unchanged for the whole lease, which is
//!   longer than a term. It has seen it later than it was written.
//!
//! So clocks may differ by any time, and run faster or slower than each other by less than what a
//! lease is longer than a term. The holder of a lease that was given back has ended its term before.

use std::time::Duration;

/// A moment by the candidate's own clock.
pub(super) type Time = Duration;

/// The shortest lease: a renewal needs time for its answer.
pub(in crate::controller) const SHORTEST: Duration = Duration::from_secs(2);
/// The longest lease; nobody waits longer for anybody.
pub(in crate::controller) const LONGEST: Duration = Duration::from_mins(1);
/// How often a candidate looks, at least: a lease that is given back is taken about as soon.
const LONGEST_POLL: Duration = Duration::from_millis(250);

/// How fast everything goes: all follows from the lease's duration.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    /// How long a candidate sees the lease unchanged before it takes it.
    pub(super) lease: Duration,
}

impl Pace {
    /// How long a leader may act after the last successful write was sent. The third that is left is
    /// for requests that the server has received and not yet carried out, and for clocks that run
    /// differently.
    pub(super) fn term(self) -> Duration {
        self.lease * 2 / 3
    }

    /// From one successful write to the next.
    fn renewal(self) -> Duration {
        self.lease / 5
    }

    /// How long an answer is waited for: a term has time for two attempts.
    pub(super) fn patience(self) -> Duration {
        self.lease * 3 / 10
    }

    /// From one look of a candidate to the next.
    fn poll(self) -> Duration {
        (self.lease / 20).min(LONGEST_POLL)
    }

    /// After something that went wrong while leading.
    fn pause(self) -> Duration {
        self.lease / 20
    }
}

/// Whose the lease is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Holder {
    /// Its holder's.
    Named(String),
    /// It was given back by its holder, which had stopped by then.
    Released,
    /// Nobody's, and nobody says why: somebody has edited it.
    Nobody,
}

/// The lease as it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Record {
    /// Another one after every write.
    pub(super) version: String,
    pub(super) holder: Holder,
    /// How long its holder asks the others to wait.
    pub(super) lease: Duration,
    /// How often it has changed hands.
    pub(super) transitions: i32,
}

/// What to write over what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Claim {
    /// There is no lease.
    Create,
    /// Over this one.
    Over(Record),
}

/// What to do next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Read the lease: [`Election::saw`], or [`Election::failed`].
    Read,
    /// Write that it is held from now on, or still: [`Election::wrote`], [`Election::conflicted`] or
    /// [`Election::failed`].
    Write(Claim),
    /// Nothing until then.
    Wait(Time),
    /// The term has ended. Nothing follows.
    Lost(Loss),
}

/// Why a term has ended.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(in crate::controller) enum Loss {
    /// No write of the lease was answered in time.
    #[error("it could not be renewed in time")]
    Late,
    /// It is somebody else's.
    #[error("it is held by {0} now")]
    Taken(String),
}

/// One candidate.
#[derive(Clone, Debug)]
pub(super) struct Election {
    me: String,
    pace: Pace,
    /// The lease as it was seen last (`None` within: it was not there), and since when it is so.
    seen: Option<(Option<Record>, Time)>,
    /// It was there at some time: somebody may hold what is gone now.
    existed: bool,
    /// When the last successful write was sent, while leading.
    renewed: Option<Time>,
    /// What is known of the lease is not what is there.
    outdated: bool,
    /// Nothing is done before.
    due: Time,
    loss: Option<Loss>,
}

impl Election {
    /// A candidate of that name, which nobody else has or ever had.
    pub(super) fn new(me: String, pace: Pace) -> Self {
        Self {
            me,
            pace,
            seen: None,
            existed: false,
            renewed: None,
            outdated: false,
            due: Time::ZERO,
            loss: None,
        }
    }

    /// When the term ends, unless it is renewed; `None`: it does not lead.
    pub(super) fn until(&self) -> Option<Time> {
        let renewed = self.renewed.filter(|_| self.loss.is_none())?;
        Some(renewed + self.pace.term())
    }

    /// The lease as it was seen last.
    pub(super) fn record(&self) -> Option<&Record> {
        self.seen.as_ref()?.0.as_ref()
    }

    /// What to do next.
    pub(super) fn next(&mut self, now: Time) -> Step {
        self.expire(now);
        if let Some(loss) = &self.loss {
            return Step::Lost(loss.clone());
        }
        if now < self.due {
            let until = self.until().unwrap_or(self.due);
            return Step::Wait(self.due.min(until));
        }
        let Some((record, since)) = &self.seen else {
            return Step::Read;
        };
        let is_free = now >= self.free_at(record.as_ref(), *since);
        if self.outdated || (self.renewed.is_none() && !is_free) {
            return Step::Read;
        }
        Step::Write(record.clone().map_or(Claim::Create, Claim::Over))
    }

    /// The lease was read just now; `None`: it is not there.
    pub(super) fn saw(&mut self, record: Option<Record>, now: Time) {
        self.expire(now);
        self.outdated = false;
        self.existed |= record.is_some();
        let version = |record: &Option<Record>| record.as_ref().map(|one| one.version.clone());
        let known = self.seen.take();
        let since = match known {
            Some((known, since)) if version(&known) == version(&record) => since,
            _ => now,
        };
        if self.renewed.is_some() {
            if let Some(Holder::Named(other)) = record.as_ref().map(|record| &record.holder)
                && *other != self.me
            {
                self.loss = Some(Loss::Taken(other.clone()));
            }
            self.due = now;
        } else {
            let free = self.free_at(record.as_ref(), since);
            self.due = free.min(now + self.pace.poll()).max(now);
        }
        self.seen = Some((record, since));
    }

    /// The write that was sent then has just been answered with this.
    pub(super) fn wrote(&mut self, sent: Time, record: Record, now: Time) {
        self.expire(now);
        self.existed = true;
        self.outdated = false;
        self.seen = Some((Some(record), now));
        // An answer that comes so late begins no term, and the lease is written again.
        let in_time = now < sent + self.pace.term();
        if self.loss.is_none() && in_time {
            self.renewed = Some(sent);
        }
        self.due = if in_time {
            sent + self.pace.renewal()
        } else {
            now
        };
    }

    /// The lease that was to be written is another one by now, or gone.
    pub(super) fn conflicted(&mut self, now: Time) {
        self.outdated = true;
        self.due = now;
    }

    /// There was no answer, or none that says anything of the lease. What was to be written may have
    /// been.
    pub(super) fn failed(&mut self, now: Time) {
        self.due = now
            + match self.renewed {
                Some(_) => self.pace.pause(),
                None => self.pace.renewal(),
            };
    }

    fn expire(&mut self, now: Time) {
        if self.until().is_some_and(|until| now >= until) {
            self.loss = Some(Loss::Late);
        }
    }

    /// When what has been so since then may be written by somebody who does not hold it.
    fn free_at(&self, record: Option<&Record>, since: Time) -> Time {
        match record.map(|record| (&record.holder, record.lease)) {
            None if self.existed => since + self.pace.lease,
            // Written by itself, in an answer that was lost.
            Some((Holder::Named(name), _)) if *name == self.me => since,
            None | Some((Holder::Released, _)) => since,
            Some((Holder::Named(_) | Holder::Nobody, lease)) => {
                since + self.pace.lease.max(lease.min(LONGEST))
            }
        }
    }
}

#[cfg(test)]
mod random;
#[cfg(test)]
mod tests;
