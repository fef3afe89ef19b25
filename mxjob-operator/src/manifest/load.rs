//! Manifests for commands that do something with the job: they get a valid one or an exit code.

use std::path::Path;
use std::process::ExitCode;

use mxjob_core::{Job, RoleTable};
use serde_json::Value;

use super::finding::{Findings, Paint};
use super::input::Input;
use super::job::named;
use super::judge::{Judged, judge};

/// Exit code for a manifest that cannot be used.
const UNUSABLE: u8 = 2;

/// Most replicas that are started on one machine: each is a Python process of 100 MB and more.
const MAX_PROCESSES: u32 = 512;

/// The one valid job of a manifest, small enough for one machine. Warnings and errors are printed;
/// after an error the exit code is all that is left.
pub(crate) fn load_job(apis: &[&'static RoleTable], path: &Path) -> Result<Manifest, ExitCode> {
    let mut jobs = load_jobs(apis, path)?;
    let count = jobs.len();
    let (Some(job), true) = (jobs.pop(), count == 1) else {
        return refuse(&format!(
            "{}: holds {count} jobs, one can run at a time: make a file of each",
            path.display()
        ));
    };
    let read = Job::read(job.table, &job.object);
    let wanted = read.spec.map_or(0, |spec| spec.wanted());
    if wanted > MAX_PROCESSES {
        let file = path.display();
        return refuse(&format!(
            "{file}: asks for {wanted} replicas: at most {MAX_PROCESSES} are started on one machine"
        ));
    }
    Ok(job)
}

/// The jobs of a manifest as v1, all valid, at least one, and each with a name.
pub(crate) fn load_jobs(
    apis: &[&'static RoleTable],
    path: &Path,
) -> Result<Vec<Manifest>, ExitCode> {
    let mut manifests = load_manifests(apis, path)?;
    for job in &mut manifests.jobs {
        job.object = named(&job.object);
    }
    Ok(manifests.jobs)
}

/// A job of a manifest.
#[derive(Debug)]
pub(crate) struct Manifest {
    /// The API that it is of.
    pub(crate) table: &'static RoleTable,
    /// The job as v1.
    pub(crate) object: Value,
    /// Which document of the file it is, from 1.
    pub(crate) number: usize,
}

/// The jobs of a manifest, and the kinds of its other documents.
#[derive(Debug)]
pub(crate) struct Manifests {
    pub(crate) text: String,
    pub(crate) jobs: Vec<Manifest>,
    pub(crate) strangers: Vec<String>,
}

/// As [`load_jobs`], as they are written: one may leave its name to the API server.
pub(crate) fn load_manifests(
    apis: &[&'static RoleTable],
    path: &Path,
) -> Result<Manifests, ExitCode> {
    let mut findings = Findings::default();
    let (text, judged) = match Input::read(path) {
        Ok(input) => {
            let judged = judge(apis, &input);
            (input.text, judged)
        }
        Err(finding) => {
            let judged = Judged {
                findings: vec![finding],
                ..Judged::default()
            };
            (String::new(), judged)
        }
    };
    findings.add(judged.findings);
    eprint!("{}", findings.text(Paint::stderr()));
    if findings.errors() > 0 {
        return Err(ExitCode::from(UNUSABLE));
    }
    let jobs = judged.jobs.into_iter();
    let jobs = jobs.map(|(table, document)| Manifest {
        table,
        object: document.value,
        number: document.number,
    });
    Ok(Manifests {
        text,
        jobs: jobs.collect(),
        strangers: judged.strangers,
    })
}

fn refuse<T>(message: &str) -> Result<T, ExitCode> {
    eprintln!("error: {message}");
    Err(ExitCode::from(UNUSABLE))
}
