//! `mxjob lint`: what is wrong with manifests.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use mxjob_core::RoleTable;

use super::{UNUSABLE, output};
use crate::manifest::{Findings, Input, Paint, judge, plural};

/// What to check.
#[derive(Args, Clone, Debug)]
pub(super) struct LintArgs {
    /// Manifests, YAML or JSON; `-` reads standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,

    /// How findings are printed
    #[arg(short, long, default_value = "text", value_name = "FORMAT")]
    output: Format,
}

/// How findings are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// A line each, for people: file:line:column: error: field: message
    Text,
    /// A list of objects with file, document, line, column, severity, path and message
    Json,
    /// Annotations of a GitHub workflow
    Github,
}

/// Checks manifests and prints what was found.
pub(super) fn run(apis: &[&'static RoleTable], args: &LintArgs) -> ExitCode {
    let mut findings = Findings::default();
    let (mut jobs, mut strangers, mut unreadable) = (0, 0, 0);
    for path in &args.files {
        match Input::read(path) {
            Ok(input) => {
                let judged = judge(apis, &input);
                jobs += judged.jobs.len();
                strangers += judged.strangers.len();
                findings.add(judged.findings);
            }
            Err(finding) => {
                findings.add(vec![finding]);
                unreadable += 1;
            }
        }
    }
    let printed = output::print(&match args.output {
        Format::Text => findings.text(Paint::stdout()),
        Format::Json => findings.json(),
        Format::Github => findings.github(),
    });
    if printed != ExitCode::SUCCESS {
        return printed;
    }
    eprintln!("{}", summary(&findings, jobs, strangers));
    match (unreadable, findings.errors()) {
        (0, 0) => ExitCode::SUCCESS,
        (0, _) => ExitCode::FAILURE,
        _ => ExitCode::from(UNUSABLE),
    }
}

/// Like `2 jobs: 1 error (1 document of another kind was not checked)`.
fn summary(findings: &Findings, jobs: usize, strangers: usize) -> String {
    let found = findings
        .summary()
        .unwrap_or_else(|| "nothing to complain about".to_owned());
    let skipped = match strangers {
        0 => String::new(),
        1 => " (1 document of another kind was not checked)".to_owned(),
        many => format!(" ({many} documents of other kinds were not checked)"),
    };
    format!("{}: {found}{skipped}", plural(jobs, "job"))
}
