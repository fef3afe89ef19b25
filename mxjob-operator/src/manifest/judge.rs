//! Judges the documents of a manifest.

use mxjob_core::api::Version;
use mxjob_core::problem::Problem;
use mxjob_core::{Job, RoleTable, check};
use serde_json::Value;

use super::document::{Document, Position};
use super::finding::Finding;
use super::identity::Identity;
use super::input::Input;
use super::older;
use super::readable::Readable;
use super::yaml;

/// What five random characters the API server puts behind `metadata.generateName`.
const GENERATED: &str = "xxxxx";

/// A manifest that was looked at.
#[derive(Debug, Default)]
pub(crate) struct Judged {
    /// What is wrong or odd, in no order.
    pub(crate) findings: Vec<Finding>,
    /// The documents that are jobs of ours, right or wrong, those of an older version as v1.
    pub(crate) jobs: Vec<Document>,
    /// How many documents are of kinds that are none of mxjob's business.
    pub(crate) strangers: usize,
}

/// Looks at every document of a manifest.
pub(crate) fn judge(table: &'static RoleTable, input: &Input) -> Judged {
    let nodes = match yaml::documents(&input.text) {
        Ok(nodes) => nodes,
        Err(error) => {
            let problem = Problem::error("", error.message);
            let findings = vec![Finding::new(&input.name, 0, error.position, problem)];
            return Judged {
                findings,
                ..Judged::default()
            };
        }
    };
    if nodes.is_empty() {
        let problem = Problem::error(
            "",
            format!("is empty: there is no {} in it", table.crd.kind),
        );
        let findings = vec![Finding::new(&input.name, 0, Position::default(), problem)];
        return Judged {
            findings,
            ..Judged::default()
        };
    }
    let documents = nodes
        .into_iter()
        .enumerate()
        .map(|(at, node)| Document::new(at + 1, node));
    let documents = documents
        .map(|document| (Identity::of(table, &document.value), document))
        .collect();
    sort_out(table, &input.name, documents)
}

fn sort_out(table: &'static RoleTable, file: &str, documents: Vec<(Identity, Document)>) -> Judged {
    // Among jobs, a service or a secret is nobody's mistake; alone, it is the wrong file.
    let nothing_of_ours = documents
        .iter()
        .all(|(identity, _)| matches!(identity, Identity::Stranger(_)));
    let mut judged = Judged::default();
    for (identity, mut document) in documents {
        let mut ours = false;
        let problems = match identity {
            Identity::Ours(version) => {
                ours = true;
                let mut problems = older::judge(table, version, &mut document.value);
                // What the conversion has written out, nobody has to mend.
                problems.retain(|one| {
                    one.is_error() || version == Version::V1 || document.has(&one.path)
                });
                problems
            }
            Identity::Stranger(problem) if nothing_of_ours => vec![problem],
            Identity::Stranger(_) => {
                judged.strangers += 1;
                continue;
            }
            Identity::Mistaken(problem) => vec![problem],
        };
        let finding = |problem: Problem| {
            Finding::new(
                file,
                document.number,
                document.position(&problem.path),
                problem,
            )
        };
        judged.findings.extend(problems.into_iter().map(finding));
        if ours {
            judged.jobs.push(document);
        }
    }
    judged
}

/// What is wrong or odd with a v1 job.
pub(super) fn job_problems(table: &'static RoleTable, object: &Value) -> Vec<Problem> {
    let mut problems = check::structure(table, object);
    let name = name(object);
    problems.extend(nameless(name.as_deref()));
    let known = name.as_deref().unwrap_or(UNNAMED);
    let readable = Readable::new(object.get("spec"), &problems);
    let mut found = check::rules(table, known, &readable.spec);
    found.extend(check::warnings(table, &readable.spec));
    found.retain(|problem| readable.can_tell(problem));
    problems.extend(found);
    if !problems.iter().any(Problem::is_error) {
        // Whatever the operator would say that was not said yet.
        problems.extend(
            Job::read(table, &named(object))
                .spec
                .err()
                .into_iter()
                .flatten(),
        );
    }
    problems
}

/// What a job is called that has no name.
pub(super) const UNNAMED: &str = "unnamed";

pub(super) fn nameless(name: Option<&str>) -> Option<Problem> {
    let message = "is required: give the job a name";
    name.is_none()
        .then(|| Problem::error("metadata.name", message))
}

/// The job's name, or one like those that the API server generates.
pub(super) fn name(object: &Value) -> Option<String> {
    let text = |field: &str| {
        object
            .get("metadata")?
            .get(field)?
            .as_str()
            .filter(|text| !text.is_empty())
    };
    let generated = || text("generateName").map(|prefix| format!("{prefix}{GENERATED}"));
    text("name").map(str::to_owned).or_else(generated)
}

/// The object with a name, also when it asks the API server for one.
pub(super) fn named(object: &Value) -> Value {
    let mut object = object.clone();
    if let (Some(name), Some(metadata)) = (
        name(&object),
        object.get_mut("metadata").and_then(Value::as_object_mut),
    ) {
        metadata.insert("name".to_owned(), Value::String(name));
    }
    object
}
