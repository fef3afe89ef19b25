//! What the user is told when much happens at once, and in the end.

use crate::support::{Look, MX, SETS, World, set};
use mxjob_core::api::v1::ConditionType;
use serde_json::json;

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

// contract: 9.1
#[test]
fn a_job_that_is_suspended_while_it_restarts_is_not_running() {
    for roles in SETS {
        let mut manifest = roles.job(1, 1, 1);
        set(&mut manifest, "spec.failurePolicy", json!({}));
        let mut world = World::running(roles, manifest);
        world.exit(roles.worker(0), 137);
        assert_eq!(world.conditions(), ["Created=True", "Restarting=True"]);
        world.edit("spec.runPolicy.suspend", json!(true));
        assert_eq!(
            world.conditions(),
            ["Created=True", "Running=False", "Suspended=True"]
        );
        let kind = roles.table.crd.kind;
        assert_eq!(
            world.message(ConditionType::Running),
            format!("{kind} demo is suspended.")
        );
        assert!(world.is_quiet());
        world.edit("spec.runPolicy.suspend", json!(false));
        world.start_all();
        assert_eq!(
            world.conditions(),
            ["Created=True", "Suspended=False", "Running=True"]
        );
    }
}

// contract: 9.4
#[test]
fn what_failed_is_counted_whether_its_pod_stays_or_not() {
    for policy in ["All", "Running", "None"] {
        let mut manifest = MX.job(0, 0, 3);
        set(
            &mut manifest,
            "spec.runPolicy.cleanPodPolicy",
            json!(policy),
        );
        let mut world = World::running(MX, manifest);
        world.exit(MX.worker(0), 1);
        assert_eq!(world.phase(), "Failed");
        assert_eq!(
            world.status().chief.as_deref(),
            Some("Worker/0 Failed"),
            "{policy}"
        );
        let counts = world.counts("Worker");
        assert_eq!((counts.failed, counts.active), (1, 0), "{policy}");
    }
}
