//! When to stop: on SIGTERM or SIGINT in good order, on the second one at once.

use std::process;

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

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
        self.why().await;
    }

    /// Waits until it is, and tells why.
    pub(crate) async fn why(&self) -> Why {
        let mut told = self.0.clone();
        let told = told.wait_for(Option::is_some).await;
        // An error means that the sender is gone with the runtime: time to stop as well.
        told.ok().and_then(|why| *why).unwrap_or(Why::Told)
    }
}
