//! The running replicas: started, listened to, stopped and reaped.

use std::collections::BTreeMap;
use std::io;
use std::time::{Duration, Instant};

use mxjob_core::job::Replica;
use rustix::process::{Pid, Signal};
use tokio::sync::mpsc;

use super::guard::Guard;
use super::lines;
use super::process::{self, Launch, Process};

/// Batches of lines on their way to the screen. When it is slow, replicas wait in their writes.
const BATCHES: usize = 64;

/// How long the last words of a replica are waited for when something else holds its output open.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// Number of a start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Id(u64);

/// Something that happened in the crew.
#[derive(Debug)]
pub(super) enum Heard {
    /// It printed lines.
    Lines(Id, Vec<String>),
    /// One of its two streams has ended.
    Silent(Id),
    /// Its process has ended and is to be reaped.
    Ended(Id),
}

/// A running replica.
#[derive(Debug)]
pub(super) struct Member {
    /// Uid of its pod.
    pub(super) uid: String,
    /// Which one it is.
    pub(super) replica: Replica,
    process: Process,
    grace: Duration,
    kill_at: Option<Instant>,
    open_streams: u8,
    ended: Option<Ended>,
}

#[derive(Clone, Copy, Debug)]
struct Ended {
    code: i32,
    listen_until: Instant,
}

impl Member {
    /// The process.
    pub(super) fn id(&self) -> Pid {
        self.process.id()
    }

    /// It has been asked to end.
    pub(super) fn is_stopping(&self) -> bool {
        self.kill_at.is_some()
    }
}

/// All running replicas, and what is heard of them.
#[derive(Debug)]
pub(super) struct Crew {
    members: BTreeMap<Id, Member>,
    starts: u64,
    to_lines: mpsc::Sender<Heard>,
    lines: mpsc::Receiver<Heard>,
    to_ends: mpsc::UnboundedSender<Id>,
    ends: mpsc::UnboundedReceiver<Id>,
}

impl Crew {
    /// Nobody yet.
    pub(super) fn new() -> Self {
        let (to_lines, lines) = mpsc::channel(BATCHES);
        let (to_ends, ends) = mpsc::unbounded_channel();
        Self {
            members: BTreeMap::new(),
            starts: 0,
            to_lines,
            lines,
            to_ends,
            ends,
        }
    }

    /// Starts a replica; `grace` is the time that it gets to end by itself when it is stopped.
    pub(super) fn start(
        &mut self,
        uid: String,
        replica: Replica,
        launch: &Launch,
        grace: Duration,
        guard: &Guard,
    ) -> io::Result<()> {
        let (process, streams) = Process::start(launch, guard)?;
        self.starts += 1;
        let id = Id(self.starts);
        for stream in [streams.out, streams.err] {
            let to = self.to_lines.clone();
            tokio::spawn(async move {
                lines::pump(stream, to.clone(), |lines| Heard::Lines(id, lines)).await;
                let _ = to.send(Heard::Silent(id)).await;
            });
        }
        let (end, to) = (process::ended(process.id()), self.to_ends.clone());
        tokio::spawn(async move {
            end.await;
            let _ = to.send(id);
        });
        let member = Member {
            uid,
            replica,
            process,
            grace,
            kill_at: None,
            open_streams: 2,
            ended: None,
        };
        self.members.insert(id, member);
        Ok(())
    }

    /// Nobody is left.
    pub(super) fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// Those who run.
    pub(super) fn running(&self) -> impl Iterator<Item = &Member> {
        self.members
            .values()
            .filter(|member| member.ended.is_none())
    }

    /// The replica of a start.
    pub(super) fn replica(&self, id: Id) -> Option<Replica> {
        self.members.get(&id).map(|member| member.replica)
    }

    /// Asks those who are chosen to end; gives those who were not asked before.
    pub(super) fn stop(&mut self, chosen: impl Fn(&Member) -> bool) -> Vec<Replica> {
        let now = Instant::now();
        let asked = self
            .members
            .values_mut()
            .filter(|member| member.ended.is_none() && !member.is_stopping() && chosen(member));
        let ask = |member: &mut Member| {
            member.process.signal(Signal::TERM);
            member.kill_at = Some(now + member.grace);
            member.replica
        };
        asked.map(ask).collect()
    }

    /// Kills everybody at once.
    pub(super) fn kill(&mut self) {
        for member in self.members.values_mut() {
            member.process.signal(Signal::KILL);
        }
    }

    /// Kills those who were asked to end and did not in time; gives them with the time they had.
    pub(super) fn kill_overdue(&mut self) -> Vec<(Replica, Duration)> {
        let now = Instant::now();
        let overdue = |member: &&mut Member| {
            member.ended.is_none() && member.kill_at.is_some_and(|at| at <= now)
        };
        let kill = |member: &mut Member| {
            member.process.signal(Signal::KILL);
            // Once is enough: nothing ignores it.
            member.kill_at = now.checked_add(Duration::from_hours(1));
            (member.replica, member.grace)
        };
        self.members
            .values_mut()
            .filter(overdue)
            .map(kill)
            .collect()
    }

    /// What is heard next; of what replicas print only when `listening`.
    pub(super) async fn hear(&mut self, listening: bool) -> Option<Heard> {
        tokio::select! {
            biased;
            Some(id) = self.ends.recv() => Some(Heard::Ended(id)),
            heard = self.lines.recv(), if listening => heard,
        }
    }

    /// What replicas have printed already.
    pub(super) fn hear_now(&mut self) -> Option<Heard> {
        self.lines.try_recv().ok()
    }

    /// Reaps a process that has ended.
    pub(super) fn reap(&mut self, id: Id, guard: &Guard) {
        if let Some(member) = self.members.get_mut(&id) {
            let code = member.process.finish(guard).map_or(255, process::exit_code);
            member.ended = Some(Ended {
                code,
                listen_until: Instant::now() + LAST_WORDS,
            });
        }
    }

    /// One of its streams has ended.
    pub(super) fn silent(&mut self, id: Id) {
        if let Some(member) = self.members.get_mut(&id) {
            member.open_streams = member.open_streams.saturating_sub(1);
        }
    }

    /// Lets go of one that has ended and said its last words; gives it with its exit code.
    pub(super) fn dismiss(&mut self) -> Option<(Member, i32)> {
        let now = Instant::now();
        let done = self.members.iter().find_map(|(id, member)| {
            let ended = member
                .ended
                .filter(|ended| member.open_streams == 0 || ended.listen_until <= now)?;
            Some((*id, ended.code))
        });
        let (id, code) = done?;
        Some((self.members.remove(&id)?, code))
    }

    /// When [`Crew::kill_overdue`] or [`Crew::dismiss`] should be called although nothing is heard.
    pub(super) fn next_deadline(&self) -> Option<Instant> {
        let of = |member: &Member| match &member.ended {
            Some(ended) => Some(ended.listen_until),
            None => member.kill_at,
        };
        self.members.values().filter_map(of).min()
    }
}
