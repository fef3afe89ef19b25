//! The end of a run: the table, and in a few words what became of the job.

use std::time::Duration;

use comfy_table::{Attribute, Cell, CellAlignment, Color, Table, presets};
use mxjob_core::api::v1::{ConditionType, JobStatus};

use super::amounts;
use super::board::{Board, Row, State};
use super::screen::{Paint, Tone};

/// What became of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    /// The job succeeded.
    Succeeded,
    /// The job failed.
    Failed,
    /// Somebody stopped it: the signal's name.
    Interrupted(&'static str),
    /// Nobody reads the output any more.
    Unread,
}

impl Ending {
    /// The exit code: 0 succeeded, 1 failed, 130 interrupted.
    pub(super) const fn code(&self) -> u8 {
        match self {
            Self::Succeeded => 0,
            Self::Failed => 1,
            Self::Interrupted(_) | Self::Unread => 130,
        }
    }
}

/// The table of all replicas.
pub(super) fn table(board: &Board, paint: Paint) -> String {
    let mut table = Table::new();
    table.load_style(if paint.has_signs() {
        presets::UTF8_FULL_CONDENSED
    } else {
        presets::ASCII_FULL_CONDENSED
    });
    if paint.has_colours() {
        table.enforce_styling()
    } else {
        table.force_no_tty()
    };
    let header = [
        "replica",
        "state",
        "exit code",
        "restarts",
        "time",
        "peak memory",
    ];
    table.set_header(header.map(|title| Cell::new(title).add_attribute(Attribute::Bold)));
    for row in &board.rows {
        table.add_row(cells(row));
    }
    for column in table.column_iter_mut().skip(2) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    format!("{table}\n")
}

fn cells(row: &Row) -> Vec<Cell> {
    let state = Cell::new(row.state.name());
    let state = match row.state {
        State::Succeeded => state.fg(Color::DarkGreen),
        State::Failed => state.fg(Color::DarkRed),
        _ => state,
    };
    let or_dash = |text: Option<String>| Cell::new(text.unwrap_or_else(|| "-".to_owned()));
    vec![
        Cell::new(&row.source.name),
        state,
        or_dash(row.code.map(|code| code.to_string())),
        Cell::new(row.starts.saturating_sub(1)),
        or_dash(row.time().map(amounts::time)),
        or_dash(row.peak.map(amounts::size)),
    ]
}

/// The last words: how it ended and, when it failed, why.
pub(super) fn last_words(
    ending: &Ending,
    job: &str,
    status: &JobStatus,
    board: &Board,
    time: Duration,
    paint: Paint,
) -> String {
    let time = amounts::time(time);
    match ending {
        Ending::Succeeded => format!("{job} {} in {time}\n", paint.tone("Succeeded", Tone::Good)),
        Ending::Interrupted(signal) => format!("{job} was interrupted by {signal} after {time}\n"),
        Ending::Unread => String::new(),
        Ending::Failed => {
            let message = status
                .condition(ConditionType::Failed)
                .and_then(|condition| condition.message.as_deref());
            let message = message.unwrap_or("no reason is known");
            let blame = board
                .culprit()
                .map(|row| blame(row, paint))
                .unwrap_or_default();
            format!(
                "{job} {} after {time}: {message}\n{blame}",
                paint.tone("Failed", Tone::Bad)
            )
        }
    }
}

fn blame(row: &Row, paint: Paint) -> String {
    let name = &row.source.name;
    let code = row.code.map(code).unwrap_or_default();
    if row.last_lines.is_empty() {
        return format!("{name} ended with exit code {code} and had printed nothing\n");
    }
    let mut text = format!("{name} ended with exit code {code}; it last printed:\n");
    for line in &row.last_lines {
        text.push_str(&paint.tone(&format!("  {line}"), Tone::Quiet));
        text.push('\n');
    }
    text
}

/// An exit code, with the signal's name when one ended the process.
pub(super) fn code(code: i32) -> String {
    let name = match code - 128 {
        1 => "SIGHUP",
        2 => "SIGINT",
        3 => "SIGQUIT",
        4 => "SIGILL",
        6 => "SIGABRT",
        7 => "SIGBUS",
        8 => "SIGFPE",
        9 => "SIGKILL",
        11 => "SIGSEGV",
        13 => "SIGPIPE",
        15 => "SIGTERM",
        _ => return code.to_string(),
    };
    format!("{code} ({name})")
}
