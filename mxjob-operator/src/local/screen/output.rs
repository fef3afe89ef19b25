//! Writes to standard output or error without ever making the run wait for whoever reads it.

use std::os::fd::BorrowedFd;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

/// Bytes that a pipe which is ready for writing takes at once: POSIX's least `PIPE_BUF` on Linux.
const PIECE: usize = 4096;

/// Bytes waiting from which on replicas wait too, as they would in a shell's pipeline.
const FULL: usize = 256 * 1024;

/// A stream of bytes to a file, a pipe or a terminal.
#[derive(Debug)]
pub(crate) struct Output {
    to: BorrowedFd<'static>,
    waiting: Vec<u8>,
    closed: bool,
}

impl Output {
    /// Writes to `to`.
    pub(crate) fn new(to: BorrowedFd<'static>) -> Self {
        Self {
            to,
            waiting: Vec::new(),
            closed: false,
        }
    }

    /// Adds bytes to what waits.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        if !self.closed {
            self.waiting.extend_from_slice(bytes);
        }
    }

    /// Nobody reads any more.
    pub(crate) fn is_closed(&self) -> bool {
        self.closed
    }

    /// Something waits for the reader.
    pub(crate) fn is_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// So much waits that no more should be added.
    pub(crate) fn is_full(&self) -> bool {
        self.waiting.len() >= FULL
    }

    /// Writes what can be written without waiting.
    pub(crate) fn flush(&mut self) {
        self.write_for(&Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        });
    }

    /// Writes everything, waiting up to half a second for a reader that does not read.
    pub(crate) fn finish(&mut self) {
        self.write_for(&Timespec {
            tv_sec: 0,
            tv_nsec: 500_000_000,
        });
    }

    fn write_for(&mut self, wait: &Timespec) {
        let mut written = 0;
        while let Some(piece) = self
            .waiting
            .get(written..)
            .filter(|rest| !rest.is_empty() && !self.closed)
        {
            if !is_ready(self.to, wait) {
                break;
            }
            match rustix::io::write(self.to, piece.get(..PIECE).unwrap_or(piece)) {
                Ok(count) => written += count,
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => break,
                Err(_) => self.closed = true,
            }
        }
        if self.closed {
            self.waiting.clear();
        } else {
            self.waiting.drain(..written);
        }
    }
}

/// True when a write would be taken, or would fail at once.
fn is_ready(to: BorrowedFd<'_>, wait: &Timespec) -> bool {
    let mut polled = [PollFd::from_borrowed_fd(to, PollFlags::OUT)];
    !matches!(poll(&mut polled, Some(wait)), Ok(0) | Err(Errno::INTR))
}
