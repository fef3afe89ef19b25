//! A run: the model cluster says what is to be started and stopped, the crew does it and reports.

use std::time::{Duration, Instant};

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;
use mxjob_core::api::v1::{ConditionType, JobStatus};
use mxjob_core::job::Replica;
use mxjob_core::model::{Cluster, Report, Work};
use mxjob_core::plan::Event;

use super::board::{Board, State};
use super::crew::{Crew, Heard, Id};
use super::ending::{self, Ending};
use super::error::RunError;
use super::guard::Guard;
use super::interrupt::Interrupts;
use super::screen::{Screen, Tone};
use super::setup::Setup;
use super::{amounts, memory, narration, orphans, ports, status};

/// Time between SIGTERM and SIGKILL for pods that do not say. A cluster's 30 s are long to look at.
const GRACE: Duration = Duration::from_secs(5);

/// Between two pictures of the status area.
const FRAME: Duration = Duration::from_millis(100);

/// Between two tries to write to somebody who does not read.
const RETRY: Duration = Duration::from_millis(20);

/// Longest time between two looks at the memory; the first come sooner.
const SAMPLE: Duration = Duration::from_millis(500);

/// A run.
#[derive(Debug)]
pub(super) struct Session<'a> {
    setup: &'a Setup,
    cluster: Cluster,
    screen: &'a mut Screen,
    guard: &'a Guard,
    crew: Crew,
    board: Board,
    status: JobStatus,
    began: Instant,
    stopped: Option<Ending>,
    sample_at: Instant,
    sample_after: Duration,
    frame_at: Instant,
}

impl<'a> Session<'a> {
    /// A run of what is set up; the job's time begins now.
    pub(super) fn new(
        setup: &'a Setup,
        screen: &'a mut Screen,
        guard: &'a Guard,
    ) -> Result<Self, RunError> {
        let cluster = setup.cluster(Timestamp::now())?;
        let board = setup.board()?;
        let now = Instant::now();
        Ok(Self {
            setup,
            cluster,
            screen,
            guard,
            crew: Crew::new(),
            board,
            status: JobStatus::default(),
            began: now,
            stopped: None,
            sample_at: now,
            sample_after: FRAME,
            frame_at: now,
        })
    }

    /// Runs the job to its end and shows the table.
    pub(super) async fn run(mut self, interrupts: &mut Interrupts) -> Ending {
        self.advance();
        while !self.is_over() {
            let deadline = tokio::time::Instant::from_std(self.next_deadline());
            let listening = !self.screen.is_full();
            tokio::select! {
                biased;
                signal = interrupts.next() => self.interrupt(signal),
                Some(heard) = self.crew.hear(listening) => self.hear(heard),
                () = tokio::time::sleep_until(deadline) => {}
            }
            self.on_time();
        }
        self.finish()
    }

    fn is_over(&self) -> bool {
        self.crew.is_empty()
            && (self.stopped.is_some() || self.status.is_finished() || self.cluster.job().is_none())
    }

    fn finish(self) -> Ending {
        let finished = |kind| self.status.is(kind);
        let ending = match self.stopped {
            _ if finished(ConditionType::Succeeded) => Ending::Succeeded,
            _ if finished(ConditionType::Failed) => Ending::Failed,
            Some(stopped) => stopped,
            None => Ending::Failed,
        };
        if ending != Ending::Unread {
            let paint = self.screen.paint();
            self.screen.show(&[]);
            self.screen.put(&ending::table(&self.board, paint));
            let (name, time) = (&self.setup.job.meta.name, self.began.elapsed());
            let words = ending::last_words(&ending, name, &self.status, &self.board, time, paint);
            self.screen.last_words(&words);
        }
        ending
    }

    /// Everything that is due, whatever woke the loop.
    fn on_time(&mut self) {
        self.screen.flush();
        if self.screen.is_closed() && self.stopped.is_none() {
            self.stop(Ending::Unread);
        }
        for (replica, grace) in self.crew.kill_overdue() {
            let (name, grace) = (self.board.name(replica), amounts::clock(grace));
            self.screen
                .say(&format!("{name} ignored SIGTERM for {grace}: killed"));
        }
        let mut news = false;
        while let Some((member, code)) = self.crew.dismiss() {
            self.ended(member.replica, code);
            self.cluster.report(
                Timestamp::now(),
                Report::Exited {
                    uid: member.uid,
                    code,
                    reason: None,
                },
            );
            news = true;
        }
        if news
            || self
                .cluster
                .next_deadline()
                .is_some_and(|at| at <= Timestamp::now())
        {
            self.advance();
        }
        let now = Instant::now();
        if self.sample_at <= now {
            self.sample(now);
        }
        if self.frame_at <= now {
            self.frame(now);
        }
    }

    fn next_deadline(&self) -> Instant {
        let now = Instant::now();
        let of_cluster = self.cluster.next_deadline().map(|at| {
            let wait = at.duration_since(Timestamp::now());
            now + Duration::try_from(wait).unwrap_or(Duration::ZERO)
        });
        let frame = self.screen.is_live().then_some(self.frame_at);
        let retry = self.screen.is_waiting().then(|| now + RETRY);
        let all = [
            of_cluster,
            frame,
            retry,
            self.crew.next_deadline(),
            Some(self.sample_at),
        ];
        all.into_iter().flatten().min().unwrap_or(now)
    }

    /// Lets the cluster go on as far as it can, and does what it says.
    fn advance(&mut self) {
        loop {
            let events = self.cluster.settle(Timestamp::now());
            self.tell(&events);
            let mut started = false;
            while let Some(work) = self.cluster.poll_work() {
                match work {
                    Work::Start {
                        uid, pod, replica, ..
                    } => {
                        self.start(uid, &pod, replica);
                        started = true;
                    }
                    Work::Stop { uid, .. } => self.stop_members(|member| member == uid),
                }
            }
            if !started {
                break;
            }
        }
        if self.status.is_finished() {
            // Whatever the job's cleanPodPolicy keeps in a cluster, here nothing is left.
            self.stop_members(|_| true);
        }
    }

    fn stop_members(&mut self, chosen: impl Fn(&str) -> bool) {
        for replica in self.crew.stop(|member| chosen(&member.uid)) {
            if let Some(row) = self.board.row(replica) {
                row.state = State::Stopping;
            }
        }
    }

    fn start(&mut self, uid: String, pod: &Pod, replica: Replica) {
        let result = self.launch(&uid, pod, replica);
        let Some(row) = self.board.row(replica) else {
            return;
        };
        row.start();
        let report = match result {
            Ok(()) => Report::Started { uid },
            Err(why) => {
                // As a container runtime reports it.
                let code = 128;
                row.remember(&[format!("mxjob: {why}")]);
                row.end(code);
                self.screen.say(&format!(
                    "{} could not be started: {why}",
                    self.board.name(replica)
                ));
                Report::Exited {
                    uid,
                    code,
                    reason: Some("StartError".to_owned()),
                }
            }
        };
        self.cluster.report(Timestamp::now(), report);
        self.sample_after = FRAME / 2;
        self.sample_at = Instant::now() + self.sample_after;
    }

    fn launch(&mut self, uid: &str, pod: &Pod, replica: Replica) -> Result<(), String> {
        if let Some(port) = self
            .setup
            .port(replica)
            .filter(|port| !ports::is_free(*port))
        {
            return Err(format!(
                "port {port} of 127.0.0.1 is in use by another program; run again"
            ));
        }
        let table = self.setup.job.table;
        let container = table
            .role(replica.role)
            .container
            .unwrap_or(table.container);
        let launch = self
            .setup
            .machine
            .launch(pod, container)
            .map_err(|error| error.to_string())?;
        let grace = pod
            .spec
            .as_ref()
            .and_then(|spec| spec.termination_grace_period_seconds);
        let grace = grace.map_or(GRACE, |seconds| {
            Duration::from_secs(u64::try_from(seconds).unwrap_or(0))
        });
        self.crew
            .start(uid.to_owned(), replica, &launch, grace, self.guard)
            .map_err(|error| format!("{}: {error}", launch.program.display()))
    }

    fn hear(&mut self, heard: Heard) {
        self.take(heard);
        // A replica that prints much is shown in large pieces.
        for _ in 0..32 {
            match self.crew.hear_now() {
                Some(heard) => self.take(heard),
                None => return,
            }
        }
    }

    fn take(&mut self, heard: Heard) {
        let row = |id: Id| self.crew.replica(id);
        match heard {
            Heard::Ended(id) => self.crew.reap(id, self.guard),
            Heard::Silent(id) => self.crew.silent(id),
            Heard::Lines(id, lines) => {
                if let Some(row) = row(id).and_then(|replica| self.board.row(replica)) {
                    row.remember(&lines);
                    self.screen.log(&row.source, &lines);
                }
            }
        }
    }

    fn ended(&mut self, replica: Replica, code: i32) {
        let port = self.setup.port(replica);
        let taken = port.filter(|port| !ports::is_free(*port));
        if let Some(row) = self.board.row(replica) {
            row.end(code);
            narration::end(self.screen, row, taken);
        }
    }

    /// Says what has changed about the job.
    fn tell(&mut self, events: &[Event]) {
        narration::warnings(self.screen, events);
        if let Some(job) = self.cluster.job() {
            narration::phase(self.screen, &job.meta.name, &self.status, &job.status);
            self.status = job.status.clone();
        }
    }

    fn interrupt(&mut self, signal: &'static str) {
        if self.stopped.is_some() || self.status.is_finished() {
            self.crew.kill();
            return;
        }
        let again = if signal == "Ctrl-C" {
            " (again: at once)"
        } else {
            ""
        };
        let text = self
            .screen
            .paint()
            .tone(&format!("{signal}: stopping{again}"), Tone::Strong);
        self.screen.say(&text);
        self.stop(Ending::Interrupted(signal));
    }

    fn stop(&mut self, why: Ending) {
        self.stopped = Some(why);
        self.cluster.delete_job(Timestamp::now());
        self.advance();
    }

    fn sample(&mut self, now: Instant) {
        for member in self.crew.running() {
            if let Some((row, bytes)) = self
                .board
                .row(member.replica)
                .zip(memory::peak(member.id()))
            {
                row.peak = row.peak.max(Some(bytes));
            }
        }
        orphans::reap_ended(self.guard.orphans());
        self.sample_after = (self.sample_after * 2).min(SAMPLE);
        self.sample_at = now + self.sample_after;
    }

    fn frame(&mut self, now: Instant) {
        let phase = match &self.stopped {
            Some(_) => "Stopping",
            None => self.status.phase.as_deref().unwrap_or("Created"),
        };
        let name = &self.setup.job.meta.name;
        self.screen.show(&status::lines(
            self.screen.paint(),
            name,
            phase,
            &self.board,
            self.began.elapsed(),
        ));
        self.frame_at = now + FRAME;
    }
}
