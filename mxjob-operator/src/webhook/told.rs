//! What is said once, and when a watch counts as mended.

use std::time::Duration;

use tokio::time::Instant;

/// What was said of something, and has not become better since.
#[derive(Debug, Default)]
pub(super) struct Told(Option<String>);

impl Told {
    /// Whether it is to be said: not what was said last already.
    pub(super) fn is_news(&mut self, text: &str) -> bool {
        let is_news = self.0.as_deref() != Some(text);
        if is_news {
            self.0 = Some(text.to_owned());
        }
        is_news
    }

    /// Whether there was something that is over now.
    pub(super) fn is_over(&mut self) -> bool {
        self.0.take().is_some()
    }

    #[cfg(test)]
    pub(super) fn last(&self) -> Option<&str> {
        self.0.as_deref()
    }
}

/// A watch that has failed and goes on says nothing until there is news. After so long without another
/// failure it goes on: the longest rest between two attempts is a minute.
pub(super) const MENDED: Duration = Duration::from_mins(3);

/// Whether a watch works.
#[derive(Debug, Default)]
pub(super) struct Watch {
    failed: Option<Instant>,
}

impl Watch {
    pub(super) fn fails(&mut self) {
        self.failed = Some(Instant::now());
    }

    pub(super) fn has_news(&mut self) {
        self.failed = None;
    }

    pub(super) fn works(&self) -> bool {
        self.failed.is_none_or(|at| at.elapsed() >= MENDED)
    }
}
