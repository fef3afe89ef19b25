//! What is said of a run while it goes on.

use mxjob_core::api::v1::JobStatus;
use mxjob_core::plan::{Event, EventKind};

use super::board::{Row, State};
use super::screen::Screen;
use super::{amounts, ending, status};

/// Says what the planner warns of. That the job has failed, `<Kind>Failed`, is said at the end.
pub(super) fn warnings(screen: &mut Screen, events: &[Event]) {
    let warning =
        |event: &&Event| event.kind == EventKind::Warning && !event.reason.ends_with("Failed");
    for event in events.iter().filter(warning) {
        screen.say(&event.message);
    }
}

/// Says that a job has come into another phase. How it ends is said with the table.
pub(super) fn phase(screen: &mut Screen, job: &str, before: &JobStatus, now: &JobStatus) {
    let phase = now.phase.as_deref().unwrap_or_default();
    if before.phase == now.phase || matches!(phase, "Created" | "Succeeded" | "Failed") {
        return;
    }
    let condition = now
        .conditions
        .iter()
        .find(|condition| condition.kind == phase);
    let message = condition.and_then(|condition| condition.message.as_deref());
    let words = screen.paint().tone(phase, status::phase_tone(phase));
    match message.filter(|_| phase == "Restarting") {
        Some(message) => screen.say(&format!("{job} is {words}: {message}")),
        // The status area shows it.
        None if screen.is_live() => {}
        None => screen.say(&format!(
            "{job} is {words} ({} ready)",
            now.ready.as_deref().unwrap_or("0")
        )),
    }
}

/// Says that a replica's process has ended; `taken`: its port, when somebody else now has it.
pub(super) fn end(screen: &mut Screen, row: &Row, taken: Option<u16>) {
    let name = &row.source.name;
    let time = amounts::time(row.time().unwrap_or_default());
    if row.state == State::Failed {
        let code = ending::code(row.code.unwrap_or_default());
        screen.say(&format!("{name} ended with exit code {code} after {time}"));
        if let Some(port) = taken {
            screen.say(&format!(
                "port {port}, which {name} was given, is in use by another program"
            ));
        }
    } else if !screen.is_live() {
        screen.say(&format!("{name} {} after {time}", row.state.name()));
    }
}
