//! What is suggested in place of an unknown name.

use crate::suggest::unknown;

const KEYS: &[&str] = &["mode", "replicas", "restart", "requires"];

#[test]
fn a_slip_gets_the_name_that_was_meant() {
    for (written, meant) in [
        ("replica", "replicas"),
        ("require", "requires"),
        ("Mode", "mode"),
        ("modes", "mode"),
    ] {
        assert_eq!(
            unknown("key", written, KEYS),
            format!("unknown key `{written}`: did you mean `{meant}`?")
        );
    }
}

#[test]
fn anything_else_gets_all_names() {
    let message = "unknown key `colour`: use one of `mode`, `replicas`, `restart`, `requires`";
    assert_eq!(unknown("key", "colour", KEYS), message);
    assert_eq!(
        unknown::<&str>("key", "colour", &[]),
        "unknown key `colour`"
    );
}
