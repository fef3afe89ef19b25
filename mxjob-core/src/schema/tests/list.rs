//! The rules of the list form say the same in CEL and in Rust.

use std::collections::BTreeMap;

use kube_core::cel::{CompiledSchema, ValidationErrors, Validator, compile_schema};
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

use super::jobs::{Edge, edge};
use super::parity::{Write, plain, runner};
use crate::check::list_spec;
use crate::role::apis;
use crate::schema::rule::{ListRule, ListSubject};
use crate::schema::{attach, older};
use crate::{MxRole, RoleTable};

/// One of these, or nothing.
fn maybe(values: Vec<Value>) -> impl Strategy<Value = Option<Value>> {
    proptest::option::of(select(values))
}

/// Those of the fields that are there.
pub(super) fn object(fields: Vec<(&str, Option<Value>)>) -> Value {
    let fields = fields
        .into_iter()
        .filter_map(|(name, value)| Some((name.to_owned(), value?)));
    Value::Object(fields.collect())
}

fn container() -> impl Strategy<Value = Value> {
    let name = prop_oneof![4 => Just("mxnet"), 1 => Just("side")];
    let image = prop_oneof![6 => Just(Some("image")), 1 => Just(Some("")), 1 => Just(None)];
    (name, image).prop_map(|(name, image)| {
        object(vec![
            ("name", Some(json!(name))),
            ("image", image.map(|image| json!(image))),
        ])
    })
}

fn entry() -> impl Strategy<Value = Value> {
    let words = ["SCHEDULER", "SERVER", "WORKER", "worker", "", "CHIEF"].map(|word| json!(word));
    let role = prop_oneof![
        12 => select(words[..3].to_vec()).prop_map(Some),
        1 => maybe(words.to_vec()),
    ];
    let replicas = prop_oneof![3 => Just(Some(json!(1))), 1 => maybe(vec![json!(0), json!(2)])];
    let containers = prop::collection::vec(container(), 1..3);
    let init = proptest::option::weighted(0.1, prop::collection::vec(container(), 1..2));
    let restart = maybe(vec![json!("Always"), json!("OnFailure"), json!("Never")]);
    let restart = prop_oneof![4 => Just(None), 1 => restart];
    let pod = (containers, init, restart);
    (role, replicas, pod).prop_map(|(role, replicas, (containers, init, restart))| {
        let pod = object(vec![
            ("restartPolicy", restart),
            ("containers", Some(json!(containers))),
            ("initContainers", init.map(|init| json!(init))),
        ]);
        object(vec![
            ("mxReplicaType", role),
            ("replicas", replicas),
            ("template", Some(json!({ "spec": pod }))),
        ])
    })
}

/// Of a name that is too long by itself another rule speaks.
const TOO_LONG: &str = "a-name-of-64-characters-is-more-than-any-job-can-have-whatever-i";

#[derive(Clone, Debug)]
enum Name {
    Given(&'static str),
    Edge(Edge),
}

impl Name {
    /// The name of a job with these entries.
    fn of(self, entries: &[Value]) -> String {
        let rest = |entry: &Value| {
            let role = entry["mxReplicaType"]
                .as_str()
                .filter(|role| !role.is_empty());
            let last = entry["replicas"].as_i64().unwrap_or(1).max(1) - 1;
            format!("-{}-abcd-{last}", role.unwrap_or("WORKER"))
        };
        match self {
            Self::Given(name) => name.to_owned(),
            Self::Edge(edge) => edge.name(&entries.iter().map(rest).collect::<Vec<_>>()),
        }
    }
}

fn job() -> impl Strategy<Value = Value> {
    let entries = prop::collection::vec(entry(), 0..4);
    let mode = maybe(vec![json!("dist"), json!("local")]);
    let policy = prop_oneof![
        6 => Just(None),
        1 => Just(Some(json!({}))),
        3 => (
            select(vec!["SCHEDULER", "WORKER", "x"]),
            maybe(vec![json!(0), json!(1)]),
        )
            .prop_map(|(name, index)| {
                let name = Some(json!(name));
                Some(json!({"chief": object(vec![("replicaName", name), ("replicaIndex", index)])}))
            }),
    ];
    let id = maybe(vec![
        json!(""),
        json!("abcd"),
        json!("efgh"),
        json!("0bcd"),
        json!("abcde"),
    ]);
    let name = select(vec!["digits", "Digits", TOO_LONG]).prop_map(Name::Given);
    let name = prop_oneof![1 => name, 1 => edge().prop_map(Name::Edge)];
    let state = maybe(vec![json!("Running"), json!("Succeeded")]);
    let phase = maybe(vec![json!("Running"), json!("Failed")]);
    let status = (phase, state);
    (entries, mode, policy, id, name, status).prop_map(
        |(entries, mode, policy, id, name, status)| {
            json!({
                "metadata": {"name": name.of(&entries)},
                "spec": object(vec![
                    ("replicaSpecs", Some(json!(entries))),
                    ("jobMode", mode),
                    ("terminationPolicy", policy),
                    ("RuntimeId", id),
                ]),
                "status": object(vec![("phase", status.0), ("state", status.1)]),
            })
        },
    )
}

/// A job and what somebody made of it: often the same but for one thing.
fn edited(table: &'static RoleTable) -> impl Strategy<Value = (Value, Value)> {
    let port_field = table.list_form().unwrap().legacy.port_field;
    (job(), job(), 0..8_u8).prop_map(move |(mut old, other, what)| {
        let mut new = old.clone();
        match what {
            3 => new["spec"]["mxImage"] = json!("newer"),
            4 => new["spec"]["schedulerName"] = json!("volcano"),
            5 => {
                for (job, port) in [(&mut old, 9000), (&mut new, 9001)] {
                    if let Some(entry) = job.pointer_mut("/spec/replicaSpecs/0") {
                        entry[port_field] = json!(port);
                    }
                }
            }
            0 => new["spec"] = other["spec"].clone(),
            1 => new["spec"]["RuntimeId"] = json!("abcd"),
            6 => new["spec"]["RuntimeId"] = json!("Abcd"),
            2 => {
                if let Some(image) =
                    new.pointer_mut("/spec/replicaSpecs/0/template/spec/containers")
                {
                    *image = json!([{"name": "mxnet", "image": "newer"}]);
                }
            }
            _ => {}
        }
        (old, new)
    })
}

struct Rules {
    table: &'static RoleTable,
    all: Vec<(ListRule, String)>,
    schema: CompiledSchema,
}

impl Rules {
    fn of(table: &'static RoleTable, write: Write) -> Self {
        let mut root = older::v1alpha1_without_rules(table);
        let mut attached = |rule: ListRule| {
            let validation = plain(rule.validation(table), write);
            attach(&mut root, &validation);
            (rule, validation.rule)
        };
        let all = ListRule::of(table);
        let all = all.into_iter().map(&mut attached).collect();
        let schema = compile_schema(&serde_json::to_value(&root).unwrap());
        assert!(!schema.has_errors());
        Self { table, all, schema }
    }

    /// Judges both ways; which rules refused.
    fn agree(&self, new: &Value, old: Option<&Value>) -> Result<Vec<String>, TestCaseError> {
        let spec = |job: &Value| list_spec(self.table, job).unwrap();
        let now = spec(new);
        let ended = |status: &Value| status["state"] == "Succeeded" || status["phase"] == "Failed";
        let before = old.map(|old| (spec(old), ended(&old["status"])));
        let subject = ListSubject {
            name: new["metadata"]["name"].as_str().unwrap(),
            spec: &now,
            old: before.as_ref().map(|(spec, ended)| (spec, *ended)),
        };
        let errors = Validator::new()
            .validate_compiled(&self.schema, new, old)
            .err();
        let errors: Vec<_> = errors
            .into_iter()
            .flat_map(ValidationErrors::into_vec)
            .collect();
        let mut refused = Vec::new();
        for (rule, text) in &self.all {
            let cel: Vec<_> = errors.iter().filter(|error| error.rule == *text).collect();
            let rust = rule.verdict(self.table, &subject);
            prop_assert_eq!(
                cel.is_empty(),
                rust.is_empty(),
                "{:?}: CEL {:?}, Rust {:?}",
                rule,
                cel,
                rust
            );
            if !rust.is_empty() {
                refused.push(text.clone());
            }
        }
        Ok(refused)
    }
}

/// Each rule but the silent ones has refused some and let some pass.
fn every_rule_has_said_both(
    rules: &Rules,
    judged: &[Vec<String>],
    is_silent: fn(&ListRule) -> bool,
) {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for text in judged.iter().flatten() {
        *counts.entry(text).or_default() += 1;
    }
    for (rule, text) in &rules.all {
        let refused = counts.get(text.as_str()).copied().unwrap_or_default();
        assert!(
            is_silent(rule) && refused == 0 || (1..judged.len()).contains(&refused),
            "{rule:?} has not said both: {refused} of {}",
            judged.len()
        );
    }
    assert!(judged.iter().any(Vec::is_empty), "no job was right");
}

/// The resources that have a list of roles.
fn resources() -> impl Iterator<Item = &'static RoleTable> {
    apis::<MxRole>().filter(|table| table.list_form().is_some())
}

// contract: 3.13
#[test]
fn on_creations() {
    assert_eq!(resources().count(), 3);
    resources().for_each(creations);
}

// contract: 3.13
#[test]
fn on_edits() {
    resources().for_each(edits);
}

fn creations(table: &'static RoleTable) {
    let rules = Rules::of(table, Write::Creation);
    let judged = std::cell::RefCell::new(Vec::new());
    runner()
        .run(&job(), |job| {
            judged.borrow_mut().push(rules.agree(&job, None)?);
            Ok(())
        })
        .unwrap();
    every_rule_has_said_both(&rules, &judged.borrow(), |rule| {
        matches!(
            rule,
            ListRule::Spec | ListRule::RuntimeId | ListRule::ModeStays | ListRule::Templates(_)
        )
    });
}

fn edits(table: &'static RoleTable) {
    let rules = Rules::of(table, Write::Edit);
    let judged = std::cell::RefCell::new(Vec::new());
    runner()
        .run(&edited(table), |(old, new)| {
            judged.borrow_mut().push(rules.agree(&new, Some(&old))?);
            Ok(())
        })
        .unwrap();
    every_rule_has_said_both(&rules, &judged.borrow(), |rule| {
        matches!(rule, ListRule::Spec | ListRule::Name)
    });
}
