//! `mxjob rbac`: the roles of the operator.

use std::process::ExitCode;

use clap::builder::BoolishValueParser;
use clap::{ArgAction, Args};
use mxjob_core::RoleTable;
use mxjob_core::schema::WEBHOOK_NAMESPACE;

use super::{UNUSABLE, output};
use crate::controller::{is_nowhere, namespace, object_name};
use crate::manifest::to_yaml;
use crate::rights::{Install, LEASE, Part, SECRET};

/// The operator whose roles are asked for, in its own flags.
#[derive(Args, Clone, Debug)]
pub(super) struct RbacArgs {
    /// Of an operator for the jobs of this namespace; give it more than once for more [default: all]
    #[arg(long, value_delimiter = ',', value_parser = namespace, value_name = "NAME")]
    namespace: Vec<String>,

    /// Of one that serves this API group; give it more than once for more
    #[arg(long, value_delimiter = ',', value_name = "GROUP")]
    api: Vec<String>,

    /// Of one that creates or updates the CustomResourceDefinitions
    #[arg(long)]
    install_crds: bool,

    /// The namespace that the operator itself is in, where its service account mxjob-operator is
    #[arg(long, value_parser = namespace, default_value = WEBHOOK_NAMESPACE, value_name = "NAME")]
    own_namespace: String,

    /// Of one of several, of which one leads; `--leader-elect=false`: of one alone
    #[arg(
        long,
        action = ArgAction::Set,
        num_args = 0..=1,
        require_equals = true,
        default_value = "true",
        default_missing_value = "true",
        hide_default_value = true,
        hide_possible_values = true,
        value_parser = BoolishValueParser::new(),
        value_name = "BOOL"
    )]
    leader_elect: bool,

    /// Of one that is elected by the lease of that name
    #[arg(
        long,
        alias = "leader-election-id",
        value_parser = object_name,
        default_value = LEASE,
        value_name = "NAME"
    )]
    lease_name: String,

    /// Of one that converts between versions there; 0: of one that does not
    #[arg(long, default_value = ":9443", value_name = "ADDRESS")]
    webhook_bind_address: String,

    /// Of one that keeps its webhook's certificate in the Secret of that name
    #[arg(long, value_parser = object_name, default_value = SECRET, value_name = "NAME")]
    webhook_secret: String,

    /// Of one that never writes that Secret
    #[arg(long)]
    webhook_secret_read_only: bool,
}

impl RbacArgs {
    fn parts(&self) -> Vec<Part> {
        let converts = !is_nowhere(&self.webhook_bind_address);
        let parts = [
            (Part::Jobs, true),
            (Part::Election, self.leader_elect),
            (Part::Webhook, converts),
            (
                Part::Certificate,
                converts && !self.webhook_secret_read_only,
            ),
            (Part::Install, self.install_crds),
        ];
        let wanted = parts.into_iter().filter(|(_, wanted)| *wanted);
        wanted.map(|(part, _)| part).collect()
    }
}

/// Prints the roles and their bindings.
pub(super) fn run(args: &RbacArgs, apis: &[&'static RoleTable]) -> ExitCode {
    let wanted = |table: &&&'static RoleTable| args.api.iter().any(|api| api == table.crd.group);
    let apis: Vec<_> = apis.iter().filter(wanted).copied().collect();
    let mut namespaces = args.namespace.clone();
    namespaces.retain(|name| !name.is_empty());
    namespaces.sort_unstable();
    namespaces.dedup();
    let install = Install {
        apis: &apis,
        namespaces: &namespaces,
        own: &args.own_namespace,
        parts: &args.parts(),
        lease: &args.lease_name,
        secret: &args.webhook_secret,
    };
    let objects = install.objects();
    let texts: Result<Vec<_>, _> = objects.iter().map(to_yaml).collect();
    match texts {
        Ok(texts) => output::print(&texts.join("---\n")),
        Err(error) => {
            eprintln!("error: cannot write YAML: {error}");
            ExitCode::from(UNUSABLE)
        }
    }
}
