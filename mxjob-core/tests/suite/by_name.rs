//! Roles as text: in manifests, as keys of maps, in typed jobs.

use std::collections::BTreeMap;

use crate::support::MX;
use mxjob_core::{MXJob, MxRole, ReplicaRole};
use serde_json::json;

#[test]
fn a_role_is_a_key_of_maps_in_any_letter_case() {
    let counts = BTreeMap::from([(MxRole::Worker, 2), (MxRole::Scheduler, 1)]);
    let text = serde_json::to_string(&counts).unwrap();
    assert_eq!(text, r#"{"Scheduler":1,"Worker":2}"#);
    assert_eq!(
        serde_json::from_str::<BTreeMap<MxRole, i32>>(&text).unwrap(),
        counts
    );
    assert_eq!(
        serde_json::from_str::<MxRole>(r#""TUNER""#).unwrap(),
        MxRole::Tuner
    );
}

#[test]
fn an_unknown_one_is_an_error_with_the_list() {
    let expected = "unknown role `Wroker`: use one of `Scheduler`, `Server`, `Worker`, `TunerTracker`, \
                    `TunerServer`, `Tuner`";
    let error = serde_json::from_str::<MxRole>(r#""Wroker""#).unwrap_err();
    assert!(error.to_string().starts_with(expected), "{error}");
    assert_eq!(
        "Wroker".parse::<MxRole>().unwrap_err().to_string(),
        expected
    );
}

#[test]
fn its_schema_lists_the_names() {
    let schema = schemars::schema_for!(MxRole);
    assert_eq!(
        schema.get("enum").unwrap().as_array().unwrap().len(),
        MxRole::TABLE.roles.len()
    );
    assert_eq!(schema.get("title").unwrap(), "MxRole");
}

// promise: P100
#[test]
fn a_typed_job_knows_its_roles() {
    let mut manifest = MX.job(1, 0, 2);
    let worker = manifest["spec"]["mxReplicaSpecs"]["Worker"].take();
    manifest["spec"]["mxReplicaSpecs"] = json!({"worker": worker});
    let job: MXJob<MxRole> = serde_json::from_value(manifest).unwrap();
    assert_eq!(job.role(MxRole::Worker).unwrap().replicas, Some(2));
    assert_eq!(job.role(MxRole::Server), None);
}
