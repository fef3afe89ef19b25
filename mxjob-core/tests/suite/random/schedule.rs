//! What can happen to a job and its operators, and how often.

use mxjob_core::model::{Fault, Kind, News};
use mxjob_core::wiring::labels;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::support::{MX, SETS, Set, TUNING, annotated, set};

/// One thing that happens. Numbers pick one of what is there.
#[derive(Clone, Debug)]
pub(crate) enum Op {
    /// A leader sends so many requests, and the last of them goes wrong like this.
    Step(usize, usize, Fault),
    /// The watch of a kind tells a leader something.
    Hear(usize, Kind, News),
    /// All its watches have told everything.
    HearAll(usize),
    /// It looks whether names that were taken are free.
    LookAtStrangers(usize),
    /// Its watches have been silent for so long that it does not believe the answers to its requests any more.
    Expire(usize),
    /// It sends one more request and dies before the answer; the next one lists everything.
    Crash(usize, Fault),
    /// Everything goes well until nothing is left to do.
    Settle,
    /// The clock goes on, or is set back; milliseconds.
    Pass(i64),
    /// The node starts what it was told to start, or stops what it was told to stop.
    Start,
    Stop,
    /// A running container ends.
    Exit(usize, i32),
    /// Somebody else deletes a pod: at once, gracefully, or by a drain.
    Vanish(usize),
    Delete(usize),
    Drain(usize),
    /// The garbage collector has its turn.
    Collect,
    /// The user edits the job.
    Suspend(bool),
    Scale(bool, u32),
    Edit(&'static str, i32),
    WipeStatus,
    /// The user replaces the job by a manifest of v1, or of v1alpha1 with the runtime id of the uid or
    /// one of their own.
    Rename(Option<Option<&'static str>>),
    /// The user deletes the job and creates it again.
    Recreate,
    /// A pod loses a label, or says that it is another replica.
    Unlabel(usize, &'static str),
    Mislabel(usize),
    /// The user makes a copy of a pod, under another name.
    Second(usize),
    /// Somebody else takes a name, with the job's labels or without, for a pod or a service.
    Take(usize, bool, bool),
    /// Whoever took names gives them back.
    FreeNames,
}

/// A job and everything that happens to it.
#[derive(Clone, Debug)]
pub(crate) struct Schedule {
    pub(crate) set: Set,
    pub(crate) manifest: Value,
    pub(crate) debounced: bool,
    pub(crate) leaders: usize,
    /// An older operator has made its first pods, if it is a job of such a one.
    pub(crate) left: bool,
    pub(crate) ops: Vec<Op>,
}

fn fault() -> impl Strategy<Value = Fault> {
    prop_oneof![
        4 => Just(Fault::None),
        1 => Just(Fault::Refused),
        1 => Just(Fault::Lost),
    ]
}

fn news() -> impl Strategy<Value = News> {
    prop_oneof![
        6 => (1..4_usize).prop_map(News::Next),
        2 => Just(News::Next(usize::MAX)),
        1 => (1..5_usize).prop_map(News::Again),
        1 => Just(News::List),
    ]
}

fn of_the_operator() -> impl Strategy<Value = Op> {
    let who = 0..2_usize;
    let kind = prop_oneof![
        2 => Just(Kind::Jobs),
        4 => Just(Kind::Pods),
        3 => Just(Kind::OlderPods),
        1 => Just(Kind::OlderServices),
        1 => Just(Kind::Services),
        1 => Just(Kind::ConfigMaps),
    ];
    prop_oneof![
        8 => (who.clone(), 1..8_usize, fault()).prop_map(|(who, times, fault)| Op::Step(who, times, fault)),
        4 => (who.clone(), kind, news()).prop_map(|(who, kind, news)| Op::Hear(who, kind, news)),
        3 => who.clone().prop_map(Op::HearAll),
        1 => who.clone().prop_map(Op::LookAtStrangers),
        1 => who.clone().prop_map(Op::Expire),
        2 => (who, fault()).prop_map(|(who, fault)| Op::Crash(who, fault)),
        3 => Just(Op::Settle),
    ]
}

fn of_the_node() -> impl Strategy<Value = Op> {
    let which = any::<u8>().prop_map(usize::from);
    let code = prop_oneof![4 => Just(0), 1 => Just(1), 2 => Just(137)];
    prop_oneof![
        6 => Just(Op::Start),
        3 => Just(Op::Stop),
        7 => (which, code).prop_map(|(which, code)| Op::Exit(which, code)),
        2 => (1_i64..700).prop_map(|seconds| Op::Pass(seconds * 1000)),
        2 => (1_i64..1500).prop_map(Op::Pass),
        1 => (1_i64..900).prop_map(|seconds| Op::Pass(-seconds * 1000)),
        1 => Just(Op::Collect),
    ]
}

fn of_users() -> impl Strategy<Value = Op> {
    let label = prop_oneof![
        2 => Just(labels::OPERATOR),
        1 => Just(labels::JOB),
        1 => Just(labels::INDEX),
    ];
    let which = || any::<u8>().prop_map(usize::from);
    prop_oneof![
        3 => which().prop_map(Op::Vanish),
        2 => which().prop_map(Op::Delete),
        2 => which().prop_map(Op::Drain),
        2 => (which(), label).prop_map(|(which, label)| Op::Unlabel(which, label)),
        1 => which().prop_map(Op::Mislabel),
        1 => which().prop_map(Op::Second),
        2 => (which(), any::<bool>(), any::<bool>())
            .prop_map(|(which, labelled, pod)| Op::Take(which, labelled, pod)),
        1 => Just(Op::FreeNames),
        10 => edit(),
    ]
}

fn edit() -> impl Strategy<Value = Op> {
    let field = prop_oneof![
        Just("spec.runPolicy.backoffLimit"),
        Just("spec.runPolicy.activeDeadlineSeconds"),
        Just("spec.runPolicy.ttlSecondsAfterFinished"),
    ];
    let id = prop_oneof![
        Just(None),
        Just(Some(None)),
        Just(Some(Some("ab12"))),
        Just(Some(Some("zz9z")))
    ];
    prop_oneof![
        4 => any::<bool>().prop_map(Op::Suspend),
        3 => (any::<bool>(), 0..4_u32).prop_map(|(worker, count)| Op::Scale(worker, count)),
        1 => (field, 1..1000_i32).prop_map(|(field, value)| Op::Edit(field, value)),
        1 => Just(Op::WipeStatus),
        3 => id.prop_map(Op::Rename),
        1 => Just(Op::Recreate),
    ]
}

type Policies = Vec<(&'static str, Value)>;

fn policies() -> impl Strategy<Value = Policies> {
    let restart = prop_oneof![
        Just("Never"),
        Just("OnFailure"),
        Just("Always"),
        Just("ExitCode")
    ];
    let failure = prop_oneof![
        4 => Just(None),
        1 => Just(Some(json!({"maxRestarts": 2}))),
        1 => Just(Some(json!({"rules": [{"action": "RestartReplica", "exitCodes": ["137"]}]}))),
        1 => Just(Some(json!({"rules": [
            {"action": "FailJob", "exitCodes": ["1"]},
            {"action": "RestartJob", "reasons": ["Deleted", "DisruptionTarget"], "countsTowardLimit": false},
        ]}))),
    ];
    let clean = prop_oneof![Just("All"), Just("Running"), Just("None")];
    let services = prop_oneof![3 => Just("PerReplica"), 1 => Just("PerJob")];
    let all_workers = proptest::bool::weighted(0.2);
    let limit = proptest::option::of(0..4);
    let deadline = proptest::option::weighted(0.15, 1..2000);
    let older = proptest::option::weighted(0.3, older());
    (
        restart,
        failure,
        clean,
        services,
        all_workers,
        limit,
        deadline,
        older,
    )
        .prop_map(
            |(restart, failure, clean, services, all_workers, limit, deadline, older)| {
                let mut all = vec![
                    ("restartPolicy", json!(restart)),
                    ("spec.runPolicy.cleanPodPolicy", json!(clean)),
                    ("spec.network.services", json!(services)),
                ];
                all.extend(all_workers.then(|| ("spec.successPolicy", json!("AllWorkers"))));
                all.extend(failure.map(|policy| ("spec.failurePolicy", policy)));
                all.extend(limit.map(|limit| ("spec.runPolicy.backoffLimit", json!(limit))));
                if let Some((chief, own)) = older {
                    all.extend([("older", json!(chief)), ("template", json!(own))]);
                }
                all.extend(
                    deadline.map(|limit| ("spec.runPolicy.activeDeadlineSeconds", json!(limit))),
                );
                all
            },
        )
}

/// Of a job that was made at v1alpha1: its chief, if it names one, and what its templates say of
/// restarts. Such a job retries by exit code.
fn older() -> impl Strategy<Value = (Option<&'static str>, Option<&'static str>)> {
    let chief = prop_oneof![Just(None), Just(Some("WORKER"))];
    let own = prop_oneof![
        Just(None),
        Just(Some("Never")),
        Just(Some("OnFailure")),
        Just(Some("Always"))
    ];
    (chief, own)
}

fn make_older(manifest: &mut Value, chief: &Value) {
    annotated(manifest, None, chief.as_str());
    for role in roles(manifest) {
        role["restartPolicy"] = json!("ExitCode");
    }
}

fn roles(manifest: &mut Value) -> impl Iterator<Item = &mut Value> {
    let roles = manifest["spec"]["mxReplicaSpecs"].as_object_mut();
    roles.unwrap().values_mut()
}

fn manifest(set_of_roles: Set, shape: (u32, u32, u32), policies: &Policies) -> Value {
    let mut manifest = set_of_roles.job(shape.0, shape.1 * shape.0, shape.2);
    for (path, value) in policies {
        match *path {
            "restartPolicy" => {
                for role in roles(&mut manifest) {
                    role["restartPolicy"] = value.clone();
                }
            }
            // One set has that version, and its other mode has not.
            "older" | "template" if set_of_roles.worker != MX.worker => {}
            "older" => make_older(&mut manifest, value),
            "template" => {
                for role in roles(&mut manifest).filter(|_| !value.is_null()) {
                    role["template"]["spec"]["restartPolicy"] = value.clone();
                }
            }
            // A tuning job has no workers.
            "spec.successPolicy" if set_of_roles.worker == TUNING.worker => {}
            _ => set(&mut manifest, path, value.clone()),
        }
    }
    manifest
}

/// Every schedule: up to 60 things that happen to one job.
pub(crate) fn schedule() -> impl Strategy<Value = Schedule> {
    let op = prop_oneof![10 => of_the_operator(), 8 => of_the_node(), 3 => of_users()];
    let shape = (0..2_u32, 0..3_u32, 1..4_u32);
    let ops = proptest::collection::vec(op, 0..60);
    (
        0..=SETS.len(),
        shape,
        policies(),
        any::<bool>(),
        1..3_usize,
        ops,
    )
        .prop_map(|(which, shape, policies, debounced, leaders, ops)| {
            let (set, shape) = match SETS.get(which) {
                Some(set) => (*set, shape),
                None => (TUNING, (1, 1, shape.2)),
            };
            Schedule {
                set,
                manifest: manifest(set, shape, &policies),
                debounced,
                leaders,
                left: ops.len() % 2 == 1,
                ops,
            }
        })
}
