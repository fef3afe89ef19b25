//! `mxjob convert`: a manifest at another version.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use mxjob_core::api::Version;
use mxjob_core::{Job, RoleTable, conversion};

use super::{UNUSABLE, output};
use crate::manifest::{Comments, Manifest, errors, load_manifests, plural, to_yaml};

/// What to convert.
#[derive(Args, Clone, Debug)]
pub(super) struct ConvertArgs {
    /// Manifest, YAML or JSON; `-` reads standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,

    /// The version to print
    #[arg(long, value_name = "VERSION", default_value = Version::V1.name())]
    to: String,
}

/// Prints the jobs of a manifest at another version, those of an older API as jobs of the own one;
/// with the comments at their fields. What that version cannot say is told.
pub(super) fn run(apis: &[&'static RoleTable], args: &ConvertArgs) -> ExitCode {
    let manifests = match load_manifests(apis, &args.file) {
        Ok(manifests) => manifests,
        Err(code) => return code,
    };
    if !manifests.strangers.is_empty() {
        let documents = plural(manifests.strangers.len(), "document");
        let kinds = manifests.strangers.join(", ");
        eprintln!("warning: {documents} of another kind left out: {kinds}");
    }
    let mut comments = Comments::of(apis, &manifests.text);
    // The argument was checked against the versions that there are.
    let to = Version::parse(&args.to).unwrap_or(Version::V1);
    let Some(own) = apis.first() else {
        return ExitCode::from(UNUSABLE);
    };
    let mut texts = Vec::with_capacity(manifests.jobs.len());
    for job in manifests.jobs {
        let Manifest {
            table, mut object, ..
        } = job;
        let before = Job::read(table, &object);
        let name = object.pointer("/metadata/name").cloned();
        let name = name.unwrap_or_default();
        if to != Version::V1 && table.crd.group != own.crd.group {
            let (name, group) = (name.as_str().unwrap_or("a job"), table.crd.group);
            eprintln!("error: {name} is of {group}: it can be printed as v1 alone");
            return ExitCode::from(UNUSABLE);
        }
        conversion::adopt(own, &mut object);
        let mut converted = match conversion::convert(own, object.clone(), to) {
            Ok(converted) => converted,
            Err(error) => {
                eprintln!("error: {error}");
                return ExitCode::from(UNUSABLE);
            }
        };
        for lost in conversion::forget(&mut converted) {
            let name = name.as_str().unwrap_or("a job");
            eprintln!("warning: {name}: {to} cannot say {lost}: left out");
        }
        let errors = errors(own, to, &converted);
        if !errors.is_empty() {
            let name = name.as_str().unwrap_or("a job");
            eprintln!(
                "error: {name} cannot be said at {to}: {}",
                errors.join("; ")
            );
            return ExitCode::from(UNUSABLE);
        }
        let again = conversion::convert(own, converted.clone(), Version::V1);
        for change in again
            .iter()
            .flat_map(|v1| changes(&before, &Job::read(own, v1), to))
        {
            eprintln!("warning: {}: {change}", before.meta.name);
        }
        // Plain data with text keys always renders.
        let plain = to_yaml(&converted).unwrap_or_default();
        let comments = comments.get_mut(job.number.saturating_sub(1));
        let comments = comments.map(std::mem::take).unwrap_or_default();
        texts.push(comments.put_into(&plain, &object, (own, to, &converted)));
    }
    output::print(&texts.join("---\n"))
}

/// What the pods of a job do otherwise than before, though each of its fields can be said.
fn changes(before: &Job, after: &Job, to: Version) -> Vec<String> {
    let (Ok(before), Ok(after)) = (&before.spec, &after.spec) else {
        return Vec::new();
    };
    let mut changes = Vec::new();
    for reason in before.profile.permanent_reasons {
        if !after.profile.permanent_reasons.contains(reason) {
            changes.push(format!(
                "a replica that ended with {reason} had failed for good, at {to} its exit code decides: a rule of \
                 spec.failurePolicy can say so"
            ));
        }
    }
    let kept = after.profile.env.iter().chain(after.mode.env);
    let kept: Vec<_> = kept.map(|env| env.name).collect();
    let lost = before.profile.env.iter().map(|env| env.name);
    let lost: Vec<_> = lost.filter(|name| !kept.contains(name)).collect();
    if !lost.is_empty() {
        changes.push(format!(
            "its operator set {}, {to} does not: write it into env of the templates where it is needed",
            lost.join(", ")
        ));
    }
    for (was, is) in before.roles.iter().zip(&after.roles) {
        let name = is.role.name;
        if was.port != is.port {
            changes.push(format!(
                "{name} is met at port {} at {to}, not at {}: its container has no port of the job's name",
                is.port, was.port
            ));
        }
        let (was, is) = (
            before.restart_policy_of_pods(was),
            after.restart_policy_of_pods(is),
        );
        if was != is {
            changes.push(format!(
                "the template of {name} says restartPolicy {was:?}, which {to} does not go by: its containers get {is:?}"
            ));
        }
    }
    changes
}
