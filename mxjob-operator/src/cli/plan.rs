//! `mxjob plan`: what the operator would create.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use mxjob_core::accelerators::Accelerators;
use mxjob_core::job::{Attempt, NO_RUN, Replica, Spec};
use mxjob_core::role::Children;
use mxjob_core::wiring::{Addresses, Wiring};
use mxjob_core::{Job, RoleTable};
use serde::Serialize;

use super::{UNUSABLE, output};
use crate::manifest::{ConfigFile, Manifest, load_jobs, to_yaml};

/// What the owner reference says until the job is stored.
const NO_UID: &str = "(known once the job is stored)";

/// What to plan.
#[derive(Args, Clone, Debug)]
pub(super) struct PlanArgs {
    /// Manifest, YAML or JSON; `-` reads standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,

    #[command(flatten)]
    config: ConfigFile,
}

/// Prints the services and pods, or Jobs of `batch/v1`, of the jobs in a manifest, in the order of their creation.
pub(super) fn run(apis: &[&'static RoleTable], args: &PlanArgs) -> ExitCode {
    let jobs = match load_jobs(apis, &args.file) {
        Ok(jobs) => jobs,
        Err(code) => return code,
    };
    let accelerators = match args.config.load() {
        Ok(accelerators) => accelerators,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::from(UNUSABLE);
        }
    };
    for Manifest { table, object, .. } in jobs {
        let mut job = Job::read(table, &object);
        NO_UID.clone_into(&mut job.meta.uid);
        // The manifest was judged: it has one.
        let Ok(spec) = &job.spec else { continue };
        let code = print(&job, spec, &accelerators);
        if code != ExitCode::SUCCESS {
            return code;
        }
    }
    ExitCode::SUCCESS
}

fn print(job: &Job, spec: &Spec, accelerators: &Accelerators) -> ExitCode {
    let wiring = Wiring::new(job, spec, Addresses::Cluster).with_accelerators(accelerators);
    let note = match spec {
        _ if job.meta.managed_elsewhere => {
            "# another controller manages this job: the operator creates nothing\n"
        }
        spec if spec.suspend => "# the job is suspended: created when it is resumed\n",
        _ => "",
    };
    let services = wiring.services();
    let documents = services
        .iter()
        .map(document)
        .chain(wiring.config_map().map(|one| document(&one)))
        .chain(
            spec.replicas()
                .filter_map(|replica| child(&wiring, job, replica)),
        );
    let mut code = output::print(note);
    if job.meta.run.as_deref() == Some(NO_RUN) && code == ExitCode::SUCCESS {
        let known = format!("# {NO_RUN} in names is the RuntimeId, known once the job is stored\n");
        code = output::print(&known);
    }
    for text in documents {
        if code == ExitCode::SUCCESS {
            code = output::print(&text);
        }
    }
    code
}

/// What stands for a replica.
fn child(wiring: &Wiring<'_>, job: &Job, replica: Replica) -> Option<String> {
    let attempt = Attempt::default();
    match job.table.children() {
        Children::Jobs => wiring.batch_job(replica, attempt).map(|job| document(&job)),
        _ => wiring.pod(replica, attempt).map(|pod| document(&pod)),
    }
}

fn document(object: &impl Serialize) -> String {
    // Kubernetes' objects always render.
    format!("---\n{}", to_yaml(object).unwrap_or_default())
}
