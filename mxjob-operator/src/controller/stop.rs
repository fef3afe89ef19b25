//! When to stop: on SIGTERM or SIGINT in good order, on the second one at once.

use std::process;
use std::time::Duration;

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;
use tokio::time::timeout;

/// Exit code of a process that was told twice to stop, as a shell reports SIGTERM.
const KILLED: i32 = 143;

/// Why to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Why {
    /// Somebody has said so, who knows.
    Told,
    /// It cannot go on; nobody knows yet.
    Fails,
}

/// Tells every part of the operator when to stop.
#[derive(Clone, Debug)]
pub(crate) struct Stop(watch::Receiver<Option<Why>>);

impl Stop {
    /// Follows this process's signals, and what is sent.
    pub(super) fn on_signals() -> std::io::Result<(watch::Sender<Option<Why>>, Self)> {
        let mut terminate = signal(SignalKind::terminate())?;
        let mut interrupt = signal(SignalKind::interrupt())?;
        let (sender, stop) = Self::by_hand();
        let teller = sender.clone();
        tokio::spawn(async move {
            let mut next =
                async || tokio::select! { _ = terminate.recv() => (), _ = interrupt.recv() => () };
            next().await;
            teller.send_replace(Some(Why::Told));
            next().await;
            process::exit(KILLED);
        });
        Ok((sender, stop))
    }

    /// It is time when a reason is sent.
    pub(crate) fn by_hand() -> (watch::Sender<Option<Why>>, Self) {
        let (sender, receiver) = watch::channel(None);
        (sender, Self(receiver))
    }

    /// Whether it is time to stop.
    pub(crate) fn is_due(&self) -> bool {
        self.0.borrow().is_some()
    }

    /// Waits until it is time to stop.
    pub(crate) async fn due(&self) {
        self.reaches(Option::is_some).await;
    }

    /// Waits until it is, and until those know who send others here: who has told it so, or, of one that
    /// fails, everybody after so long.
    pub(crate) async fn known(&self, unnoticed: Duration) {
        self.due().await;
        let told = self.reaches(|why| *why != Some(Why::Fails));
        let _ = timeout(unnoticed, told).await;
    }

    async fn reaches(&self, what: impl FnMut(&Option<Why>) -> bool) {
        // An error means that the sender is gone with the runtime: time to stop as well.
        let _ = self.0.clone().wait_for(what).await;
    }
}
