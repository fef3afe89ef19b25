//! The typed object, as downstream code uses it.

use crate::support::MX;
use mxjob_core::{MXJob, MxRole};
use serde_json::Value;

// promise: P100
#[test]
fn a_typed_job_says_what_it_is_and_is_read_again() {
    let manifest = MX.job(1, 1, 1);
    let job: MXJob<MxRole> = serde_json::from_value(manifest.clone()).unwrap();
    let written: Value = serde_json::to_value(&job).unwrap();
    assert_eq!(
        (&written["apiVersion"], &written["kind"]),
        (&manifest["apiVersion"], &manifest["kind"])
    );
    assert_eq!(written["spec"], manifest["spec"]);
    assert!(written.get("status").is_none());
}
