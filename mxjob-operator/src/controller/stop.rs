//! When to stop: on SIGTERM or SIGINT in good order, on the second one at once.

use std::process;

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

/// Exit code of a process that was told twice to stop, as a shell reports SIGTERM.
const KILLED: i32 = 143;

/// Tells every part of the operator when to stop.
#[derive(Clone, Debug)]
pub(crate) struct Stop(watch::Receiver<bool>);

impl Stop {
    /// Follows this process's signals.
    pub(super) fn on_signals() -> std::io::Result<Self> {
        let mut terminate = signal(SignalKind::terminate())?;
        let mut interrupt = signal(SignalKind::interrupt())?;
        let (sender, receiver) = watch::channel(false);
        tokio::spawn(async move {
            let mut next =
                async || tokio::select! { _ = terminate.recv() => (), _ = interrupt.recv() => () };
            next().await;
            sender.send_replace(true);
            next().await;
            process::exit(KILLED);
        });
        Ok(Self(receiver))
    }

    /// It is time when this is sent `true`.
    pub(crate) fn by_hand() -> (watch::Sender<bool>, Self) {
        let (sender, receiver) = watch::channel(false);
        (sender, Self(receiver))
    }

    /// Whether it is time to stop.
    pub(crate) fn is_due(&self) -> bool {
        *self.0.borrow()
    }

    /// Waits until it is time to stop.
    pub(crate) async fn due(&self) {
        // An error means that the sender is gone with the runtime: time to stop as well.
        let _ = self.0.clone().wait_for(|stop| *stop).await;
    }
}
