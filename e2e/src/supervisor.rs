//! Starts programs so that none outlives the test process, however that one ends.
//!
//! A shell (`supervisor.sh`) is the parent of them all and reads orders from a pipe.
//! The pipe closes with the test process: on a normal end, a panic, and SIGKILL alike.
//! The shell has a process group of its own, so Ctrl-C ends the test and not the
//! clean-up.

use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::FileExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};

use anyhow::{Context, Result, ensure};

use crate::deadline::Expired;

/// The shell's script; its argument is the folder.
pub(crate) const SCRIPT: &str = include_str!("supervisor.sh");

/// Go's collector takes much of the time of an API server that has just started and little memory:
/// here it begins later, up to a limit. Tests of the operator take a quarter less time with it.
const GARBAGE: [(&str, &str); 2] = [("GOGC", "400"), ("GOMEMLIMIT", "4GiB")];

/// A folder and the programs that work in it; dropped, both are gone.
#[derive(Debug)]
pub(crate) struct Supervisor {
    folder: PathBuf,
    /// Complaints of the shell; readable when the folder has gone.
    complaints: fs::File,
    shell: Mutex<Shell>,
}

#[derive(Debug)]
struct Shell {
    child: Child,
    /// `None` once the end has been announced.
    orders: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

/// A program that a [`Supervisor`] started.
#[derive(Debug, Clone)]
pub(crate) struct Process {
    name: String,
    pid: u32,
    log: PathBuf,
}

impl Process {
    /// The process id, as the supervisor's PID namespace numbers it.
    pub(crate) fn pid(&self) -> u32 {
        self.pid
    }

    /// Adds the end of the program's log to the error of a wait that was in vain.
    pub(crate) fn explain<T>(&self, waited: Result<T>) -> Result<T> {
        waited.map_err(|error| {
            if error.is::<Expired>() {
                error.context(self.log_tail())
            } else {
                error
            }
        })
    }

    /// The end of what the program wrote, for error messages.
    pub(crate) fn log_tail(&self) -> String {
        log_tail(&self.name, &self.log)
    }
}

impl Supervisor {
    /// A fresh folder, on /dev/shm where there is one, under the care of a shell.
    pub(crate) fn start() -> Result<Self> {
        let folder = scratch_folder("mxjob-e2e-")?;
        let mut command = Command::new("sh");
        command.args(["-c", SCRIPT, "mxjob-e2e-supervisor"]);
        Self::start_with(command.arg(&folder), folder)
    }

    /// The same with a command of the caller's, which must end in `supervisor.sh` or in
    /// something that obeys its orders, and removes the folder.
    pub(crate) fn start_with(command: &mut Command, folder: PathBuf) -> Result<Self> {
        let mut log = fs::OpenOptions::new();
        let log = log.read(true).append(true).create(true);
        let complaints = log.open(folder.join("supervisor.log"))?;
        let spawned = command
            .envs(GARBAGE)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(complaints.try_clone()?)
            .process_group(0)
            .spawn()
            .context("cannot start the supervising shell; is there an `sh`?");
        let mut child = spawned.inspect_err(|_| drop(fs::remove_dir_all(&folder)))?;
        let orders = child.stdin.take();
        let answers = child.stdout.take().context("the shell has no output")?;
        let answers = BufReader::new(answers);
        Ok(Self {
            folder,
            complaints,
            shell: Mutex::new(Shell {
                child,
                orders,
                answers,
            }),
        })
    }

    /// Waits, blocking, until the supervisor obeys; one of [`start_with`](Self::start_with)
    /// may have to wait for something first.
    #[cfg(feature = "real-node")]
    pub(crate) fn wait_until_ready(&self) -> Result<()> {
        self.order("state 0").map(drop)
    }

    /// The folder that disappears with the supervisor.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Process id of the supervising shell.
    pub(crate) fn pid(&self) -> u32 {
        self.shell().child.id()
    }

    /// Starts `command`; its output is added to `<name>.log` in the folder.
    pub(crate) fn run<S: AsRef<str>>(&self, name: &str, command: &[S]) -> Result<Process> {
        let script = self.folder.join(format!("{name}.run"));
        fs::write(&script, format!("exec{}\n", quoted(command)))?;
        let answer = self.order(&format!("run {name}"))?;
        let pid = answer
            .parse()
            .with_context(|| format!("cannot start {name}: the supervisor said {answer:?}"))?;
        Ok(Process {
            name: name.to_owned(),
            pid,
            log: self.folder.join(format!("{name}.log")),
        })
    }

    /// Fails with the tail of the program's log when it has ended.
    pub(crate) fn check_running(&self, process: &Process) -> Result<()> {
        let answer = self.order(&format!("state {}", process.pid))?;
        ensure!(
            answer == "running",
            "{} has exited; {}",
            process.name,
            process.log_tail()
        );
        Ok(())
    }

    /// Kills the program with SIGKILL and waits until it is gone.
    pub(crate) fn kill(&self, process: &Process) -> Result<()> {
        self.order(&format!("kill {}", process.pid)).map(drop)
    }

    fn order(&self, order: &str) -> Result<String> {
        let mut shell = self.shell();
        let orders = shell.orders.as_mut().context("the supervisor has ended")?;
        writeln!(orders, "{order}")?;
        let mut answer = String::new();
        shell.answers.read_line(&mut answer)?;
        ensure!(
            !answer.is_empty(),
            "the supervisor died on {order:?} and left these words: {}",
            self.last_words()
        );
        Ok(answer.trim().to_owned())
    }

    fn last_words(&self) -> String {
        let mut words = [0; 2000];
        let length = self.complaints.read_at(&mut words, 0).unwrap_or_default();
        let words = words.get(..length).unwrap_or_default();
        String::from_utf8_lossy(words).into_owned()
    }

    fn shell(&self) -> MutexGuard<'_, Shell> {
        self.shell.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Supervisor {
    fn drop(&mut self) {
        let mut shell = self.shell();
        shell.orders = None;
        // The shell ends when everything is cleaned up; nothing better to do on an error.
        drop(shell.child.wait());
    }
}

/// A new folder on /dev/shm where that can be written, else where temporary files go.
pub(crate) fn scratch_folder(prefix: &str) -> Result<PathBuf> {
    let builder = || {
        let mut builder = tempfile::Builder::new();
        builder.prefix(prefix);
        builder
    };
    let folder = builder()
        .tempdir_in("/dev/shm")
        .or_else(|_| builder().tempdir())
        .context("cannot make a scratch folder; is there room in /dev/shm or TMPDIR?")?;
    Ok(folder.keep())
}

/// The last lines of a log file, for error messages.
fn log_tail(name: &str, log: &Path) -> String {
    const LINES: usize = 25;
    let text = fs::read(log).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let lines: Vec<&str> = text.lines().collect();
    let tail = lines.get(lines.len().saturating_sub(LINES)..);
    format!(
        "the end of {name}'s log:\n  {}",
        tail.unwrap_or_default().join("\n  ")
    )
}

/// The words for a shell, each in single quotes.
fn quoted<S: AsRef<str>>(words: &[S]) -> String {
    words.iter().fold(String::new(), |mut line, word| {
        // Writing to a string cannot fail.
        let _ = write!(line, " '{}'", word.as_ref().replace('\'', r"'\''"));
        line
    })
}
