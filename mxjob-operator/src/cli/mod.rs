//! The command line.

mod convert;
mod crds;
mod lint;
mod output;
mod plan;
mod rbac;

use std::path::Path;
use std::process::ExitCode;

use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand};
use mxjob_core::api::Version;
use mxjob_core::role::apis;
use mxjob_core::{ReplicaRole, RoleTable};

use crate::{controller, local};

/// The program's own name.
const NAME: &str = "mxjob";

/// Exit code for input that cannot be used.
const UNUSABLE: u8 = 2;

#[derive(Debug, Parser)]
#[command(
    name = NAME,
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
  mxjob operator --namespace team-a           only the jobs of one namespace
  mxjob operator --api kubeflow.org,fioravanzo.org
                                              the jobs of an older API as well")]
    Operator(Box<controller::OperatorArgs>),

    /// Run a job on this machine: its replicas as local processes, without a cluster
    #[command(after_help = "Examples:
  mxjob run job.yaml
  mxjob run - < job.yaml

Exit codes: 0 the job succeeded, 1 it failed, 2 nothing was started, 130 interrupted.")]
    Run(local::RunArgs),

    /// Print or write the CustomResourceDefinitions
    #[command(after_help = "Examples:
  mxjob crds | kubectl apply --server-side -f -
  mxjob crds --out crds/
  mxjob crds --api fioravanzo.org             that of an older API

Exit codes: 0 printed or written, 2 an unknown API, or a folder that cannot be written.")]
    Crds(crds::CrdsArgs),

    /// Print the roles that the operator needs, and no more
    #[command(after_help = "Examples:
  mxjob rbac | kubectl apply -f -
  mxjob rbac --namespace team-a,team-b        roles of these namespaces, for `operator --namespace`
  mxjob rbac --api kubeflow.org,fioravanzo.org

They are bound to the service account mxjob-operator. Exit codes: 0 printed, 2 wrong usage.")]
    Rbac(rbac::RbacArgs),

    /// Check manifests: every error and warning with its place in the file
    #[command(after_help = "Examples:
  mxjob lint job.yaml other.yaml
  helm template chart | mxjob lint -
  mxjob lint -o github jobs/*.yaml            annotations in a pull request

Exit codes: 0 no errors, 1 errors, 2 a file cannot be read.")]
    Lint(lint::LintArgs),

    /// Print the jobs of a manifest at another version of their API
    #[command(after_help = "Examples:
  mxjob convert old.yaml > new.yaml
  mxjob convert old.yaml --to v1beta1

Comments stay with their fields. Exit codes: 0 printed, 2 the manifest is not valid.")]
    Convert(convert::ConvertArgs),

    /// Print the services and pods that the operator would create for a job
    #[command(after_help = "Examples:
  mxjob plan job.yaml
  mxjob plan - < job.yaml

Exit codes: 0 printed, 2 the manifest is not valid.")]
    Plan(plan::PlanArgs),
}

/// Does what the command line says.
pub(crate) fn run<R: ReplicaRole>() -> ExitCode {
    let apis: Vec<_> = apis::<R>().collect();
    match parse(&apis) {
        Command::Operator(args) => controller::run(&args, &apis),
        Command::Run(args) => local::run(&apis, args),
        Command::Crds(args) => crds::run::<R>(&args),
        Command::Rbac(args) => rbac::run(&args, &apis),
        Command::Lint(args) => lint::run(&apis, &args),
        Command::Convert(args) => convert::run(&apis, &args),
        Command::Plan(args) => plan::run(&apis, &args),
    }
}

/// Reads the arguments; wrong ones end the program with usage and exit code 2.
fn parse(apis: &[&RoleTable]) -> Command {
    // A downstream program has a name of its own, in its help too.
    let called = std::env::args_os().next().unwrap_or_default();
    let stem = Path::new(&called)
        .file_stem()
        .and_then(|stem| stem.to_str());
    Cli::from_arg_matches(&command(apis, stem.unwrap_or(NAME)).get_matches())
        .unwrap_or_else(|error| error.exit())
        .command
}

/// The command line for a role set with these APIs, the own one first, of a program called `program`.
fn command(apis: &[&RoleTable], program: &str) -> clap::Command {
    const NONE: RoleTable = RoleTable::new(&[], &[]);
    let table = apis.first().copied().unwrap_or(&NONE);
    let names = table.crd;
    let roles: Vec<_> = table.roles.iter().map(|role| role.name).collect();
    let about = format!(
        "Runs {} jobs ({}/v1) of {}: in a Kubernetes cluster, or on this machine.",
        names.kind,
        names.group,
        roles.join(", ")
    );
    // Which APIs there are is known with the role set only, so not where the flag is declared.
    let choosing = |command: clap::Command| {
        command.mut_arg("api", |api| {
            let groups: Vec<_> = apis.iter().map(|table| table.crd.group).collect();
            api.value_parser(groups).default_value(names.group)
        })
    };
    let versions = |command: clap::Command| {
        let versions: Vec<_> = Version::of(table).map(Version::name).collect();
        command.mut_arg("to", |to| to.value_parser(versions))
    };
    let examples = |command: clap::Command| {
        let text = command.get_after_help().map(ToString::to_string);
        let text = text.unwrap_or_default();
        command.after_help(text.replace(&format!("{NAME} "), &format!("{program} ")))
    };
    Cli::command()
        .name(program.to_owned())
        .about(about)
        .mut_subcommands(examples)
        .mut_subcommand("operator", choosing)
        .mut_subcommand("crds", choosing)
        .mut_subcommand("rbac", choosing)
        .mut_subcommand("convert", versions)
}

#[cfg(test)]
mod tests {
    use mxjob_core::MxRole;
    use mxjob_core::role::Crd;

    use super::*;

    #[test]
    fn a_downstream_program_goes_by_its_own_name() {
        let mut command = command(&[MxRole::TABLE], "my-jobs");
        assert!(command.render_version().starts_with("my-jobs "));
        for subcommand in ["operator", "run", "crds", "rbac", "lint", "convert", "plan"] {
            let found = command.find_subcommand_mut(subcommand).unwrap();
            let help = found.render_help().to_string();
            let example = format!("  my-jobs {subcommand}");
            assert!(
                help.contains(&example) && !help.contains("  mxjob "),
                "{help}"
            );
        }
    }

    #[test]
    fn the_apis_to_choose_from_are_those_of_the_role_set() {
        let farm = Crd::new("example.org", "Farm", "farms", "farm", &[]);
        let table = RoleTable::new(&[], &[]).crd(farm);
        for subcommand in ["crds", "rbac", "operator"] {
            let chosen = |more: &[&str]| {
                let line = ["mxjob", subcommand]
                    .into_iter()
                    .chain(more.iter().copied());
                let matches = command(&[&table], NAME).try_get_matches_from(line)?;
                let (_, matches) = matches.subcommand().unwrap();
                let apis = matches.get_many::<String>("api").unwrap();
                Ok::<_, clap::Error>(apis.cloned().collect::<Vec<_>>())
            };
            assert_eq!(chosen(&[]).unwrap(), ["example.org"]);
            assert_eq!(chosen(&["--api", "example.org"]).unwrap(), ["example.org"]);
            let error = chosen(&["--api", "kubeflow.org"]).unwrap_err();
            assert_eq!(error.exit_code(), i32::from(UNUSABLE));
        }
    }
}
