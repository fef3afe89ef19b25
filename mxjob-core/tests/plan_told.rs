//! What the user is told when much happens at once, and in the end.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

mod support;

use mxjob_core::api::v1::ConditionType;
use serde_json::json;
use support::{Look, MX, SETS, World, set};

// contract: 10.2
#[test]
fn a_restart_of_the_whole_job_tells_every_exit_of_the_same_look() {
    let mut manifest = MX.job(1, 1, 2);
    let rules = json!({"rules": [{"action": "RestartReplica", "roles": ["Server"]}]});
    set(&mut manifest, "spec.failurePolicy", rules);
    let mut look = Look::at(manifest);
    look.fail("demo-server-0", Some(1));
    look.fail("demo-worker-0", Some(137));
    let plan = look.plan();
    assert_eq!(plan.status.unwrap().restarts, Some(1));
    let exits = plan
        .events
        .iter()
        .filter(|one| one.reason == "ExitedWithCode");
    let mut exits: Vec<_> = exits.map(|one| one.message.as_str()).collect();
    exits.sort_unstable();
    assert_eq!(
        exits,
        [
            "Pod: lab.demo-server-0 exited with code 1",
            "Pod: lab.demo-worker-0 exited with code 137",
        ]
    );
}
