//! Judges the documents of a manifest.

use mxjob_core::RoleTable;
use mxjob_core::api::Version;
use mxjob_core::problem::Problem;
use serde_json::Value;

use super::document::{Document, Position};
use super::finding::Finding;
use super::identity::Identity;
use super::input::Input;
use super::older;
use super::yaml;

/// A manifest that was looked at.
#[derive(Debug, Default)]
pub(crate) struct Judged {
    /// What is wrong or odd, in no order.
    pub(crate) findings: Vec<Finding>,
    /// The documents that are jobs of ours, right or wrong, those of an older version as v1, and the
    /// API of each.
    pub(crate) jobs: Vec<(&'static RoleTable, Document)>,
    /// The kinds of those that are none of mxjob's business.
    pub(crate) strangers: Vec<String>,
}

/// Looks at every document of a manifest. Of the APIs that there are, the own one is the first.
pub(crate) fn judge(apis: &[&'static RoleTable], input: &Input) -> Judged {
    let nodes = match yaml::objects(&input.text) {
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
        let kind = apis.first().map_or("", |own| own.crd.kind);
        let problem = Problem::error("", format!("is empty: there is no {kind} in it"));
        let findings = vec![Finding::new(&input.name, 0, Position::default(), problem)];
        return Judged {
            findings,
            ..Judged::default()
        };
    }
    let documents = nodes
        .into_iter()
        .enumerate()
        .map(|(at, (node, _))| Document::new(at + 1, node));
    let documents = documents
        .map(|document| (Identity::of(apis, &document.value), document))
        .collect();
    sort_out(&input.name, documents)
}

fn sort_out(file: &str, documents: Vec<(Identity, Document)>) -> Judged {
    // Among jobs, a service or a secret is nobody's mistake; alone, it is the wrong file.
    let nothing_of_ours = documents
        .iter()
        .all(|(identity, _)| matches!(identity, Identity::Stranger(_)));
    let mut judged = Judged::default();
    for (identity, mut document) in documents {
        let mut ours = None;
        let problems = match identity {
            Identity::Ours(table, version) => {
                ours = Some(table);
                let mut problems = older::judge(table, version, &mut document.value);
                // What the conversion has written out, nobody has to mend.
                problems.retain(|one| {
                    one.is_error() || version == Version::V1 || document.has(&one.path)
                });
                problems
            }
            Identity::Stranger(problem) if nothing_of_ours => vec![problem],
            Identity::Stranger(_) => {
                let kind = document.value.get("kind").and_then(Value::as_str);
                judged.strangers.push(kind.unwrap_or_default().to_owned());
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
        judged.jobs.extend(ours.map(|table| (table, document)));
    }
    judged
}
