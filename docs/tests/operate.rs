//! `docs/operate.md` names every reason that the planner gives, and every flag of the operator.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::fs;
use std::path::Path;

/// Words that the planner reads from others, or that are no reasons; `docs/versions.md` has those of
/// the oldest group's ring.
const OTHERS: [&str; 15] = [
    "Complete",
    "Deleted",
    "DisruptionTarget",
    "False",
    "Pending",
    "PodScheduled",
    "Ready",
    "Recovering",
    "RemovingDeadMember",
    "ScalingDown",
    "ScalingUp",
    "Upgrading",
    "True",
    "Created",
    "Unknown",
];

fn text(path: &str) -> String {
    fs::read_to_string(Path::new("..").join(path)).unwrap()
}

/// The words in quotes that begin with a capital, comments aside.
fn capitals(code: &str) -> Vec<String> {
    let lines = code
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"));
    let quoted = lines.flat_map(|line| line.split('"').skip(1).step_by(2));
    quoted
        .filter(|word| word.starts_with(char::is_uppercase))
        .filter(|word| word.len() > 2 && word.chars().all(char::is_alphanumeric))
        .map(str::to_owned)
        .collect()
}

#[test]
fn every_reason_of_an_event_or_a_condition_is_told() {
    let page = text("docs/operate.md");
    let mut reasons = Vec::new();
    for entry in fs::read_dir("../mxjob-core/src/plan").unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|end| end == "rs") {
            reasons.extend(capitals(&fs::read_to_string(path).unwrap()));
        }
    }
    reasons.extend(capitals(&text("mxjob-operator/src/controller/write.rs")));
    assert!(reasons.len() > 40, "{reasons:?}");
    reasons.retain(|word| !OTHERS.contains(&word.as_str()));
    reasons.retain(|word| !page.contains(word.as_str()));
    assert_eq!(reasons, Vec::<String>::new(), "not in docs/operate.md");
}

#[test]
fn every_flag_is_told() {
    let page = text("docs/operate.md");
    let code =
        text("mxjob-operator/src/controller/args.rs") + &text("mxjob-operator/src/telemetry.rs");
    // As clap makes them of the variables that each of them has.
    let flags = code
        .split("\"MXJOB_")
        .skip(1)
        .filter_map(|rest| rest.split('"').next());
    let flags: Vec<_> = flags
        .filter(|name| !["LOG", ""].contains(name))
        .map(|name| format!("`--{}`", name.to_lowercase().replace('_', "-")))
        .collect();
    assert!(flags.len() > 10, "{flags:?}");
    for flag in flags {
        assert!(page.contains(&flag), "{flag} is not in docs/operate.md");
    }
}
