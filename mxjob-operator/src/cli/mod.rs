//! The command line.

mod crds;
mod lint;
mod output;
mod plan;

use std::process::ExitCode;

use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand};
use mxjob_core::{ReplicaRole, RoleTable};

use crate::{controller, local};

/// Exit code for input that cannot be used.
const UNUSABLE: u8 = 2;

#[derive(Debug, Parser)]
#[command(
    name = "mxjob",
    version,
    max_term_width = 100,
    subcommand_required = true,
    arg_required_else_help = true
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run the operator: look after the jobs of a cluster until told to stop
    #[command(after_help = "Examples:
  mxjob operator --install-crds               with the kubeconfig of this shell
  mxjob operator --namespace team-a           only the jobs of one namespace")]
    Operator(controller::OperatorArgs),

    /// Run a job on this machine: its replicas as local processes, without a cluster
    #[command(after_help = "Examples:
  mxjob run job.yaml
  mxjob run - < job.yaml

Exit codes: 0 the job succeeded, 1 it failed, 2 nothing was started, 130 interrupted.")]
    Run(local::RunArgs),

    /// Print or write the CustomResourceDefinitions
    #[command(after_help = "Examples:
  mxjob crds | kubectl apply --server-side -f -
  mxjob crds --out crds/")]
    Crds(crds::CrdsArgs),

    /// Check manifests: every error and warning with its place in the file
    #[command(after_help = "Examples:
  mxjob lint job.yaml other.yaml
  helm template chart | mxjob lint -
  mxjob lint -o github jobs/*.yaml            annotations in a pull request

Exit codes: 0 no errors, 1 errors, 2 a file cannot be read.")]
    Lint(lint::LintArgs),

    /// Print the services and pods that the operator would create for a job
    #[command(after_help = "Examples:
  mxjob plan job.yaml
  mxjob plan - < job.yaml

Exit codes: 0 printed, 2 the manifest is not valid.")]
    Plan(plan::PlanArgs),
}

/// Does what the command line says.
pub(crate) fn run<R: ReplicaRole>() -> ExitCode {
    match parse(R::TABLE) {
        Command::Operator(args) => controller::run::<R>(&args),
        Command::Run(args) => local::run::<R>(args),
        Command::Crds(args) => crds::run::<R>(&args),
        Command::Lint(args) => lint::run(R::TABLE, &args),
        Command::Plan(args) => plan::run(R::TABLE, &args),
    }
}

/// Reads the arguments; wrong ones end the program with usage and exit code 2.
fn parse(table: &RoleTable) -> Command {
    let names = table.crd;
    let roles: Vec<_> = table.roles.iter().map(|role| role.name).collect();
    let about = format!(
        "Runs {} jobs ({}/v1) of {}: in a Kubernetes cluster, or on this machine.",
        names.kind,
        names.group,
        roles.join(", ")
    );
    let matches = Cli::command().about(about).get_matches();
    Cli::from_arg_matches(&matches)
        .unwrap_or_else(|error| error.exit())
        .command
}
