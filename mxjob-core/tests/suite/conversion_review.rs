//! The API server's question and the answer.

use crate::support::GRID;
use crate::versions::{TABLE, any_shape, object, to};
use mxjob_core::api::Version;
use mxjob_core::conversion::{convert, review};
use proptest::prelude::*;
use serde_json::{Value, json};

fn job(version: Version) -> Value {
    to(version, &object(Version::V1, json!({"mxReplicaSpecs": {}})))
}

fn question(objects: &Value) -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "ConversionReview",
        "request": {"uid": "q-1", "desiredAPIVersion": "kubeflow.org/v1alpha1", "objects": objects},
    })
}

fn failure(request: &Value) -> String {
    let answer = review(TABLE, request);
    assert_eq!(answer["apiVersion"], "apiextensions.k8s.io/v1");
    assert_eq!(answer["kind"], "ConversionReview");
    assert_eq!(answer["response"]["convertedObjects"], json!([]));
    assert_eq!(answer["response"]["result"]["status"], "Failed");
    answer["response"]["result"]["message"]
        .as_str()
        .unwrap()
        .to_owned()
}

#[test]
fn objects_are_converted_in_their_order() {
    let mut first = job(Version::V1);
    first["metadata"]["name"] = json!("first");
    let objects = [first, job(Version::V1Beta1), job(Version::V1Alpha1)];
    let expected: Vec<_> = objects
        .iter()
        .map(|one| to(Version::V1Alpha1, one))
        .collect();
    let answer = review(TABLE, &question(&json!(objects)));
    let response = json!({
        "uid": "q-1", "convertedObjects": expected, "result": {"status": "Success"}});
    assert_eq!(answer["response"], response);
}

// contract: 12.11
#[test]
fn a_foreign_object_is_named() {
    let with = |key: &str, value: &str| {
        let mut job = job(Version::V1);
        job[key] = json!(value);
        failure(&question(&json!([
            crate::versions::object(Version::V1, json!({})),
            job
        ])))
    };
    let versions = "kubeflow.org/v1alpha1, kubeflow.org/v1beta1, kubeflow.org/v1";
    for found in [
        "example.org/v1",
        "kubeflow.org/v2",
        "v1",
        "kubeflow.org/v1/x",
        "",
    ] {
        assert_eq!(
            with("apiVersion", found),
            format!("mxjobs lab/demo: apiVersion must be one of {versions}, it is {found:?}")
        );
    }
    assert_eq!(
        with("kind", "TFJob"),
        "mxjobs lab/demo: kind must be one of MXJob, it is \"TFJob\""
    );
    assert_eq!(
        failure(&question(&json!([7]))),
        "mxjobs ?/?: it is no object"
    );
}

#[test]
fn what_is_no_question_is_answered() {
    let mut other = question(&json!([]));
    other["apiVersion"] = json!("apiextensions.k8s.io/v1beta1");
    let message = "the request is no ConversionReview of apiextensions.k8s.io/v1";
    assert_eq!(failure(&other), message);
    assert_eq!(review(TABLE, &other)["response"]["uid"], "q-1");
    assert_eq!(failure(&json!(null)), message);
    assert_eq!(review(TABLE, &json!(null))["response"]["uid"], "");
    assert_eq!(failure(&question(&json!({}))), "the request has no objects");
    let mut unknown = question(&json!([]));
    unknown["request"]["desiredAPIVersion"] = json!("kubeflow.org/v2");
    let versions = "kubeflow.org/v1alpha1, kubeflow.org/v1beta1, kubeflow.org/v1";
    assert_eq!(
        failure(&unknown),
        format!("desiredAPIVersion must be one of {versions}, it is \"kubeflow.org/v2\"")
    );
}

#[test]
fn an_object_of_the_version_asked_for_stays_as_it_is() {
    for version in Version::ALL {
        let job = object(
            version,
            json!({"replicaSpecs": [{}], "mxReplicaSpecs": {"worker": {}}}),
        );
        assert_eq!(to(version, &job), job);
    }
}

#[test]
fn a_resource_without_older_versions_has_only_v1() {
    let job = json!({"apiVersion": "grid.example.org/v1", "kind": "GridJob", "metadata": {}});
    assert_eq!(
        convert(GRID.table, job.clone(), Version::V1),
        Ok(job.clone())
    );
    for older in [Version::V1Alpha1, Version::V1Beta1] {
        assert!(convert(GRID.table, job.clone(), older).is_err());
    }
    assert!(convert(TABLE, job, Version::V1).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_body_is_answered(body in any_shape(), objects in any_shape()) {
        prop_assert!(review(TABLE, &body)["response"]["result"]["message"].is_string());
        let answer = review(TABLE, &question(&objects));
        prop_assert_eq!(&answer["response"]["uid"], "q-1");
    }
}
