//! What a person sees of a run: logs with the replica's name in front, and on a terminal a status
//! area below them.

mod live;
mod output;
mod paint;
mod paper;

use std::io::IsTerminal;

use live::Live;
use output::Output;
pub(super) use paint::{Paint, Tone};
pub(super) use paper::size;

/// Where a log line comes from.
#[derive(Clone, Debug)]
pub(super) struct Source {
    /// Name in front of the line.
    pub(super) name: String,
    /// Number among its kind; decides the colour.
    pub(super) number: usize,
}

/// Standard output for logs and results, standard error for what mxjob itself has to say; both are
/// one picture when both are the terminal.
#[derive(Debug)]
pub(super) struct Screen {
    out: Output,
    err: Output,
    live: Option<Live>,
    paint: Paint,
    margin: usize,
}

impl Screen {
    /// The screen of this process, with room for names of `margin` columns in front of log lines.
    pub(super) fn open(margin: usize) -> Self {
        let terminal = std::io::stdout().is_terminal();
        let able = std::env::var_os("TERM").is_some_and(|term| term != "dumb" && !term.is_empty());
        let live = terminal && able && std::io::stderr().is_terminal();
        Self {
            out: Output::new(rustix::stdio::stdout()),
            err: Output::new(rustix::stdio::stderr()),
            live: live.then(Live::new),
            paint: Paint::of_terminal(terminal),
            margin,
        }
    }

    /// How to colour what goes to standard output.
    pub(super) fn paint(&self) -> Paint {
        self.paint
    }

    /// There is a status area.
    pub(super) fn is_live(&self) -> bool {
        self.live.is_some()
    }

    /// Shows lines of a replica.
    pub(super) fn log(&mut self, source: &Source, lines: &[String]) {
        let prefix = format!(
            "{:<width$} {} ",
            source.name,
            self.paint.bar(),
            width = self.margin
        );
        let prefix = self.paint.source(&prefix, source.number);
        let mut text = String::new();
        for line in lines {
            text.push_str(&prefix);
            let line = if self.live.is_some() {
                paint::tame(line)
            } else {
                line.into()
            };
            text.push_str(&line);
            text.push('\n');
        }
        self.put(&text);
    }

    /// Says something about the run.
    pub(super) fn say(&mut self, text: &str) {
        if self.live.is_some() {
            let prefix = format!(
                "{:<width$} {} ",
                "mxjob",
                self.paint.bar(),
                width = self.margin
            );
            let line = format!("{}{text}\n", self.paint.tone(&prefix, Tone::Strong));
            self.put(&line);
        } else {
            self.err.push(format!("mxjob: {text}\n").as_bytes());
            self.err.flush();
        }
    }

    /// Shows this in the status area, if there is one. Nobody misses a picture that comes while an
    /// earlier one waits for a terminal that was stopped (Ctrl-S).
    pub(super) fn show(&mut self, status: &[String]) {
        if self.out.is_waiting() && !status.is_empty() {
            return;
        }
        if let Some(live) = &mut self.live {
            live.show(status);
            self.out.push(live.take().as_bytes());
            self.out.flush();
        }
    }

    /// Adds text above the status area.
    pub(super) fn put(&mut self, text: &str) {
        match &self.live {
            Some(live) => {
                live.print(text);
                self.out.push(live.take().as_bytes());
            }
            None => self.out.push(text.as_bytes()),
        }
        self.out.flush();
    }

    /// Says last words on standard error, after everything else.
    pub(super) fn last_words(&mut self, text: &str) {
        self.show(&[]);
        self.out.finish();
        self.err.push(text.as_bytes());
        self.err.finish();
    }

    /// Writes what waits, as far as it is taken.
    pub(super) fn flush(&mut self) {
        self.out.flush();
        self.err.flush();
    }

    /// Something waits for whoever reads it.
    pub(super) fn is_waiting(&self) -> bool {
        self.out.is_waiting() || self.err.is_waiting()
    }

    /// So much waits that replicas should wait too.
    pub(super) fn is_full(&self) -> bool {
        self.out.is_full() || self.err.is_full()
    }

    /// Nobody reads standard output any more.
    pub(super) fn is_closed(&self) -> bool {
        self.out.is_closed()
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        self.show(&[]);
        self.out.finish();
        self.err.finish();
    }
}
