//! The status area: a line for the job, a line for each role.

use std::time::Duration;

use super::amounts;
use super::board::{Board, Row, State};
use super::screen::{Paint, Tone};

/// Replicas of a role that are shown one by one; of more there are only numbers.
const SHOWN: usize = 16;

/// The lines of the status area.
pub(super) fn lines(
    paint: Paint,
    job: &str,
    phase: &str,
    board: &Board,
    elapsed: Duration,
) -> Vec<String> {
    let turn = usize::try_from(elapsed.as_millis() / 100).unwrap_or(0);
    let running = board.rows.iter().filter(|row| row.state.is_alive()).count();
    let dot = paint.tone(&paint.dot().to_string(), Tone::Quiet);
    let head = format!(
        "{} {} {} {dot} {running}/{} running {dot} {}",
        paint.tone(&paint.spinner(turn).to_string(), Tone::Busy),
        paint.tone(job, Tone::Strong),
        paint.tone(phase, phase_tone(phase)),
        board.rows.len(),
        amounts::clock(elapsed),
    );
    let width = board.roles().map(|(name, _)| name.len()).max().unwrap_or(0);
    let role = |(name, rows): (&str, &[Row])| {
        let name = paint.tone(
            &format!("  {:<width$} ", name.to_ascii_lowercase()),
            Tone::Quiet,
        );
        name + &if rows.len() > SHOWN {
            numbers(paint, rows)
        } else {
            each(paint, rows)
        }
    };
    std::iter::once(head)
        .chain(board.roles().map(role))
        .collect()
}

/// What a job's phase means.
pub(super) fn phase_tone(phase: &str) -> Tone {
    match phase {
        "Succeeded" => Tone::Good,
        "Failed" | "Restarting" => Tone::Bad,
        _ => Tone::Busy,
    }
}

fn each(paint: Paint, rows: &[Row]) -> String {
    let one = |row: &Row| {
        let code = match (row.state, row.code) {
            (State::Failed, Some(code)) => format!(" ({code})"),
            _ => String::new(),
        };
        paint.tone(
            &format!(" {} {}{code}", sign(paint, row.state), row.replica.index),
            row.state.tone(),
        )
    };
    rows.iter().map(one).collect::<Vec<_>>().join(" ")
}

fn numbers(paint: Paint, rows: &[Row]) -> String {
    use State::{Failed, Running, Stopped, Stopping, Succeeded, Waiting};
    let count = |state: State| {
        let count = rows.iter().filter(|row| row.state == state).count();
        let text = format!(" {count} {}", state.name().to_ascii_lowercase());
        (count > 0).then(|| paint.tone(&text, state.tone()))
    };
    let all = [Running, Waiting, Stopping, Succeeded, Failed, Stopped];
    all.into_iter()
        .filter_map(count)
        .collect::<Vec<_>>()
        .join(",")
}

fn sign(paint: Paint, state: State) -> char {
    let (unicode, ascii) = match state {
        State::Waiting => ('○', '.'),
        State::Running => ('●', '*'),
        State::Stopping => ('◌', '-'),
        State::Succeeded => ('✔', '+'),
        State::Failed => ('✘', 'x'),
        State::Stopped => ('■', '-'),
    };
    if paint.has_signs() { unicode } else { ascii }
}
