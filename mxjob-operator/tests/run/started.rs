//! A started `mxjob`: what it prints, how it ends, what it leaves.

use std::io::Read;
use std::process::{Child, Command, ExitStatus};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use super::Machine;
use super::processes::{self, Process};

/// A started `mxjob`. Whatever a test does, nothing of it is left when this is dropped.
pub(crate) struct Started {
    pub child: Child,
    mark: String,
    patience: Duration,
    _folder: Arc<TempDir>,
    printed: Arc<Printed>,
}

#[derive(Default)]
struct Printed {
    streams: Mutex<[String; 2]>,
    more: Condvar,
}

/// An `mxjob` that has ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub status: ExitStatus,
    pub out: String,
    pub err: String,
}

impl Ended {
    /// The exit code.
    #[track_caller]
    pub(crate) fn assert_code(self, code: i32) -> Self {
        assert_eq!(self.status.code(), Some(code), "exit code of {self:#?}");
        self
    }

    /// Standard output has this.
    #[track_caller]
    pub(crate) fn assert_out(self, text: &str) -> Self {
        assert!(
            self.out.contains(text),
            "{text:?} is not in standard output of {self:#?}"
        );
        self
    }

    /// Standard error has this.
    #[track_caller]
    pub(crate) fn assert_err(self, text: &str) -> Self {
        assert!(
            self.err.contains(text),
            "{text:?} is not in standard error of {self:#?}"
        );
        self
    }

    /// The table's row of a replica: state, exit code, restarts.
    #[track_caller]
    pub(crate) fn assert_row(self, replica: &str, expected: [&str; 3]) -> Self {
        let row = self
            .out
            .lines()
            .find(|line| line.starts_with(&format!("| {replica} ")))
            .unwrap_or_default();
        let cells: Vec<_> = row.split('|').map(str::trim).skip(2).take(3).collect();
        assert_eq!(cells, expected, "{replica} in {self:#?}");
        self
    }
}

impl Started {
    /// Starts a command and listens to it.
    pub(crate) fn new(mut command: Command, machine: &Machine) -> Self {
        let mut child = command.spawn().unwrap();
        let printed = Arc::new(Printed::default());
        if let Some(out) = child.stdout.take() {
            listen(out, 0, &printed);
        }
        if let Some(err) = child.stderr.take() {
            listen(err, 1, &printed);
        }
        Self {
            child,
            mark: machine.mark.clone(),
            patience: machine.patience,
            _folder: machine.folder(),
            printed,
        }
    }

    /// Waits until standard output or error has this.
    #[track_caller]
    pub(crate) fn wait_for(&mut self, text: &str) -> &mut Self {
        self.wait_for_count(text, 1)
    }

    /// Waits until standard output or error has this so many times.
    #[track_caller]
    pub(crate) fn wait_for_count(&mut self, text: &str, count: usize) -> &mut Self {
        let deadline = Instant::now() + self.patience;
        let mut streams = self.printed.streams.lock().unwrap();
        while streams
            .iter()
            .map(|stream| stream.matches(text).count())
            .sum::<usize>()
            < count
        {
            let left = deadline.saturating_duration_since(Instant::now());
            let over = left.is_zero() || Arc::strong_count(&self.printed) == 1;
            assert!(!over, "{text:?} did not come {count} times: {streams:#?}");
            streams = self
                .printed
                .more
                .wait_timeout(streams, left.min(Duration::from_millis(100)))
                .unwrap()
                .0;
        }
        drop(streams);
        self
    }

    /// What follows `text` on its line.
    #[track_caller]
    pub(crate) fn word_after(&mut self, text: &str) -> String {
        self.wait_for(text);
        let streams = self.printed.streams.lock().unwrap();
        let line = streams
            .iter()
            .find_map(|stream| stream.split_once(text))
            .unwrap()
            .1;
        line.split_whitespace()
            .next()
            .unwrap_or_default()
            .to_owned()
    }

    /// Sends it a signal.
    pub(crate) fn signal(&mut self, signal: Signal) -> &mut Self {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
        self
    }

    /// Its living processes, without itself.
    pub(crate) fn processes(&self) -> Vec<Process> {
        let own = i32::try_from(self.child.id()).unwrap();
        let mut all = processes::of(&self.mark, &[self.child.id()]);
        all.retain(|process| process.id != own);
        all
    }

    /// The living processes that have this in their environment, like `DMLC_WORKER_ID=1`.
    pub(crate) fn processes_with(&self, variable: &str) -> Vec<Process> {
        let has = |process: &Process| {
            process
                .environment
                .split('\0')
                .any(|entry| entry == variable)
        };
        self.processes().into_iter().filter(has).collect()
    }

    /// The living processes whose command line has this.
    pub(crate) fn processes_like(&self, text: &str) -> Vec<Process> {
        self.processes()
            .into_iter()
            .filter(|process| process.command.contains(text))
            .collect()
    }

    /// Waits until there are so many processes whose command line ends in this.
    #[track_caller]
    pub(crate) fn wait_for_processes(&self, text: &str, count: usize) {
        let deadline = Instant::now() + self.patience;
        while self
            .processes()
            .iter()
            .filter(|process| process.command.ends_with(text))
            .count()
            != count
        {
            assert!(
                Instant::now() < deadline,
                "{text:?} is not there {count} times: {:#?}",
                self.processes()
            );
            thread::sleep(Duration::from_millis(10));
        }
    }

    /// Waits for its end. Nothing may be left of it then.
    #[track_caller]
    pub(crate) fn end(mut self) -> Ended {
        let ended = self.wait();
        assert_eq!(self.processes(), [], "left by {ended:#?}");
        ended
    }

    /// Waits for its end, and until nothing is left.
    #[track_caller]
    pub(crate) fn end_and_gone(mut self) -> Ended {
        let ended = self.wait();
        let deadline = Instant::now() + Duration::from_secs(10);
        while !self.processes().is_empty() {
            assert!(
                Instant::now() < deadline,
                "left: {:#?} by {ended:#?}",
                self.processes()
            );
            thread::sleep(Duration::from_millis(10));
        }
        ended
    }

    #[track_caller]
    fn wait(&mut self) -> Ended {
        let deadline = Instant::now() + self.patience;
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            let streams = self.printed.streams.lock().unwrap().clone();
            assert!(
                Instant::now() < deadline,
                "it does not end: {streams:#?} {:#?}",
                self.processes()
            );
            thread::sleep(Duration::from_millis(5));
        };
        // What it printed arrives at once; the writers are gone.
        while Arc::strong_count(&self.printed) > 1 && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(1));
        }
        let [out, err] = self.printed.streams.lock().unwrap().clone();
        Ended { status, out, err }
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        for process in self.processes() {
            process.signal(Signal::KILL);
        }
    }
}

fn listen(mut stream: impl Read + Send + 'static, number: usize, printed: &Arc<Printed>) {
    let printed = Arc::clone(printed);
    thread::spawn(move || {
        let mut buffer = [0; 8 * 1024];
        while let Ok(count @ 1..) = stream.read(&mut buffer) {
            let mut streams = printed.streams.lock().unwrap();
            streams[number].push_str(&String::from_utf8_lossy(&buffer[..count]));
            printed.more.notify_all();
        }
    });
}
