//! The contract of `#[derive(ReplicaRole)]`: each file of `pass/` compiles and runs, each file of
//! `fail/` fails with exactly the errors in the `.stderr` beside it and no others.
//!
//! After a change of words: `TRYBUILD=overwrite cargo test -p ui-tests`, then read the diff.

#[test]
fn derive_replica_role() {
    let tests = trybuild::TestCases::new();
    tests.pass("tests/pass/*.rs");
    tests.compile_fail("tests/fail/*.rs");
}
