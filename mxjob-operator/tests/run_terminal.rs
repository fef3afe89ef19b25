//! What a person sees on a terminal, and what Ctrl-C typed there does.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests"
)]

mod run;

use std::fs::File;
use std::io::{Read, Write};
use std::num::NonZeroU16;
use std::os::unix::process::CommandExt;
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use run::{Ended, Job, Machine, Started};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

const ROWS: NonZeroU16 = NonZeroU16::new(24).unwrap();
const COLUMNS: NonZeroU16 = NonZeroU16::new(80).unwrap();

/// A terminal with an mxjob in it.
struct Terminal {
    keys: File,
    seen: Arc<Mutex<vt100::Parser>>,
    raw: Arc<Mutex<Vec<u8>>>,
    started: Started,
}

impl Terminal {
    fn new(machine: &Machine, job: &Job) -> Self {
        machine.file("job.yaml", &job.0.to_string());
        let terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&terminal).unwrap();
        unlockpt(&terminal).unwrap();
        tcsetwinsize(
            &terminal,
            Winsize {
                ws_row: ROWS.get(),
                ws_col: COLUMNS.get(),
                ws_xpixel: 0,
                ws_ypixel: 0,
            },
        )
        .unwrap();
        let name = ptsname(&terminal, Vec::new())
            .unwrap()
            .into_string()
            .unwrap();
        let inside = File::options().read(true).write(true).open(name).unwrap();
        let screen = || Stdio::from(inside.try_clone().unwrap());

        // A session of its own, whose terminal this is.
        let mut command =
            machine.through("setsid", &["--ctty", "--wait", "mxjob", "run", "job.yaml"]);
        command
            .env("TERM", "xterm-256color")
            .env("LC_ALL", "C.UTF-8");
        command
            .stdin(screen())
            .stdout(screen())
            .stderr(screen())
            .process_group(0);
        let started = Started::new(command, machine);
        drop(inside);

        let keys = File::from(terminal);
        let (seen, raw) = (
            Arc::new(Mutex::new(vt100::Parser::new(ROWS, COLUMNS, 100))),
            Arc::new(Mutex::new(Vec::new())),
        );
        let mut from = keys.try_clone().unwrap();
        let (to, to_raw) = (Arc::clone(&seen), Arc::clone(&raw));
        thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(count @ 1..) = from.read(&mut buffer) {
                to.lock().unwrap().process(&buffer[..count]);
                to_raw.lock().unwrap().extend_from_slice(&buffer[..count]);
            }
        });
        Self {
            keys,
            seen,
            raw,
            started,
        }
    }

    fn screen(&self) -> String {
        self.seen.lock().unwrap().screen().contents()
    }

    #[track_caller]
    fn wait_for(&mut self, text: &str) -> &mut Self {
        let deadline = Instant::now() + Duration::from_mins(1);
        while !self.screen().contains(text) {
            assert!(
                Instant::now() < deadline,
                "{text:?} is not on the screen:\n{}",
                self.screen()
            );
            thread::sleep(Duration::from_millis(10));
        }
        self
    }

    fn type_keys(&mut self, keys: &[u8]) {
        self.keys.write_all(keys).unwrap();
    }

    /// Waits for the end; gives the last screen and every byte that was written.
    #[track_caller]
    fn end(mut self, last_words: &str) -> (Ended, String, String) {
        self.wait_for(last_words);
        let ended = self.started.end();
        let screen = self.seen.lock().unwrap().screen().contents();
        let raw = String::from_utf8_lossy(&self.raw.lock().unwrap()).into_owned();
        (ended, screen, raw)
    }
}

const UNTIL_GO: &str = "echo up; while [ ! -e go ]; do sleep 0.01; done; echo done";

fn job() -> Job {
    Job::named("seen")
        .role("Scheduler", 1, UNTIL_GO)
        .role("Worker", 2, UNTIL_GO)
}

#[test]
fn a_status_area_below_the_logs_and_in_the_end_the_table() {
    let machine = Machine::new();
    let mut terminal = Terminal::new(&machine, &job());
    terminal
        .wait_for("worker-1    │ up")
        .wait_for("seen Running · 3/3 running · ");
    terminal
        .wait_for("  scheduler  ● 0")
        .wait_for("  worker     ● 0  ● 1");
    machine.file("go", "");
    let (ended, screen, raw) = terminal.end("seen Succeeded in ");
    let ended = ended.assert_code(0);
    assert!(
        !screen.contains("3/3 running") && !screen.contains('●'),
        "the area is still there:\n{screen}"
    );
    assert!(screen.contains("worker-0    │ done\n"), "{screen}");
    assert!(
        screen.contains("│ worker-1    ┆ Succeeded ┆         0 ┆        0 ┆"),
        "{screen}"
    );
    assert!(
        screen
            .trim_end()
            .lines()
            .last()
            .unwrap()
            .starts_with("seen Succeeded in "),
        "{screen} {ended:#?}"
    );
    assert!(raw.contains("\x1b[32mSucceeded"), "{raw:?}");
}

#[test]
fn no_color_means_no_colours() {
    let machine = Machine::new().with("NO_COLOR", "1");
    let mut terminal = Terminal::new(&machine, &job());
    terminal.wait_for("3/3 running");
    machine.file("go", "");
    let (ended, _, raw) = terminal.end("seen Succeeded in ");
    ended.assert_code(0);
    let codes = raw.split("\x1b[").skip(1);
    let colours: Vec<_> = codes
        .filter_map(|rest| {
            rest.find(|end: char| end.is_ascii_alphabetic())
                .map(|end| &rest[..=end])
        })
        .filter(|code| code.ends_with('m'))
        .collect();
    assert!(colours.is_empty(), "{colours:?}");
}

#[test]
fn ctrl_c_typed_in_the_terminal_stops_the_job() {
    let mut terminal = Terminal::new(&Machine::new(), &job());
    terminal.wait_for("worker-1    │ up");
    terminal.wait_for("3/3 running");
    terminal.type_keys(b"\x03");
    let (ended, screen, _) = terminal.end("seen was interrupted");
    ended.assert_code(130);
    assert!(
        screen.contains("mxjob       │ Ctrl-C: stopping"),
        "{screen}"
    );
    assert!(
        screen.contains("seen was interrupted by Ctrl-C after "),
        "{screen}"
    );
}
