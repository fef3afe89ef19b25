//! How every replica is doing: what the status area and the table in the end are made of.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use mxjob_core::job::{Replica, Spec};
use mxjob_core::role::RoleTable;
use mxjob_core::wiring::names;

use super::screen::{Source, Tone};

/// Lines that are kept of what a replica printed, to be shown again when it is to blame.
const KEPT: usize = 10;

/// How a replica is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Not started.
    Waiting,
    /// Its process runs.
    Running,
    /// Its process runs and has been asked to end.
    Stopping,
    /// It ended with exit code 0.
    Succeeded,
    /// It ended otherwise.
    Failed,
    /// It was ended because the job was over, or was to start again.
    Stopped,
}

impl State {
    /// The name as people read it.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Waiting => "Waiting",
            Self::Running => "Running",
            Self::Stopping => "Stopping",
            Self::Succeeded => "Succeeded",
            Self::Failed => "Failed",
            Self::Stopped => "Stopped",
        }
    }

    /// Its process runs.
    pub(super) const fn is_alive(self) -> bool {
        matches!(self, Self::Running | Self::Stopping)
    }

    /// What it means.
    pub(super) const fn tone(self) -> Tone {
        match self {
            Self::Waiting | Self::Stopped => Tone::Quiet,
            Self::Running | Self::Stopping => Tone::Busy,
            Self::Succeeded => Tone::Good,
            Self::Failed => Tone::Bad,
        }
    }
}

/// One replica.
#[derive(Debug)]
pub(super) struct Row {
    /// Which one.
    pub(super) replica: Replica,
    /// Its name, and its number among all.
    pub(super) source: Source,
    /// How it is doing.
    pub(super) state: State,
    /// The exit code of its last process.
    pub(super) code: Option<i32>,
    /// Processes started.
    pub(super) starts: u32,
    /// Most memory seen, in bytes.
    pub(super) peak: Option<u64>,
    /// What it printed last.
    pub(super) last_lines: VecDeque<String>,
    began: Option<Instant>,
    pub(super) ended: Option<Instant>,
}

impl Row {
    /// A process of it was started.
    pub(super) fn start(&mut self) {
        self.state = State::Running;
        self.code = None;
        self.starts += 1;
        self.last_lines.clear();
        self.began = Some(Instant::now());
        self.ended = None;
    }

    /// Its process ended.
    pub(super) fn end(&mut self, code: i32) {
        self.state = match (self.state, code) {
            (State::Stopping, _) => State::Stopped,
            (_, 0) => State::Succeeded,
            _ => State::Failed,
        };
        self.code = Some(code);
        self.ended = Some(Instant::now());
    }

    /// Takes note of what it printed.
    pub(super) fn remember(&mut self, lines: &[String]) {
        for line in lines
            .iter()
            .rev()
            .take(KEPT)
            .rev()
            .filter(|line| !line.trim().is_empty())
        {
            if self.last_lines.len() == KEPT {
                self.last_lines.pop_front();
            }
            self.last_lines.push_back(line.clone());
        }
    }

    /// How long its last process ran, or has been running.
    pub(super) fn time(&self) -> Option<Duration> {
        let began = self.began?;
        Some(
            self.ended
                .unwrap_or_else(Instant::now)
                .duration_since(began),
        )
    }
}

/// All replicas, role by role.
#[derive(Debug)]
pub(super) struct Board {
    /// One for each replica.
    pub(super) rows: Vec<Row>,
    table: &'static RoleTable,
}

impl Board {
    /// The replicas that a job wants.
    pub(super) fn new(table: &'static RoleTable, spec: &Spec) -> Self {
        let row = |(number, replica)| Row {
            replica,
            source: Source {
                name: names::short(table, replica),
                number,
            },
            state: State::Waiting,
            code: None,
            starts: 0,
            peak: None,
            last_lines: VecDeque::new(),
            began: None,
            ended: None,
        };
        Self {
            rows: spec.replicas().enumerate().map(row).collect(),
            table,
        }
    }

    /// The row of a replica.
    pub(super) fn row(&mut self, replica: Replica) -> Option<&mut Row> {
        self.rows.iter_mut().find(|row| row.replica == replica)
    }

    /// The name of a replica, as people read it.
    pub(super) fn name(&self, replica: Replica) -> String {
        names::short(self.table, replica)
    }

    /// Columns of the longest name.
    pub(super) fn margin(&self) -> usize {
        self.rows
            .iter()
            .map(|row| row.source.name.len())
            .chain([5])
            .max()
            .unwrap_or(5)
    }

    /// The rows of each role, with its name.
    pub(super) fn roles(&self) -> impl Iterator<Item = (&'static str, &[Row])> {
        let roles = self
            .rows
            .chunk_by(|one, other| one.replica.role == other.replica.role);
        roles.filter_map(|rows| Some((self.table.role(rows.first()?.replica.role).name, rows)))
    }

    /// The replica that failed first in this life of the job.
    pub(super) fn culprit(&self) -> Option<&Row> {
        self.rows
            .iter()
            .filter(|row| row.state == State::Failed)
            .min_by_key(|row| row.ended)
    }
}
