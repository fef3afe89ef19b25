//! Random jobs of a role set: right ones, and wrong ones of every kind that types let pass.

use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Map, Value, json};

use crate::role::RoleTable;

/// A name with which the last pod of one role has the longest name that it may have, or one
/// character more.
#[derive(Clone, Copy, Debug)]
pub(super) struct Edge {
    which: prop::sample::Index,
    over: bool,
}

pub(super) fn edge() -> impl Strategy<Value = Edge> {
    (any::<prop::sample::Index>(), any::<bool>()).prop_map(|(which, over)| Edge { which, over })
}

impl Edge {
    /// The name of a job whose pods' names end so.
    pub(super) fn name(self, ends: &[String]) -> String {
        let end = ends.get(self.which.index(ends.len().max(1)));
        let longest = 63 + usize::from(self.over);
        "d".repeat(longest - end.map_or(0, String::len))
    }

    fn set(self, table: &RoleTable, job: &mut Value) {
        let last = |(key, entry): (&String, &Value)| {
            let default = table.find(key).map_or(1, |id| table.role(id).default);
            let count = entry["replicas"].as_i64().unwrap_or(default.into());
            format!("-{key}-{}", count.max(1) - 1)
        };
        let roles = job["spec"]["mxReplicaSpecs"].as_object().into_iter();
        let ends: Vec<_> = roles.flatten().map(last).collect();
        job["metadata"]["name"] = json!(self.name(&ends));
    }
}

/// A job that the types allow.
pub(super) fn job(table: &'static RoleTable) -> BoxedStrategy<Value> {
    let odd = vec!["Demo", "1demo", "demo-", "de.mo", "-", "d", "demo_x"];
    let name = prop_oneof![
        8 => Just("demo".to_owned()),
        1 => select(odd).prop_map(str::to_owned),
        1 => (60_usize..70).prop_map(|length| "d".repeat(length)),
    ];
    (name, spec(table), rarely(edge()))
        .prop_map(move |(name, spec, edge)| {
            let mut job = json!({"metadata": {"name": name}, "spec": spec});
            if let Some(edge) = edge {
                edge.set(table, &mut job);
            }
            job
        })
        .boxed()
}

/// The spec of a job.
pub(super) fn spec(table: &'static RoleTable) -> BoxedStrategy<Value> {
    let modes: Vec<_> = table.modes.iter().map(|mode| mode.name).collect();
    // Most jobs are of one mode, or the rules about what a mode lacks would rarely be asked.
    select(modes)
        .prop_flat_map(move |home| spec_of(table, home))
        .boxed()
}

fn spec_of(table: &'static RoleTable, home: &'static str) -> BoxedStrategy<Value> {
    let modes: Vec<_> = table.modes.iter().map(|mode| mode.name).collect();
    let mode = prop_oneof![
        3 => Just(None),
        3 => Just(Some(json!(home))),
        1 => select(modes).prop_map(|mode| Some(json!(mode))),
    ];
    let of_home: Vec<_> = table.roles_of(home).map(|id| table.role(id).name).collect();
    let key = prop_oneof![12 => cased(of_home), 1 => role_key(table)];
    let roles = btree_map(key, replicas(table), 1..5);
    let success = rarely(select(vec![json!(""), json!("AllWorkers")]));
    let failure = rarely(vec(failure_rule(table), 0..3).prop_map(|rules| json!({"rules": rules})));
    (mode, roles, success, failure, run_policy(), policies())
        .prop_map(|(mode, roles, success, failure, run, flat)| {
            let fields = [
                ("jobMode", mode),
                ("mxReplicaSpecs", Some(json!(roles))),
                ("successPolicy", success),
                ("failurePolicy", failure),
                ("runPolicy", run),
            ];
            merge(fields, flat)
        })
        .boxed()
}

fn merge<const N: usize>(fields: [(&str, Option<Value>); N], more: Map<String, Value>) -> Value {
    let fields = fields
        .into_iter()
        .filter_map(|(name, value)| Some((name.to_owned(), value?)));
    Value::Object(fields.chain(more).collect())
}

fn rarely<T: std::fmt::Debug + 'static>(
    inner: impl Strategy<Value = T> + 'static,
) -> BoxedStrategy<Option<T>> {
    proptest::option::weighted(0.3, inner).boxed()
}

/// A role in some letter case, or none of the set.
fn role_key(table: &'static RoleTable) -> BoxedStrategy<String> {
    let names = table.roles.iter().map(|role| role.name).collect();
    prop_oneof![4 => cased(names), 1 => Just("Boss".to_owned())].boxed()
}

fn cased(names: Vec<&'static str>) -> BoxedStrategy<String> {
    let any = (select(names.clone()), 0..3_u8).prop_map(|(name, case)| match case {
        0 => name.to_lowercase(),
        1 => name.to_uppercase(),
        _ => name.to_owned(),
    });
    prop_oneof![6 => select(names).prop_map(str::to_owned), 1 => any].boxed()
}

fn replicas(table: &'static RoleTable) -> BoxedStrategy<Value> {
    let count = prop_oneof![
        4 => Just(None),
        4 => (0..6_i32).prop_map(Some),
        4 => Just(Some(1)),
        1 => select(vec![99_999, i32::MAX]).prop_map(Some),
    ];
    let restart = rarely(select(vec!["Never", "OnFailure", "Always", "ExitCode"]));
    (count, restart, pod(table))
        .prop_map(|(count, restart, pod)| {
            let fields = [
                ("replicas", count.map(Value::from)),
                ("restartPolicy", restart.map(Value::from)),
                ("template", Some(json!({"spec": pod}))),
            ];
            merge(fields, Map::new())
        })
        .boxed()
}

fn pod(table: &'static RoleTable) -> BoxedStrategy<Value> {
    let own = table.roles.iter().filter_map(|role| role.container);
    let names: Vec<_> = own.chain([table.container]).collect();
    let work: Vec<_> = names
        .iter()
        .map(|name| json!({"name": name, "image": "i"}))
        .collect();
    (
        proptest::bool::weighted(0.8),
        vec(container(names), 0..3),
        rarely(vec(container(vec!["init"]), 0..2)),
    )
        .prop_map(move |(good, more, init)| {
            let mut containers = if good { work.clone() } else { Vec::new() };
            containers.extend(more);
            merge(
                [
                    ("containers", Some(json!(containers))),
                    ("initContainers", init.map(Value::from)),
                ],
                Map::new(),
            )
        })
        .boxed()
}

fn container(names: Vec<&'static str>) -> BoxedStrategy<Value> {
    let name = prop_oneof![2 => select(names), 1 => Just("side")];
    let image = prop_oneof![8 => Just(Some("i")), 1 => Just(Some("")), 1 => Just(None)];
    let protocol = proptest::option::of(select(vec!["TCP", "UDP"]));
    let port = (select(vec![80, 81, 9091]), protocol).prop_map(|(number, protocol)| {
        merge(
            [
                ("containerPort", Some(json!(number))),
                ("protocol", protocol.map(Value::from)),
            ],
            Map::new(),
        )
    });
    (name, image, rarely(vec(port, 0..3)))
        .prop_map(|(name, image, ports)| {
            let fields = [
                ("name", Some(json!(name))),
                ("image", image.map(Value::from)),
                ("ports", ports.map(Value::from)),
            ];
            merge(fields, Map::new())
        })
        .boxed()
}

fn exit_codes() -> BoxedStrategy<Vec<String>> {
    let code = || select(vec![0_u16, 1, 9, 10, 99, 137, 200, 249, 255, 256, 300]);
    let good = code().prop_map(|code| code.to_string());
    let range = (code(), code()).prop_map(|(one, other)| format!("{one}-{other}"));
    let odd =
        select(vec!["", "-", "1-", "-1", "01", "1-2-3", "a", "+1", "1 "]).prop_map(str::to_owned);
    vec(prop_oneof![4 => good, 4 => range, 1 => odd], 0..2).boxed()
}

fn failure_rule(table: &'static RoleTable) -> BoxedStrategy<Value> {
    (rarely(vec(role_key(table), 0..3)), rarely(exit_codes()))
        .prop_map(|(roles, codes)| {
            let fields = [
                ("action", Some(json!("FailJob"))),
                ("roles", roles.map(Value::from)),
                ("exitCodes", codes.map(Value::from)),
            ];
            merge(fields, Map::new())
        })
        .boxed()
}

/// The five policies that may stand in two places.
fn policies() -> BoxedStrategy<Map<String, Value>> {
    let clean = rarely(select(vec!["All", "Running"]));
    let gang = rarely((1..3).prop_map(|least| json!({"minAvailable": least})));
    (clean, rarely(0..2), rarely(1..3), rarely(0..2), gang)
        .prop_map(|(clean, ttl, deadline, backoff, gang)| {
            let fields = [
                ("cleanPodPolicy", clean.map(Value::from)),
                ("ttlSecondsAfterFinished", ttl.map(Value::from)),
                ("activeDeadlineSeconds", deadline.map(Value::from)),
                ("backoffLimit", backoff.map(Value::from)),
                ("schedulingPolicy", gang),
            ];
            fields
                .into_iter()
                .filter_map(|(name, value)| Some((name.to_owned(), value?)))
                .collect()
        })
        .boxed()
}

fn run_policy() -> BoxedStrategy<Option<Value>> {
    let manager = rarely(select(vec!["", "a.example.com/x", "b.example.com/y"]));
    let run = (
        policies(),
        rarely(exit_codes()),
        rarely(any::<bool>()),
        manager,
    )
        .prop_map(|(policies, codes, suspend, manager)| {
            let fields = [
                ("retryableExitCodes", codes.map(Value::from)),
                ("suspend", suspend.map(Value::from)),
                ("managedBy", manager.map(Value::from)),
            ];
            merge(fields, policies)
        });
    proptest::option::of(run).boxed()
}

/// A stored job and an edit of it: few changes, as people make them.
pub(super) fn edited(table: &'static RoleTable) -> BoxedStrategy<(Value, Value)> {
    let status = rarely(select(vec![
        json!({"conditions": [{"type": "Succeeded", "status": "True"}]}),
        json!({"conditions": [{"type": "Created", "status": "True"}, {"type": "Failed", "status": "False"}]}),
        json!({"conditions": [{"type": "Failed"}]}),
        json!({}),
    ]));
    (
        job(table),
        job(table),
        status,
        vec(any::<bool>(), 8),
        rarely(edge()),
    )
        .prop_map(move |(mut old, other, status, changed, edge)| {
            let mut new = old.clone();
            let fields = ["jobMode", "runPolicy", "mxReplicaSpecs", "backoffLimit"];
            for (field, _) in fields.iter().zip(&changed).filter(|(_, changed)| **changed) {
                new["spec"][*field] = other["spec"][*field].clone();
                if new["spec"][*field].is_null() {
                    new["spec"].as_object_mut().map(|spec| spec.remove(*field));
                }
            }
            if let Some(edge) = edge {
                edge.set(table, &mut new);
                old["metadata"] = new["metadata"].clone();
            }
            if let Some(status) = status {
                old["status"] = status.clone();
                new["status"] = status;
            }
            (old, new)
        })
        .boxed()
}
