//! A terminal for indicatif that collects what is drawn, so that a frame is one write that never
//! waits.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use indicatif::TermLike;

/// What was drawn since it was last taken.
#[derive(Clone, Debug, Default)]
pub(super) struct Paper(Arc<Mutex<String>>);

impl Paper {
    /// Takes what was drawn.
    pub(super) fn take(&self) -> String {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Adds text as it is.
    pub(super) fn add(&self, text: &str) {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push_str(text);
    }

    #[allow(clippy::unnecessary_wraps, reason = "the trait's methods can fail")]
    fn control(&self, count: usize, code: char) -> io::Result<()> {
        if count > 0 {
            self.add(&format!("\x1b[{count}{code}"));
        }
        Ok(())
    }
}

/// Columns kept free at the right edge: the terminal echoes `^C` there, and were it to start a new
/// line for it, the area above could not be found again.
const ECHO: u16 = 3;

/// Width and height of the terminal.
pub(crate) fn size() -> (u16, u16) {
    rustix::termios::tcgetwinsize(rustix::stdio::stdout())
        .ok()
        .filter(|size| size.ws_col > 0 && size.ws_row > 0)
        .map_or((80, 24), |size| (size.ws_col, size.ws_row))
}

impl TermLike for Paper {
    fn width(&self) -> u16 {
        size().0.saturating_sub(ECHO)
    }

    fn height(&self) -> u16 {
        size().1
    }

    fn move_cursor_up(&self, count: usize) -> io::Result<()> {
        self.control(count, 'A')
    }

    fn move_cursor_down(&self, count: usize) -> io::Result<()> {
        self.control(count, 'B')
    }

    fn move_cursor_right(&self, count: usize) -> io::Result<()> {
        self.control(count, 'C')
    }

    fn move_cursor_left(&self, count: usize) -> io::Result<()> {
        self.control(count, 'D')
    }

    fn write_line(&self, text: &str) -> io::Result<()> {
        self.add(text);
        self.add("\n");
        Ok(())
    }

    fn write_str(&self, text: &str) -> io::Result<()> {
        self.add(text);
        Ok(())
    }

    fn clear_line(&self) -> io::Result<()> {
        self.add("\r\x1b[2K");
        Ok(())
    }

    fn flush(&self) -> io::Result<()> {
        Ok(())
    }
}
