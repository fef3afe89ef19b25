//! The guides are there, and what they link to is.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::fs;
use std::path::Path;

/// The targets of a page's links.
fn links(page: &str) -> impl Iterator<Item = &str> {
    let targets = page.split("](").skip(1);
    targets.filter_map(|rest| Some(rest.split_once(')')?.0))
}

/// A heading as a link names it.
fn anchor(heading: &str) -> String {
    let words = heading.to_lowercase().replace(' ', "-");
    words
        .chars()
        .filter(|one| one.is_alphanumeric() || "-_".contains(*one))
        .collect()
}

// promise: P101
#[test]
fn the_guides_are_there_and_their_links_lead_somewhere() {
    let root = Path::new("..");
    let mut pages = ["README.md", "SECURITY.md", "CHANGELOG.md"]
        .map(|page| root.join(page))
        .to_vec();
    for entry in fs::read_dir(root.join("docs")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|end| end == "md") {
            pages.push(path);
        }
    }
    // How to build and how it works, a role of one's own, the tests.
    for guide in ["README.md", "docs/extending.md", "docs/testing.md"] {
        assert!(pages.contains(&root.join(guide)), "{guide} is missing");
    }
    let mut dead = Vec::new();
    for page in &pages {
        let text = fs::read_to_string(page).unwrap();
        for link in links(&text).filter(|link| !link.contains("://")) {
            let (file, heading) = link.split_once('#').unwrap_or((link, ""));
            let target = if file.is_empty() {
                page.clone()
            } else {
                page.parent().unwrap().join(file)
            };
            let there = target.exists()
                && (heading.is_empty() || {
                    let text = fs::read_to_string(&target).unwrap();
                    let mut headings = text.lines().filter(|line| line.starts_with('#'));
                    headings.any(|one| anchor(one.trim_start_matches('#').trim()) == heading)
                });
            if !there {
                dead.push(format!("{}: {link}", page.display()));
            }
        }
    }
    assert!(dead.is_empty(), "lead nowhere: {dead:#?}");
}
