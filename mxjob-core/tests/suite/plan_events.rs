//! What is said about objects that come and go: one by one, or in sums when there are many.

use crate::support::{MX, SETS, World, set};
use mxjob_core::job::Attempt;
use mxjob_core::plan::{Action, Wave};
use serde_json::json;

// contract: 10.1
#[test]
fn of_twenty_replicas_each_is_told() {
    let world = MX.world(1, 1, 18);
    let said = world.said("SuccessfulCreatePod");
    assert_eq!(said.len(), 20);
    assert!(said.contains(&"Created pod: demo-worker-17".to_owned()));
    assert_eq!(world.said("SuccessfulCreateService").len(), 20);
}

// contract: 10.1
#[test]
fn of_more_than_twenty_replicas_each_role_is_told_once_a_wave() {
    for roles in SETS {
        let mut manifest = roles.job(1, 2, 150);
        set(&mut manifest, "spec.failurePolicy", json!({}));
        let mut world = World::running(roles, manifest);
        let [chief, server, worker] =
            [roles.chief, roles.server, roles.worker].map(str::to_lowercase);
        let of = |object: &str| {
            [
                format!("{object}: demo-{chief}-0"),
                format!("2 {object}s: demo-{server}-0 .. demo-{server}-1"),
                format!("150 {object}s: demo-{worker}-0 .. demo-{worker}-149"),
            ]
        };
        let sorted = |mut all: Vec<String>| {
            all.sort();
            all
        };
        for (reason, object) in [
            ("SuccessfulCreatePod", "pod"),
            ("SuccessfulCreateService", "service"),
        ] {
            let wanted = of(object).map(|rest| format!("Created {rest}"));
            assert_eq!(sorted(world.said(reason)), sorted(wanted.to_vec()));
        }
        world.events.clear();
        world.exit(roles.worker(7), 137);
        let wanted = of("pod").map(|rest| format!("Deleted {rest}"));
        assert_eq!(
            sorted(world.said("SuccessfulDeletePod")),
            sorted(wanted.to_vec())
        );
    }
}

#[test]
fn errors_of_many_objects_are_told_once_with_the_first() {
    let world = MX.world(1, 0, 30);
    let job = world.cluster.job().unwrap();
    let mut wave = Wave::default();
    for index in 0..9 {
        let action = Action::CreatePod(MX.worker(index), Attempt::default());
        let error = format!("no room for {index}");
        let result = if index < 3 {
            Ok(())
        } else {
            Err(error.as_str())
        };
        assert_eq!(wave.add(job, &action, result), None);
    }
    let said: Vec<_> = wave.end().into_iter().map(|event| event.message).collect();
    assert_eq!(
        said,
        [
            "Created 3 pods: demo-worker-0 .. demo-worker-2",
            "Error creating 6 pods (demo-worker-3 .. demo-worker-8): no room for 3",
        ]
    );
    assert!(wave.end().is_empty());
}
