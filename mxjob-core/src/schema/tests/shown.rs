//! Edits of templates where the job's port is shown: in CEL as in Rust of what they are in storage.

use std::cell::RefCell;

use kube_core::cel::{CompiledSchema, Validator, compile_schema};
use proptest::option::of;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

use super::FARM;
use super::list::object;
use super::parity::{Write, plain, runner};
use crate::api::Version;
use crate::conversion::convert;
use crate::schema::rule::{Before, Fields, Rule, Subject};
use crate::schema::{attach, older};
use crate::{MxRole, ReplicaRole, RoleTable};

fn ports() -> impl Strategy<Value = Option<Value>> {
    let own = || json!({"containerPort": 8080});
    let job = || json!({"name": "mxjob-port", "containerPort": 9091});
    let mut other = job();
    other["containerPort"] = json!(9099);
    let mut on_host = job();
    on_host["hostPort"] = json!(9091);
    let mut tcp = job();
    tcp["protocol"] = json!("TCP");
    let lists = [
        json!([]),
        json!([own()]),
        json!([job()]),
        json!([own(), job()]),
        json!([job(), own()]),
        json!([{"containerPort": 9091}]),
        json!([{"containerPort": 9091, "protocol": "UDP"}]),
        json!([other]),
        json!([on_host]),
        json!([tcp]),
    ];
    prop_oneof![2 => Just(None), 3 => select(lists.to_vec()).prop_map(Some)]
}

fn template() -> impl Strategy<Value = Value> {
    let word = || of(select(vec![json!("a"), json!("b")]));
    // Most edits are of the ports alone.
    let rarely = |word| prop_oneof![9 => Just(None), 1 => word];
    let side = proptest::option::weighted(0.2, ports());
    let words = (rarely(word()), rarely(word()), rarely(word()));
    (ports(), side, words).prop_map(|(ports, side, (label, node, command))| {
        let container = |name: &str, command: Option<Value>, ports| {
            object(vec![
                ("name", Some(json!(name))),
                ("image", Some(json!("i"))),
                ("command", command.map(|command| json!([command]))),
                ("ports", ports),
            ])
        };
        let own = container("mxnet", command, ports);
        let side = side.map(|ports| container("side", None, ports));
        let containers: Vec<_> = [Some(own), side].into_iter().flatten().collect();
        let spec = object(vec![
            ("containers", Some(json!(containers))),
            ("nodeName", node),
        ]);
        let metadata = label.map(|label| json!({"labels": {"own": label}}));
        object(vec![("metadata", metadata), ("spec", Some(spec))])
    })
}

fn job() -> impl Strategy<Value = Value> {
    (template(), of(template())).prop_map(|(one, other)| {
        let entry = |template| json!({ "template": template });
        let [first, second, ..] = MxRole::TABLE.roles else {
            unreachable!("there are six");
        };
        let roles = object(vec![
            (first.name, Some(entry(one))),
            (second.name, other.map(entry)),
        ]);
        json!({
            "apiVersion": "kubeflow.org/v1beta1", "kind": "MXJob", "metadata": {"name": "demo"},
            "spec": {"mxReplicaSpecs": roles},
        })
    })
}

fn to(version: Version, job: &Value) -> Value {
    convert(MxRole::TABLE, job.clone(), version).unwrap()
}

/// With the job's port last of its list, and no list that is empty: both are the same for a pod, and the
/// rule does not tell them apart where it looks into ports.
fn settled(mut job: Value) -> Value {
    let roles = job["spec"]["mxReplicaSpecs"].as_object_mut().unwrap();
    for entry in roles.values_mut() {
        let containers = &mut entry["template"]["spec"]["containers"];
        for container in containers.as_array_mut().unwrap() {
            let is_work = container["name"] == "mxnet";
            let Some(ports) = container.get_mut("ports").and_then(Value::as_array_mut) else {
                continue;
            };
            let is_last = |port: &Value| {
                is_work && *port == json!({"name": "mxjob-port", "containerPort": 9091})
            };
            ports.sort_by_key(is_last);
            if ports.is_empty() {
                container.as_object_mut().unwrap().shift_remove("ports");
            }
        }
    }
    job
}

/// kube-cel does not read optional fields: null instead of nothing.
fn without_optionals(rule: &str) -> String {
    let part = |(index, part): (usize, &str)| match part.find([',', ']']) {
        Some(end) if index > 0 => {
            let (field, rest) = part.split_at(end);
            format!("(has(x.{field}) ? x.{field} : null){rest}")
        }
        _ => part.to_owned(),
    };
    rule.split("x.?").enumerate().map(part).collect()
}

/// A schema with the one rule.
fn compiled(table: &'static RoleTable) -> CompiledSchema {
    let mut root = older::v1beta1_without_rules(table);
    let fields = Fields::of(&mut root);
    let mut rules = Rule::of_v1beta1(table, &fields);
    let rule = rules
        .find(|rule| rule.message.starts_with("the template"))
        .unwrap();
    let mut rule = plain(rule, Write::Edit);
    rule.rule = without_optionals(&rule.rule);
    rule.message_expression = None;
    attach(&mut root, &rule);
    let schema = compile_schema(&serde_json::to_value(&root).unwrap());
    assert!(!schema.has_errors(), "{schema:?}");
    schema
}

// contract: 12.13
#[test]
fn each_role_may_leave_out_the_port_of_its_own_container() {
    let schema = compiled(&FARM);
    let job = |tractor: &[&str], scythe: &[&str]| {
        let container = |all: &[&str], name: &str| {
            let ports = all.contains(&name);
            let ports = ports.then(|| json!([{"name": "horn", "containerPort": 7000}]));
            object(vec![("name", Some(json!(name))), ("ports", ports)])
        };
        let entry = |all: &[&str]| {
            let containers = ["engine", "blade"].map(|name| container(all, name));
            json!({"template": {"spec": {"containers": containers}}})
        };
        json!({"spec": {"mxReplicaSpecs": {"Tractor": entry(tractor), "Scythe": entry(scythe)}}})
    };
    let both = ["engine", "blade"];
    let old = job(&both, &both);
    for (new, allowed) in [
        (job(&["blade"], &["engine"]), true),
        (job(&["engine"], &both), false),
        (job(&both, &["blade"]), false),
    ] {
        let judged = Validator::new().validate_compiled(&schema, &new, Some(&old));
        assert_eq!(judged.is_ok(), allowed, "{new}");
    }
}

// contract: 3.13, 12.13
#[test]
fn on_edits_of_templates_at_v1beta1() {
    let schema = compiled(MxRole::TABLE);
    let said = RefCell::new([0, 0]);
    let judged = |(old, new): (Value, Value)| {
        let [old_v1, new_v1] = [&old, &new].map(|job| to(Version::V1, job));
        let shown = to(Version::V1Beta1, &old_v1);
        let refused = Validator::new()
            .validate_compiled(&schema, &new, Some(&shown))
            .is_err();
        let [old_spec, new_spec] = [old_v1, new_v1]
            .map(|job| serde_json::from_value(settled(job)["spec"].take()).unwrap());
        let before = Before {
            spec: &old_spec,
            finished: false,
        };
        let subject = Subject {
            name: "demo",
            spec: &new_spec,
            old: Some(before),
        };
        let rust = Rule::Templates.verdict(MxRole::TABLE, &subject);
        prop_assert_eq!(
            refused,
            !rust.is_empty(),
            "{} became {}: {:?}",
            shown,
            new,
            rust
        );
        said.borrow_mut()[usize::from(refused)] += 1;
        // What is shown can be written as it is, and what was written can be written again.
        for job in [&shown, &old] {
            let again = Validator::new().validate_compiled(&schema, job, Some(&shown));
            prop_assert!(again.is_ok(), "{} after {}", job, shown);
        }
        Ok(())
    };
    runner().run(&(job(), job()), judged).unwrap();
    let said = said.into_inner();
    assert!(said.iter().all(|times| *times > 10), "{said:?}");
}
