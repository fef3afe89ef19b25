//! The body of a request to the conversion webhook: whatever it is, it gets an answer.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mxjob_core::conversion::review;
use mxjob_core::{MxRole, ReplicaRole as _};
use serde_json::Value;

fuzz_target!(|body: &[u8]| {
    let Ok(request) = serde_json::from_slice::<Value>(body) else {
        return;
    };
    let answer = review(MxRole::TABLE, &request);
    let result = &answer["response"]["result"]["status"];
    assert!(result == "Success" || result == "Failed", "{answer}");
});
