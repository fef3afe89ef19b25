//! Each rule says the same in CEL and in Rust.

use std::cell::RefCell;
use std::collections::BTreeMap;

use kube_core::cel::{CompiledSchema, ValidationErrors, Validator, compile_schema};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner};
use serde_json::Value;

use super::{FARM, jobs};
use crate::api::v1::{JobSpec, JobStatus};
use crate::role::RoleTable;
use crate::schema::rule::{Before, Rule, Subject, Validation};
use crate::schema::{attach, without_rules};
use crate::{MxRole, ReplicaRole};

/// Random jobs for each check: always the same 300, or as many new ones as MXJOB_CASES says.
pub(super) fn runner() -> TestRunner {
    let cases = std::env::var("MXJOB_CASES").ok();
    let config = |cases| Config {
        cases,
        failure_persistence: None,
        ..Config::default()
    };
    match cases.and_then(|cases| cases.parse().ok()) {
        Some(cases) => TestRunner::new(config(cases)),
        None => TestRunner::new_with_rng(
            config(300),
            TestRng::deterministic_rng(RngAlgorithm::ChaCha),
        ),
    }
}

/// What is judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Write {
    Creation,
    Edit,
}

/// The rule in words that kube-cel knows: it lacks `dyn`, whose types it does not check anyway, and
/// gives an optional `oldSelf` as plain value.
pub(super) fn plain(mut validation: Validation, write: Write) -> Validation {
    validation.rule = validation.rule.replace("dyn(", "(");
    if write == Write::Edit {
        validation.rule = validation
            .rule
            .replace("oldSelf.hasValue()", "true")
            .replace("oldSelf.value()", "oldSelf");
        validation.sees_creation = false;
    }
    validation
}

/// The rules of a set and the schema that holds them all in CEL.
struct Rules {
    all: Vec<(Rule, String)>,
    schema: CompiledSchema,
}

impl Rules {
    fn of(table: &'static RoleTable, write: Write) -> Self {
        let mut root = without_rules(table);
        let mut attached = |rule: Rule| {
            let validation = plain(rule.validation(table), write);
            attach(&mut root, &validation);
            (rule, validation.rule)
        };
        let all = Rule::of(table).into_iter().map(&mut attached).collect();
        let schema = compile_schema(&serde_json::to_value(&root).unwrap());
        assert!(!schema.has_errors());
        Self { all, schema }
    }
}

fn spec(object: &Value) -> JobSpec {
    serde_json::from_value(object["spec"].clone()).unwrap()
}

/// What the rules have said so far.
#[derive(Debug, Default)]
struct Verdicts {
    judged: usize,
    /// No rule had anything to say.
    valid: usize,
    refused: BTreeMap<String, usize>,
}

/// Judges the object both ways by every rule.
fn agree(
    table: &'static RoleTable,
    rules: &Rules,
    new: &Value,
    old: Option<&Value>,
    verdicts: &mut Verdicts,
) -> Result<(), TestCaseError> {
    let now = spec(new);
    let before = old.map(|old| {
        let status: JobStatus = old
            .get("status")
            .and_then(|status| serde_json::from_value(status.clone()).ok())
            .unwrap_or_default();
        (spec(old), status.is_finished())
    });
    let old_subject = before.as_ref().map(|(spec, finished)| Before {
        spec,
        finished: *finished,
    });
    let subject = Subject {
        name: new["metadata"]["name"].as_str().unwrap(),
        spec: &now,
        old: old_subject,
    };
    let errors = Validator::new()
        .validate_compiled(&rules.schema, new, old)
        .err();
    let errors: Vec<_> = errors
        .into_iter()
        .flat_map(ValidationErrors::into_vec)
        .collect();
    let mut valid = true;
    for (rule, text) in &rules.all {
        let cel: Vec<_> = errors.iter().filter(|error| error.rule == *text).collect();
        let rust = rule.verdict(table, &subject);
        prop_assert_eq!(
            cel.is_empty(),
            rust.is_empty(),
            "{:?}: CEL {:?}, Rust {:?}",
            rule,
            cel,
            rust
        );
        if !rust.is_empty() {
            valid = false;
            *verdicts.refused.entry(super::label(*rule)).or_default() += 1;
        }
    }
    verdicts.judged += 1;
    verdicts.valid += usize::from(valid);
    Ok(())
}

/// Each rule has refused a job and has let one pass, and some jobs have passed them all.
fn every_rule_has_said_both(rules: &Rules, verdicts: &Verdicts, write: Write) {
    for (rule, _) in &rules.all {
        // A spec is always there; of the others some only look at creations, some only at edits.
        let of_edits = matches!(rule, Rule::ManagedBy | Rule::ModeStays | Rule::Templates);
        let silent = match write {
            Write::Creation => of_edits || matches!(rule, Rule::Spec),
            Write::Edit => matches!(rule, Rule::Spec | Rule::Name),
        };
        let refused = verdicts.refused.get(&super::label(*rule)).copied();
        let both = 1..verdicts.judged;
        assert!(
            silent && refused.is_none() || both.contains(&refused.unwrap_or_default()),
            "{rule:?} has not said both: {verdicts:?}"
        );
    }
    assert!(verdicts.valid > 0, "no job was right: {verdicts:?}");
}

fn creations(table: &'static RoleTable) {
    let rules = Rules::of(table, Write::Creation);
    let verdicts = RefCell::new(Verdicts::default());
    let judged = |job: Value| agree(table, &rules, &job, None, &mut verdicts.borrow_mut());
    runner().run(&jobs::job(table), judged).unwrap();
    every_rule_has_said_both(&rules, &verdicts.borrow(), Write::Creation);
}

fn edits(table: &'static RoleTable) {
    let rules = Rules::of(table, Write::Edit);
    let verdicts = RefCell::new(Verdicts::default());
    let judged = |(old, new): (Value, Value)| {
        agree(table, &rules, &new, Some(&old), &mut verdicts.borrow_mut())
    };
    runner().run(&jobs::edited(table), judged).unwrap();
    every_rule_has_said_both(&rules, &verdicts.borrow(), Write::Edit);
}

// contract: 3.13
#[test]
fn on_creations_of_mxnet_jobs() {
    creations(MxRole::TABLE);
}

// contract: 3.13
#[test]
fn on_creations_of_another_set() {
    creations(&FARM);
}

// contract: 3.13
#[test]
fn on_edits_of_mxnet_jobs() {
    edits(MxRole::TABLE);
}

// contract: 3.13
#[test]
fn on_edits_of_another_set() {
    edits(&FARM);
}
