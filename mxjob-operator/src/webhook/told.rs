//! What is said once, and when a watch counts as mended.

use std::time::Duration;

use tokio::time::Instant;

/// What was said of something, and has not become better since.
#[derive(Debug, Default)]
pub(super) struct Told(Option<String>);

impl Told {
    /// What is to be said now; whether it is news.
    pub(super) fn tell(&mut self, text: &str) -> bool {
        let is_news = self.0.as_deref() != Some(text);
        if is_news {
            self.0 = Some(text.to_owned());
        }
        is_news
    }

    /// It is well; whether there was something before.
    pub(super) fn end(&mut self) -> bool {
        self.0.take().is_some()
    }

    #[cfg(test)]
    pub(super) fn last(&self) -> Option<&str> {
        self.0.as_deref()
    }
}

/// A watch that works again says nothing before there is news. After so long without another failure it counts
/// as working: the longest rest between two attempts is a minute.
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
