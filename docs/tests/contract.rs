//! Every sentence of the contract has a test, and every test names a sentence that is there.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::path::Path;

use docs::contract;

#[test]
fn every_sentence_is_shown_and_every_remark_names_one() {
    let contract = contract::read(Path::new("..")).unwrap();
    assert!(
        !contract.sentences.is_empty(),
        "contract.md has no sentence"
    );
    let unshown: Vec<_> = contract.unshown().collect();
    assert!(unshown.is_empty(), "no test shows {unshown:?}");
    let unknown: Vec<_> = contract.unknown().collect();
    assert!(unknown.is_empty(), "not in contract.md: {unknown:?}");
}
