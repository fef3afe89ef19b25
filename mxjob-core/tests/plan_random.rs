//! Random lives of a job: whatever happens, the planner comes to rest, counters never fall, and a
//! final condition never changes. `MXJOB_RANDOM_LIVES` tries that many new ones.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

mod support;

use std::collections::BTreeSet;

use mxjob_core::api::v1::JobStatus;
use mxjob_core::job::Replica;
use mxjob_core::plan::PodView;
use proptest::prelude::*;
use proptest::test_runner::{RngAlgorithm, TestRng, TestRunner};
use serde_json::{Value, json};
use support::{SETS, Set, TUNING, World, set};

#[derive(Clone, Debug)]
enum Happening {
    StartAll,
    Exit(usize, i32),
    Vanish(usize),
    Drain(usize),
    Suspend(bool),
    Scale(u32),
    Pass(i64),
    Obey(bool),
    RestartOperator,
}

fn happening() -> impl Strategy<Value = Happening> {
    prop_oneof![
        4 => Just(Happening::StartAll),
        6 => (any::<usize>(), prop_oneof![3 => Just(0), 1 => Just(1), 2 => Just(137)])
            .prop_map(|(which, code)| Happening::Exit(which, code)),
        1 => any::<usize>().prop_map(Happening::Vanish),
        1 => any::<usize>().prop_map(Happening::Drain),
        1 => any::<bool>().prop_map(Happening::Suspend),
        1 => (1..4_u32).prop_map(Happening::Scale),
        3 => (1_i64..700).prop_map(|seconds| Happening::Pass(seconds * 1000)),
        2 => (1_i64..1500).prop_map(Happening::Pass),
        1 => any::<bool>().prop_map(Happening::Obey),
        1 => Just(Happening::RestartOperator),
    ]
}

fn policies() -> impl Strategy<Value = Vec<(&'static str, Value)>> {
    let restart = prop_oneof![
        Just("Never"),
        Just("OnFailure"),
        Just("Always"),
        Just("ExitCode")
    ];
    let failure = prop_oneof![
        3 => Just(None),
        1 => Just(Some(json!({"maxRestarts": 2}))),
        1 => Just(Some(json!({"rules": [{"action": "RestartReplica", "exitCodes": ["137"]}]}))),
    ];
    let clean = prop_oneof![Just("All"), Just("Running"), Just("None")];
    (restart, failure, clean, proptest::option::of(0..4)).prop_map(
        |(restart, failure, clean, limit)| {
            let mut all = vec![
                ("restartPolicy", json!(restart)),
                ("spec.runPolicy.cleanPodPolicy", json!(clean)),
            ];
            all.extend(failure.map(|policy| ("spec.failurePolicy", policy)));
            all.extend(limit.map(|limit| ("spec.runPolicy.backoffLimit", json!(limit))));
            all
        },
    )
}

fn manifest(roles: Set, shape: (u32, u32, u32), policies: &[(&str, Value)]) -> Value {
    let mut manifest = roles.job(shape.0, shape.1 * shape.0, shape.2);
    for (path, value) in policies {
        if *path == "restartPolicy" {
            for role in manifest["spec"]["mxReplicaSpecs"]
                .as_object_mut()
                .unwrap()
                .values_mut()
            {
                role["restartPolicy"] = value.clone();
            }
        } else {
            set(&mut manifest, path, value.clone());
        }
    }
    manifest
}

fn happen(world: &mut World, happening: &Happening) {
    let pick = |all: Vec<Replica>, which: usize| (!all.is_empty()).then(|| all[which % all.len()]);
    match *happening {
        Happening::StartAll => world.start_all(),
        Happening::Exit(which, code) => {
            if let Some(replica) = pick(world.running_replicas(), which) {
                world.exit(replica, code);
            }
        }
        Happening::Vanish(which) => {
            if let Some(replica) = pick(world.running_replicas(), which) {
                world.vanish(replica);
            }
        }
        Happening::Drain(which) => {
            if let Some(replica) = pick(world.running_replicas(), which) {
                world.drain(replica);
            }
        }
        Happening::Suspend(suspend) => world.edit("spec.runPolicy.suspend", json!(suspend)),
        Happening::Scale(workers) => world.scale(world.set.worker, workers),
        Happening::Pass(millis) => world.pass_millis(millis),
        Happening::Obey(obedient) => world.obedient = obedient,
        Happening::RestartOperator => {
            world.cluster.restart_operator();
            world.settle();
        }
    }
}

/// Everything that may only grow.
fn counters(status: &JobStatus) -> Vec<i32> {
    let roles = status.replica_statuses.values().flat_map(|role| {
        let present: i32 = role.container_restarts.values().sum();
        [role.restarts, role.in_place_restarts + present]
    });
    [status.restarts, status.counted_restarts]
        .map(Option::unwrap_or_default)
        .into_iter()
        .chain(roles)
        .collect()
}

/// How many lives of the job the pods belong to that are to stay.
fn lives_of_pods(world: &World) -> usize {
    let stays = world
        .cluster
        .pods()
        .map(|pod| PodView::of(pod, world.set.table))
        .filter(|pod| !pod.deleting);
    stays
        .map(|pod| pod.attempt.job)
        .collect::<BTreeSet<_>>()
        .len()
}

fn live(mut world: World, happenings: &[Happening]) -> Result<(), TestCaseError> {
    // Such a replica is started again also when it ends well.
    let restarts_for_ever = world.cluster.pods().any(|pod| {
        let spec = pod.spec.as_ref().unwrap();
        spec.restart_policy.as_deref() == Some("Always")
    });
    for happening in happenings {
        let before = world.status();
        happen(&mut world, happening);
        let after = world.status();
        prop_assert!(
            world.is_quiet(),
            "not at rest after {happening:?}: {:?}",
            world.cluster.plan(world.now)
        );
        let fell = counters(&before)
            .iter()
            .zip(counters(&after))
            .any(|(before, after)| *before > after);
        prop_assert!(
            !fell,
            "a counter fell after {happening:?}: {before:?} {after:?}"
        );
        prop_assert!(
            lives_of_pods(&world) <= 1,
            "pods of two lives side by side after {happening:?}"
        );
        if before.is_finished() {
            prop_assert_eq!(before.conditions, after.conditions);
            prop_assert!(world.planned().is_empty());
        }
    }
    // From here on all goes well: the job ends.
    world.obedient = true;
    world.edit("spec.runPolicy.suspend", json!(false));
    for _ in 0..40 {
        world.settle();
        world.pass(400);
        world.start_all();
        for replica in world.running_replicas() {
            world.exit(replica, 0);
        }
    }
    prop_assert!(
        world.status().is_finished() || restarts_for_ever,
        "never ended: {:?}",
        world.status()
    );
    Ok(())
}

/// Always the same 400 lives, or as many new ones as MXJOB_RANDOM_LIVES says.
fn runner() -> TestRunner {
    let lives = std::env::var("MXJOB_RANDOM_LIVES").ok();
    let config = |cases| ProptestConfig {
        cases,
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    match lives.and_then(|lives| lives.parse().ok()) {
        Some(lives) => TestRunner::new(config(lives)),
        None => TestRunner::new_with_rng(
            config(400),
            TestRng::deterministic_rng(RngAlgorithm::ChaCha),
        ),
    }
}

#[test]
fn whatever_happens_the_planner_comes_to_rest() {
    let shape = (0..2_u32, 0..3_u32, 1..4_u32);
    let happenings = proptest::collection::vec(happening(), 0..30);
    let sets = SETS.len() + 1;
    let lives = (0..sets, shape, policies(), happenings, any::<bool>());
    let result = runner().run(&lives, |(which, shape, policies, happenings, debounced)| {
        let (roles, shape) = match SETS.get(which) {
            Some(roles) => (*roles, shape),
            None => (TUNING, (1, 1, shape.2)),
        };
        let manifest = manifest(roles, shape, &policies);
        let world = if debounced {
            World::debounced(roles, manifest)
        } else {
            World::of(roles, manifest)
        };
        live(world, &happenings)
    });
    result.unwrap_or_else(|failure| panic!("{failure}"));
}
