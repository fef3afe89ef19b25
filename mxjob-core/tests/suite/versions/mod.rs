//! Random objects of every version of the resource: right ones, and ones of any shape.

mod pods;
mod shapes;

use mxjob_core::api::Version;
use mxjob_core::conversion::{CONVERSION_ANNOTATION, convert};
use mxjob_core::{MxRole, ReplicaRole, RoleTable};
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use serde_json::{Map, Value, json};

pub(crate) use pods::template;
pub(crate) use shapes::{any_shape, mangled};

pub(crate) const TABLE: &RoleTable = MxRole::TABLE;

/// Converts what can be.
pub(crate) fn to(version: Version, object: &Value) -> Value {
    convert(TABLE, object.clone(), version).unwrap()
}

pub(crate) fn object(version: Version, spec: Value) -> Value {
    json!({
        "apiVersion": format!("kubeflow.org/{version}"),
        "kind": "MXJob",
        "metadata": {
            "name": "demo", "namespace": "lab", "uid": "u-1", "generation": 3,
            "labels": {"team": "a"}, "finalizers": ["example.org/hold"],
        },
        "spec": spec,
    })
}

/// The annotation's text.
pub(crate) fn annotation(object: &Value) -> Option<Value> {
    let text = object["metadata"]["annotations"].get(CONVERSION_ANNOTATION)?;
    Some(serde_json::from_str(text.as_str().unwrap()).unwrap())
}

/// The object without the annotation.
pub(crate) fn bare(mut object: Value) -> Value {
    let metadata = object["metadata"].as_object_mut().unwrap();
    if let Some(annotations) = metadata.get_mut("annotations") {
        let annotations = annotations.as_object_mut().unwrap();
        annotations.remove(CONVERSION_ANNOTATION);
        if annotations.is_empty() {
            metadata.remove("annotations");
        }
    }
    object
}

pub(crate) fn version() -> impl Strategy<Value = Version> {
    select(Version::ALL.to_vec())
}

/// An object of that version as a user may write it.
pub(crate) fn written(version: Version) -> BoxedStrategy<Value> {
    let spec = match version {
        Version::V1Alpha1 => v1alpha1(),
        Version::V1Beta1 => v1beta1(),
        Version::V1 => v1(),
    };
    let more = sometimes(select(vec![
        json!({"team": "a"}),
        json!({"team": "a", "b.example.com/c": "{}"}),
    ]));
    (spec, more)
        .prop_map(move |(spec, annotations)| {
            let mut object = object(version, spec);
            if let Some(annotations) = annotations {
                object["metadata"]["annotations"] = annotations;
            }
            object
        })
        .boxed()
}

/// A stored object: made at some version, perhaps changed at another, and with a status.
pub(crate) fn stored() -> BoxedStrategy<Value> {
    let status = sometimes(status());
    let edit = sometimes((version(), written(Version::V1), written(Version::V1)));
    (version().prop_flat_map(written), status, edit)
        .prop_map(|(made, status, edit)| {
            let mut object = to(Version::V1, &made);
            if let Some(status) = status {
                object["status"] = status;
            }
            match edit {
                Some((version, one, other)) => {
                    let mut view = to(version, &object);
                    let (one, other) = (to(version, &one), to(version, &other));
                    graft(&mut view["spec"], &one["spec"], &other["spec"]);
                    to(Version::V1, &view)
                }
                None => object,
            }
        })
        .boxed()
}

/// Changes some of what `one` and `other` differ in.
pub(crate) fn graft(target: &mut Value, one: &Value, other: &Value) {
    match (target, one, other) {
        (Value::Object(target), Value::Object(one), Value::Object(other)) => {
            for (key, value) in other
                .iter()
                .filter(|(key, value)| one.get(*key) != Some(value))
            {
                match target.get_mut(key) {
                    Some(target) => {
                        graft(target, &one.get(key).cloned().unwrap_or_default(), value);
                    }
                    None => {
                        target.insert(key.clone(), value.clone());
                    }
                }
            }
        }
        (target, _, other) => *target = other.clone(),
    }
}

fn sometimes<T: std::fmt::Debug + Clone + 'static>(
    inner: impl Strategy<Value = T> + 'static,
) -> BoxedStrategy<Option<T>> {
    proptest::option::weighted(0.4, inner).boxed()
}

/// An object of the fields that are there.
pub(crate) fn fields<const N: usize>(fields: [(&str, Option<Value>); N]) -> Value {
    let fields = fields
        .into_iter()
        .filter_map(|(key, value)| Some((key.to_owned(), value?)));
    Value::Object(fields.collect())
}

fn count() -> BoxedStrategy<Option<Value>> {
    sometimes((1..5_i32).prop_map(Value::from))
}

fn word(words: &[&'static str]) -> BoxedStrategy<Option<Value>> {
    sometimes(select(words.to_vec()).prop_map(Value::from))
}

fn v1alpha1() -> BoxedStrategy<Value> {
    let entry = |name: &'static str| {
        let spelled = select(vec![
            name.to_ascii_uppercase(),
            name.to_owned(),
            name.to_ascii_lowercase(),
        ]);
        let port = sometimes(select(vec![9091, 9000, 80]).prop_map(Value::from));
        (
            Just(name),
            spelled,
            any::<bool>(),
            count(),
            template(),
            port,
        )
            .prop_map(|(name, spelled, silent, replicas, template, port)| {
                let spelled = Some(json!(spelled)).filter(|_| !silent || name != "Worker");
                fields([
                    ("mxReplicaType", spelled),
                    ("replicas", replicas),
                    ("template", Some(template)),
                    ("PsRootPort", port),
                ])
            })
    };
    let names = vec!["Scheduler", "Server", "Worker"];
    let entries = subsequence(names, 0..=3).prop_shuffle();
    let entries =
        entries.prop_flat_map(move |names| names.into_iter().map(entry).collect::<Vec<_>>());
    let chief = (select(vec!["SCHEDULER", "WORKER"]), 0..2_i32)
        .prop_map(|(name, index)| json!({"chief": {"replicaName": name, "replicaIndex": index}}));
    (
        entries,
        word(&["ab12", "z000"]),
        word(&["dist", "local", "other"]),
        word(&["some/image", "jzp1025/mxnet:test"]),
        sometimes(prop_oneof![chief, Just(json!({}))]),
        word(&["", "All", "Running", "None"]),
        word(&["", "volcano"]),
    )
        .prop_map(|(entries, id, mode, image, chief, clean, scheduler)| {
            fields([
                ("replicaSpecs", Some(json!(entries))),
                ("RuntimeId", id),
                ("jobMode", mode),
                ("mxImage", image),
                ("terminationPolicy", chief),
                ("cleanupPodPolicy", clean),
                ("schedulerName", scheduler),
            ])
        })
        .boxed()
}

/// The replicas of a job, training or tuning or neither.
fn roles() -> BoxedStrategy<Value> {
    let entry = (
        count(),
        word(&["Never", "OnFailure", "Always", "ExitCode"]),
        word(&["2080ti", ""]),
        template(),
    )
        .prop_map(|(replicas, restart, label, template)| {
            fields([
                ("replicas", replicas),
                ("restartPolicy", restart),
                ("label", label),
                ("template", Some(template)),
            ])
        });
    let training = vec!["Scheduler", "Server", "Worker"];
    let tuning = vec!["TunerTracker", "TunerServer", "Tuner"];
    let odd = vec!["worker", "SERVER", "Worker", "Tuner", "Boss"];
    let names = prop_oneof![
        3 => subsequence(training, 1..=3),
        3 => Just(tuning),
        1 => subsequence(odd, 1..=4),
    ];
    names
        .prop_flat_map(move |names| {
            vec(entry.clone(), names.len()).prop_map(move |entries| {
                let entries = names.iter().map(|name| (*name).to_owned()).zip(entries);
                Value::Object(entries.collect())
            })
        })
        .boxed()
}

/// The policies that v1 has in two places.
fn policies() -> BoxedStrategy<Map<String, Value>> {
    (
        word(&["All", "Running", "None"]),
        count(),
        count(),
        count(),
        sometimes(Just(json!({"minAvailable": 2, "queue": "q"}))),
    )
        .prop_map(|(clean, ttl, deadline, backoff, gang)| {
            let Value::Object(fields) = fields([
                ("cleanPodPolicy", clean),
                ("ttlSecondsAfterFinished", ttl),
                ("activeDeadlineSeconds", deadline),
                ("backoffLimit", backoff),
                ("schedulingPolicy", gang),
            ]) else {
                panic!("fields are an object")
            };
            fields
        })
        .boxed()
}

fn alike() -> BoxedStrategy<Value> {
    let mode = word(&["MXTrain", "MXTune"]);
    let success = word(&["", "AllWorkers"]);
    (mode, roles(), success)
        .prop_map(|(mode, roles, success)| {
            fields([
                ("jobMode", mode),
                ("mxReplicaSpecs", Some(roles)),
                ("successPolicy", success),
            ])
        })
        .boxed()
}

fn v1beta1() -> BoxedStrategy<Value> {
    (alike(), policies())
        .prop_map(|(mut spec, policies)| {
            spec.as_object_mut().unwrap().extend(policies);
            spec
        })
        .boxed()
}

fn v1() -> BoxedStrategy<Value> {
    let codes = sometimes(select(vec![json!([]), json!(["1", "128-255"])]));
    let suspend = sometimes(any::<bool>().prop_map(Value::from));
    let run = (policies(), codes, suspend).prop_map(|(policies, codes, suspend)| {
        let mut run = fields([("retryableExitCodes", codes), ("suspend", suspend)]);
        run.as_object_mut().unwrap().extend(policies);
        run
    });
    let failure = json!({"maxRestarts": 2, "rules": [{"action": "FailJob", "exitCodes": ["1"]}]});
    (
        v1beta1(),
        sometimes(run),
        sometimes(Just(failure)),
        sometimes(Just(json!({"services": "PerJob"}))),
    )
        .prop_map(|(mut spec, run, failure, network)| {
            let more = fields([
                ("runPolicy", run),
                ("failurePolicy", failure),
                ("network", network),
            ]);
            spec.as_object_mut()
                .unwrap()
                .extend(more.as_object().unwrap().clone());
            spec
        })
        .boxed()
}

/// A status as the operator writes it, more or less.
pub(crate) fn status() -> BoxedStrategy<Value> {
    let kinds = vec![
        "Created",
        "Running",
        "Restarting",
        "Suspended",
        "Succeeded",
        "Failed",
        "Stalled",
    ];
    let condition = (
        select(kinds),
        any::<bool>(),
        word(&["MXJobFailed", "FailedInvalidMXJobSpec"]),
    )
        .prop_map(|(kind, is, reason)| {
            fields([
                ("type", Some(json!(kind))),
                ("status", Some(json!(if is { "True" } else { "False" }))),
                ("reason", reason),
                ("message", Some(json!("why"))),
                ("lastUpdateTime", Some(json!("2026-01-01T00:00:00Z"))),
            ])
        });
    let counts =
        (count(), count(), count(), count()).prop_map(|(active, failed, done, restarts)| {
            fields([
                ("active", active),
                ("failed", failed),
                ("succeeded", done),
                ("restarts", restarts),
                ("startedIndexes", Some(json!("0-1"))),
            ])
        });
    let names = select(vec!["Scheduler", "Server", "Worker", "Tuner"]).prop_map(str::to_owned);
    (
        vec(condition, 0..4),
        btree_map(names, counts, 0..3),
        sometimes(Just(json!("2026-01-01T00:00:00Z"))),
        count(),
        word(&["Created", "Failed"]),
    )
        .prop_map(|(conditions, roles, start, restarts, phase)| {
            fields([
                ("conditions", Some(json!(conditions))),
                ("replicaStatuses", Some(json!(roles))),
                ("startTime", start),
                ("restarts", restarts),
                ("phase", phase),
            ])
        })
        .boxed()
}
