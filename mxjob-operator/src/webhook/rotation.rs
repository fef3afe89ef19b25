//! Which certificate is shown, what is to be kept of it, and whom the apiserver has to trust for it now
//! and next. It does no I/O and knows no clock.
//!
//! What is kept is the current certificate and, towards its end, the next one. The next one is kept
//! before its CA is trusted, its CA is trusted before it becomes the current one, and nobody shows a
//! certificate whose CA is not trusted as long as what he shows is good. So it does not matter which of
//! several operators takes a step, nor when the others learn of it.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tokio::time::Instant;

use super::identity::{Flaw, Identity, IdentityError, Served};

/// Every apiserver of a cluster has read a change of the definition after that.
const SETTLED: Duration = Duration::from_mins(1);
/// How often all is looked at, and what could not be written is tried again. Nor is anything written
/// more often: two operators that are reached by different ways would never stop.
const TURN: Duration = Duration::from_secs(10);

/// How fast it goes: as slow as it may, but for certificates that hardly live.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    pub(super) lifetime: Duration,
}

impl Pace {
    fn settled(self) -> Duration {
        SETTLED.min(self.lifetime / 10)
    }

    pub(super) fn turn(self) -> Duration {
        TURN.min(self.lifetime / 50)
    }

    /// Before its end a certificate is renewed: an apiserver that cannot be told has that long.
    fn rest(self) -> Duration {
        self.lifetime / 3
    }
}

/// What is kept.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Contents {
    pub(super) current: Result<Identity, Flaw>,
    pub(super) next: Option<Result<Identity, Flaw>>,
    /// Somebody wants another certificate now.
    pub(super) asked: bool,
}

impl Default for Contents {
    fn default() -> Self {
        Self {
            current: Err(Flaw::Nothing),
            next: None,
            asked: false,
        }
    }
}

impl Contents {
    fn of(current: Identity, next: Option<Identity>) -> Self {
        Self {
            current: Ok(current),
            next: next.map(Ok),
            asked: false,
        }
    }
}

/// Why what is kept is to change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Why {
    /// It is time for the next certificate.
    Due,
    /// The next one is trusted, and becomes the current one.
    Trusted,
    /// There is nothing that can be used.
    Broken(Flaw),
    /// There is, and beside it a next one that cannot.
    BrokenNext(Flaw),
}

/// The certificate and, towards its end, the next one.
#[derive(Debug)]
pub(super) struct Rotation {
    names: Vec<String>,
    pace: Pace,
    served: Arc<Served>,
    shown: Option<Identity>,
    kept: Contents,
    trusted: Vec<(String, Instant)>,
}

impl Rotation {
    pub(super) fn new(names: Vec<String>, pace: Pace) -> Self {
        Self {
            names,
            pace,
            served: Arc::default(),
            shown: None,
            kept: Contents::default(),
            trusted: Vec::new(),
        }
    }

    /// What new connections are shown.
    pub(super) fn served(&self) -> Arc<Served> {
        self.served.clone()
    }

    pub(super) fn pace(&self) -> Pace {
        self.pace
    }

    /// Whether anything is shown.
    pub(super) fn shows(&self) -> bool {
        self.shown.is_some()
    }

    /// The CAs that have to be trusted, the newest last.
    pub(super) fn authorities(&self) -> Vec<&str> {
        let next = self.kept.next.iter();
        let kept = [&self.kept.current].into_iter().chain(next);
        let all = self.shown.iter().chain(kept.flatten());
        let mut authorities: Vec<&str> = Vec::new();
        for authority in all.flat_map(Identity::authorities) {
            if !authorities.contains(&authority) {
                authorities.push(authority);
            }
        }
        authorities
    }

    /// These CAs are trusted, and no others. What else is to come holds up none of them.
    pub(super) fn trusted(&mut self, authorities: &[&str], at: Instant) {
        let since = |one: &&str| {
            let known = self.trusted.iter().find(|(other, _)| other == one);
            ((*one).to_owned(), known.map_or(at, |(_, since)| *since))
        };
        self.trusted = authorities.iter().map(since).collect();
    }

    /// Every apiserver knows its CAs.
    fn is_settled(&self, identity: &Identity, at: Instant) -> bool {
        identity.authorities().all(|one| {
            let since = self.trusted.iter().find(|(other, _)| other == one);
            since.is_some_and(|(_, since)| at >= *since + self.pace.settled())
        })
    }

    /// Whether it can be shown.
    pub(super) fn check(&self, identity: &Identity, now: SystemTime) -> Result<(), Flaw> {
        identity.check(&self.names, now)
    }

    fn good<'a>(
        &self,
        kept: &'a Result<Identity, Flaw>,
        now: SystemTime,
    ) -> Result<&'a Identity, Flaw> {
        let identity = kept.as_ref().map_err(Clone::clone)?;
        self.check(identity, now)?;
        Ok(identity)
    }

    fn is_due(&self, identity: &Identity, now: SystemTime) -> bool {
        self.check(identity, now + self.pace.rest()).is_err()
    }

    fn make(&self, now: SystemTime) -> Result<Identity, IdentityError> {
        Identity::new(&self.names, self.pace.lifetime, now)
    }

    /// What should be kept instead of this, and why; `None`: this.
    pub(super) fn step(
        &self,
        kept: &Contents,
        (now, at): (SystemTime, Instant),
    ) -> Result<Option<(Contents, Why)>, IdentityError> {
        let next = kept.next.as_ref().map(|next| self.good(next, now));
        Ok(match (self.good(&kept.current, now), next) {
            (Ok(current), None | Some(Err(_))) if kept.asked || self.is_due(current, now) => {
                let contents = Contents::of(current.clone(), Some(self.make(now)?));
                Some((contents, Why::Due))
            }
            (Ok(_), None) => None,
            (Ok(current), Some(Err(flaw))) => {
                let contents = Contents::of(current.clone(), None);
                Some((contents, Why::BrokenNext(flaw)))
            }
            (Ok(_), Some(Ok(next))) => self
                .is_settled(next, at)
                .then(|| (Contents::of(next.clone(), None), Why::Trusted)),
            (Err(flaw), Some(Ok(next))) => {
                Some((Contents::of(next.clone(), None), Why::Broken(flaw)))
            }
            (Err(flaw), _) => {
                // What is shown is trusted already.
                let shown = self.shown.as_ref().filter(|shown| {
                    !kept.asked && self.check(shown, now).is_ok() && !self.is_due(shown, now)
                });
                let current = shown.cloned().map_or_else(|| self.make(now), Ok)?;
                Some((Contents::of(current, None), Why::Broken(flaw)))
            }
        })
    }

    /// The same of what this operator keeps for itself, where it can keep it nowhere else.
    pub(super) fn step_alone(
        &mut self,
        (now, at): (SystemTime, Instant),
    ) -> Result<(), IdentityError> {
        if let Some((contents, _)) = self.step(&self.kept, (now, at))? {
            self.kept = contents;
        }
        Ok(())
    }

    /// This is kept, for all operators.
    pub(super) fn learn(&mut self, kept: Contents) {
        self.kept = kept;
    }

    /// Shows what is kept, as soon as it is trusted; at once, when nothing better is shown.
    pub(super) fn show(&mut self, (now, at): (SystemTime, Instant)) {
        let Ok(current) = self.good(&self.kept.current, now) else {
            return;
        };
        let renews = match &self.shown {
            Some(shown) if shown == current => return,
            Some(shown) if self.check(shown, now).is_ok() && !self.is_settled(current, at) => {
                return;
            }
            shown => shown.is_some(),
        };
        self.served.change(current);
        self.shown = Some(current.clone());
        if renews {
            tracing::info!("the webhook shows another certificate");
        }
    }
}
