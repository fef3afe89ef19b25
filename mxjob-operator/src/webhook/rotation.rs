//! Which certificate is served, and whom the apiserver has to trust for it now and next.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use super::identity::{Identity, IdentityError, Served};

/// Every apiserver of a cluster has read a change of the definition after that.
const SETTLED: Duration = Duration::from_mins(1);

/// The certificate and, towards its end, the next one.
#[derive(Debug)]
pub(super) struct Rotation {
    names: Vec<String>,
    served: Arc<Served>,
    current: Identity,
    next: Option<Next>,
}

/// A certificate that is not shown before its CA is trusted.
#[derive(Debug)]
struct Next {
    identity: Identity,
    trusted: Option<SystemTime>,
}

impl Rotation {
    pub(super) fn new(names: Vec<String>, now: SystemTime) -> Result<Self, IdentityError> {
        let current = Identity::new(&names, now)?;
        Ok(Self {
            names,
            served: Arc::new(Served::new(&current)),
            current,
            next: None,
        })
    }

    /// What is shown.
    pub(super) fn served(&self) -> Arc<Served> {
        self.served.clone()
    }

    /// The CAs that have to be trusted, the newest last.
    pub(super) fn authorities(&self) -> Vec<&str> {
        let next = self.next.as_ref().map(|next| &next.identity);
        let all = [&self.current].into_iter().chain(next);
        all.map(Identity::authority).collect()
    }

    /// All of [`Self::authorities`] are trusted.
    pub(super) fn trusted(&mut self, now: SystemTime) {
        if let Some(next) = &mut self.next {
            next.trusted.get_or_insert(now);
        }
    }

    /// Goes on: makes the next certificate in time, and shows it when it will be trusted.
    pub(super) fn turn(&mut self, now: SystemTime) -> Result<(), IdentityError> {
        let Some(next) = self.next.take() else {
            if self.current.is_due(now) {
                self.next = Some(Next {
                    identity: Identity::new(&self.names, now)?,
                    trusted: None,
                });
            }
            return Ok(());
        };
        let settled = next.trusted.is_some_and(|since| now >= since + SETTLED);
        if settled {
            self.served.change(&next.identity);
            self.current = next.identity;
            tracing::info!("the webhook's certificate is renewed");
        } else {
            self.next = Some(next);
        }
        Ok(())
    }
}
