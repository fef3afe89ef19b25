//! Ctrl-C and its kin.

use std::io;

use rustix::process::Signal as Number;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// The signals that ask mxjob to stop.
#[derive(Debug)]
pub(super) struct Interrupts {
    int: Option<Signal>,
    term: Option<Signal>,
    hang_up: Option<Signal>,
}

impl Interrupts {
    /// From now on these signals do not end the process by themselves. One that whoever started
    /// mxjob has it ignore (`nohup`, a script's background job) stays ignored.
    pub(super) fn listen() -> io::Result<Self> {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let listen = |number: Number| {
            let kind = SignalKind::from_raw(number.as_raw());
            if is_ignored(&status, number) {
                Ok(None)
            } else {
                signal(kind).map(Some)
            }
        };
        Ok(Self {
            int: listen(Number::INT)?,
            term: listen(Number::TERM)?,
            hang_up: listen(Number::HUP)?,
        })
    }

    /// Waits for the next one and gives its name, as a person knows it.
    pub(super) async fn next(&mut self) -> &'static str {
        tokio::select! {
            () = one(&mut self.int) => "Ctrl-C",
            () = one(&mut self.term) => "SIGTERM",
            () = one(&mut self.hang_up) => "SIGHUP",
        }
    }
}

async fn one(signal: &mut Option<Signal>) {
    if let Some(signal) = signal
        && signal.recv().await.is_some()
    {
        return;
    }
    std::future::pending::<()>().await;
}

/// True when the mask `SigIgn` of a `/proc/…/status` has the signal's bit.
fn is_ignored(status: &str, number: Number) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask
        .and_then(|digits| u64::from_str_radix(digits.trim(), 16).ok())
        .unwrap_or(0);
    mask >> (number.as_raw() - 1) & 1 == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_mask_of_ignored_signals() {
        let nohup = "Name:\tmxjob\nSigIgn:\t0000000000001001\n";
        assert!(is_ignored(nohup, Number::HUP));
        assert!(!is_ignored(nohup, Number::INT) && !is_ignored("", Number::HUP));
    }
}
