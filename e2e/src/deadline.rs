//! Waiting for a thing to become true, by looking, with a deadline.

use std::fmt;
use std::time::{Duration, Instant};

use anyhow::Result;

/// How often [`until`] looks.
const PERIOD: Duration = Duration::from_millis(50);

/// What a look found.
#[derive(Debug)]
pub enum Seen<T> {
    /// The thing waited for.
    Done(T),
    /// Not yet; the text says what was there instead and ends up in the error.
    NotYet(String),
}

impl<T> From<Option<T>> for Seen<T> {
    fn from(found: Option<T>) -> Self {
        found.map_or_else(|| Self::NotYet("nothing there".to_owned()), Self::Done)
    }
}

impl From<bool> for Seen<()> {
    fn from(done: bool) -> Self {
        done.then_some(()).into()
    }
}

/// The error of [`until`] when the time is up.
#[derive(Debug)]
pub struct Expired {
    what: String,
    patience: Duration,
    instead: String,
}

impl fmt::Display for Expired {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            what,
            patience,
            instead,
        } = self;
        write!(f, "waited {patience:?} for {what}; last seen: {instead}")
    }
}

impl std::error::Error for Expired {}

/// Calls `look` every 50 ms until it is done, for at most `patience`.
///
/// `what` completes the sentence "waited 5s for …", the message of [`Expired`]. A look that
/// fails ends the wait; one for which an error is only an answer returns [`Seen::NotYet`].
pub async fn until<T, S, F>(
    what: &str,
    patience: Duration,
    mut look: impl FnMut() -> F,
) -> Result<T>
where
    S: Into<Seen<T>>,
    F: Future<Output = Result<S>>,
{
    let start = Instant::now();
    loop {
        match look().await?.into() {
            Seen::Done(found) => return Ok(found),
            Seen::NotYet(instead) if start.elapsed() >= patience => {
                let what = what.to_owned();
                return Err(Expired {
                    what,
                    patience,
                    instead,
                }
                .into());
            }
            Seen::NotYet(_) => tokio::time::sleep(PERIOD).await,
        }
    }
}
