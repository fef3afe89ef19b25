//! Every sentence of the contract, every promise and every defect of the older operators has a test
//! or a reason, and every remark of a test names one that is there.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::path::Path;

use docs::remarks::{About, Remarks};
use docs::{contract, promises, remarks};

fn all() -> Remarks {
    remarks::read(Path::new("..")).unwrap()
}

#[test]
fn every_sentence_is_shown_and_every_remark_names_one() {
    let (sentences, tests) = (contract::sentences(Path::new("..")).unwrap(), all());
    assert!(!sentences.is_empty(), "contract.md has no sentence");
    let shown = |number: &str| !tests.of(About::Contract, number).is_empty();
    let numbers = sentences.iter().map(|(number, _)| number.as_str());
    let unshown: Vec<_> = numbers.filter(|number| !shown(number)).collect();
    assert!(unshown.is_empty(), "no test shows {unshown:?}");
    let known = |number: &str| sentences.iter().any(|(one, _)| one == number);
    let unknown: Vec<_> = tests.unknown(About::Contract, known).collect();
    assert!(unknown.is_empty(), "not in contract.md: {unknown:?}");
}

#[test]
fn every_promise_and_defect_has_a_test_or_a_reason_and_every_remark_names_one() {
    let (sections, tests) = (promises::sections(Path::new("..")).unwrap(), all());
    let entries: Vec<_> = sections.iter().flat_map(|one| &one.entries).collect();
    for (about, letter, wanted) in [(About::Promise, 'P', 101), (About::Defect, 'D', 25)] {
        let of_kind = entries.iter().filter(|entry| entry.about == about);
        let numbers: Vec<_> = of_kind.map(|entry| entry.number.clone()).collect();
        let all: Vec<_> = (1..=wanted).map(|one| format!("{letter}{one}")).collect();
        assert_eq!(numbers, all, "each once, in order");
        let known = |number: &str| numbers.iter().any(|one| one == number);
        let unknown: Vec<_> = tests.unknown(about, known).collect();
        assert!(unknown.is_empty(), "not in older-operators.md: {unknown:?}");
    }
    let bare = entries.iter().filter(|entry| !entry.settled(&tests));
    let bare: Vec<_> = bare.map(|entry| &entry.number).collect();
    assert!(bare.is_empty(), "neither a test nor a reason: {bare:?}");
    let both = entries
        .iter()
        .filter(|entry| entry.void.is_some() && entry.not_yet.is_some());
    let both: Vec<_> = both.map(|entry| &entry.number).collect();
    assert!(both.is_empty(), "void and not yet: {both:?}");
}
