//! `mxjob run FILE`: runs a job on this machine. The planner that runs jobs in clusters runs it over
//! an embedded model cluster; replicas are local processes.
//!
//! ```text
//!  manifest ─▶ setup ─▶ python (venv, once) ─▶ session ◀──▶ model cluster (mxjob-core)
//!                                                │  ▲
//!                                     start, stop│  │lines, ends
//!                                                ▼  │
//!                                              crew ─▶ process ─▶ `mxjob __exec` ─▶ the replica
//!                                                         └─▶ guard: `mxjob __guard`
//! ```
//!
//! Exit codes: 0 the job succeeded, 1 it failed, 2 nothing was started (the manifest, the machine or
//! its Python is not fit for it), 130 interrupted. Whatever happens, no process is left: replicas die
//! with mxjob by the kernel's parent-death signal, and what they started themselves by the guard.

mod amounts;
mod board;
mod crew;
mod descriptors;
mod ending;
mod error;
mod exec;
mod expand;
mod guard;
mod hidden;
mod interrupt;
mod lines;
mod memory;
mod narration;
mod orphans;
mod ports;
mod process;
mod program;
mod python;
mod remarks;
mod screen;
mod search;
mod session;
mod setup;
mod status;
mod strays;
mod variables;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use mxjob_core::RoleTable;

use crate::manifest::{Manifest, load_job};
use error::RunError;
use guard::Guard;
pub(crate) use hidden::intercept;
use interrupt::Interrupts;
use screen::Screen;
use session::Session;
use setup::Setup;
use strays::Mark;

/// Exit code of a run that did not begin.
const NOT_STARTED: u8 = 2;

/// Exit code of a run that somebody stopped.
const INTERRUPTED: u8 = 130;

/// What to run.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct RunArgs {
    /// Manifest with one job; `-` reads standard input
    pub(crate) file: PathBuf,
    /// Python for the manifest's requirements, a path or a name [default: the first usable of
    /// python3.11, 3.10, 3.9, 3.8, 3.12, python3, pyenv's and uv's]
    #[arg(long, value_name = "PYTHON")]
    pub(crate) python: Option<PathBuf>,
}

/// Runs the job of a manifest.
pub(crate) fn run(apis: &[&'static RoleTable], args: RunArgs) -> ExitCode {
    let Manifest { table, object, .. } = match load_job(apis, &args.file) {
        Ok(job) => job,
        Err(code) => return code,
    };
    let folder = args
        .file
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    let result = Setup::new(table, object, folder, args.python).and_then(|setup| {
        // On this thread: a parent-death signal comes when the thread dies that started the child.
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        runtime
            .map_err(RunError::system("start"))?
            .block_on(run_here(setup))
    });
    match result {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            eprintln!("error: {error}\nnothing was started");
            ExitCode::from(NOT_STARTED)
        }
    }
}

async fn run_here(mut setup: Setup) -> Result<u8, RunError> {
    let mut interrupts = Interrupts::listen().map_err(RunError::system("listen for signals"))?;
    orphans::adopt();
    descriptors::allow(setup.spec()?.wanted());
    let guard = Guard::start(Mark::of_this_run()).map_err(RunError::system("start its guard"))?;
    let mut screen = Screen::open(setup.board()?.margin());
    for remark in &setup.remarks {
        screen.say(remark);
    }
    setup.check_programs()?;
    if let Some(request) = setup.python.clone() {
        setup.machine.venv = python::ready(&request)?;
        if setup.machine.venv.is_none() {
            tokio::select! {
                folder = python::prepare(&request, &mut screen, &guard) => setup.machine.venv = Some(folder?),
                signal = interrupts.next() => {
                    screen.last_words(&format!("interrupted by {signal}; nothing was started\n"));
                    return Ok(INTERRUPTED);
                }
            }
        }
        setup.check_programs()?;
    }
    let session = Session::new(&setup, &mut screen, &guard)?;
    Ok(session.run(&mut interrupts).await.code())
}
