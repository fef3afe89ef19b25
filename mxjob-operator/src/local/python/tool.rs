//! Runs the programs that make a virtual environment, and shows how far they are.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use tokio::sync::mpsc;
use tokio::time::{sleep, timeout};

use super::super::guard::Guard;
use super::super::lines;
use super::super::process::{Launch, Process, ended};
use super::super::screen::{Screen, Tone, size};

/// Lines that are kept of what a program said.
const KEPT: usize = 12;

/// Between two pictures of the status area.
const FRAME: Duration = Duration::from_millis(100);

/// What became of a program.
#[derive(Debug)]
pub(super) struct Outcome {
    /// How it ended; `None`: it took too long and was killed.
    pub(super) status: Option<ExitStatus>,
    /// The last lines that it printed, without empty ones.
    pub(super) last_lines: Vec<String>,
}

impl Outcome {
    /// It ended well.
    pub(super) fn is_success(&self) -> bool {
        self.status.is_some_and(|status| status.success())
    }
}

/// A program being run, and the place where its progress is shown.
#[derive(Debug)]
pub(super) struct Tool<'a> {
    screen: &'a mut Screen,
    guard: &'a Guard,
    began: Instant,
    step: String,
}

impl<'a> Tool<'a> {
    /// Shows progress on `screen`; children are watched by `guard`.
    pub(super) fn new(screen: &'a mut Screen, guard: &'a Guard) -> Self {
        Self {
            screen,
            guard,
            began: Instant::now(),
            step: String::new(),
        }
    }

    /// From now on this is done; `telling`: worth a line where there is no status area.
    pub(super) fn step(&mut self, text: &str, telling: bool) {
        if telling && self.step != text && !self.screen.is_live() {
            self.screen.say(&format!("preparing Python: {text}"));
        }
        text.clone_into(&mut self.step);
        self.frame();
    }

    /// Says something that stays on the screen.
    pub(super) fn say(&mut self, text: &str) {
        self.screen.say(text);
    }

    /// Takes the progress off the screen.
    pub(super) fn done(&mut self) {
        self.screen.show(&[]);
    }

    /// Waits, going on showing.
    pub(super) async fn pause(&mut self, time: Duration) {
        sleep(time).await;
        self.frame();
    }

    fn frame(&mut self) {
        let (paint, elapsed) = (self.screen.paint(), self.began.elapsed());
        let turn = usize::try_from(elapsed.as_millis() / FRAME.as_millis()).unwrap_or(0);
        let spinner = paint.tone(&paint.spinner(turn).to_string(), Tone::Busy);
        let title = paint.tone("preparing Python, once", Tone::Strong);
        let (dot, seconds) = (paint.dot(), elapsed.as_secs());
        let width = usize::from(size().0).saturating_sub(40);
        let step = console::truncate_str(&self.step, width, "…");
        self.screen
            .show(&[format!("{spinner} {title} {dot} {step} {dot} {seconds} s")]);
    }

    /// Runs a program to its end, or for `limit`. `progress` makes a step of a line.
    pub(super) async fn run(
        &mut self,
        launch: &Launch,
        limit: Option<Duration>,
        progress: impl Fn(&str) -> Option<(String, bool)>,
    ) -> io::Result<Outcome> {
        let (mut process, streams) = Process::start(launch, self.guard)?;
        let (to, mut printed) = mpsc::channel::<Vec<String>>(16);
        tokio::spawn(lines::pump(streams.out, to.clone(), |lines| lines));
        tokio::spawn(lines::pump(streams.err, to, |lines| lines));
        let (started, mut last_lines) = (Instant::now(), VecDeque::new());
        let end = ended(process.id());
        tokio::pin!(end);
        let in_time = loop {
            tokio::select! {
                () = &mut end => break true,
                Some(lines) = printed.recv() => self.take(lines, &mut last_lines, &progress),
                () = sleep(FRAME) => self.frame(),
            }
            if limit.is_some_and(|limit| started.elapsed() > limit) {
                break false;
            }
        };
        let status = process.finish(self.guard)?;
        // Something that left the group may hold the pipe open; what it says is not waited for.
        while let Ok(Some(lines)) = timeout(Duration::from_secs(1), printed.recv()).await {
            self.take(lines, &mut last_lines, &progress);
        }
        Ok(Outcome {
            status: in_time.then_some(status),
            last_lines: last_lines.into(),
        })
    }

    fn take(
        &mut self,
        lines: Vec<String>,
        last_lines: &mut VecDeque<String>,
        progress: &impl Fn(&str) -> Option<(String, bool)>,
    ) {
        for line in lines.into_iter().filter(|line| !line.trim().is_empty()) {
            if let Some((step, telling)) = progress(&line) {
                self.step(&step, telling);
            }
            if last_lines.len() == KEPT {
                last_lines.pop_front();
            }
            last_lines.push_back(line);
        }
    }
}

/// A program with the user's environment, but for what leads Python or pip astray.
pub(super) fn launch(program: &Path, args: &[&OsStr], dir: PathBuf) -> Launch {
    const MISLEADING: [&str; 8] = [
        "PYTHONHOME",
        "PYTHONPATH",
        "__PYVENV_LAUNCHER__",
        "PIP_USER",
        "PIP_TARGET",
        "PIP_PREFIX",
        "VIRTUAL_ENV",
        "PIP_PYTHON",
    ];
    let mut env: Vec<(OsString, OsString)> = std::env::vars_os().collect();
    env.retain(|(name, _)| !MISLEADING.iter().any(|one| name == one));
    env.push(("PYTHONUNBUFFERED".into(), "1".into()));
    Launch {
        program: program.to_owned(),
        args: args.iter().map(Into::into).collect(),
        env,
        dir,
    }
}
