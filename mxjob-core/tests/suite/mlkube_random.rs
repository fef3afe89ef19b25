//! Random jobs of the oldest group, and what is stored of any shape.

use crate::lists::has;
use crate::mlkube::MLKUBE;
use mxjob_core::api::Version;
use mxjob_core::api::v1::JobStatus;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

/// A manifest of that group, as a user may write it.
fn written() -> impl Strategy<Value = Value> {
    let written = crate::versions::written(Version::V1Alpha1);
    (written, select(vec!["dist", "local"])).prop_map(|(mut object, mode)| {
        object["apiVersion"] = json!("mxnet.mlkube.io/v1beta1");
        object["kind"] = json!("MxJob");
        let spec = object["spec"].as_object_mut().unwrap();
        let fields = ["RuntimeId", "replicaSpecs"];
        spec.retain(|field, _| fields.contains(&field.as_str()));
        spec.insert("jobMode".to_owned(), json!(mode));
        object
    })
}

fn status() -> impl Strategy<Value = JobStatus> {
    let milestone = select(vec![
        json!({"type": "Ready", "transitionTime": "2026-01-31T12:00:00Z"}),
        json!({"type": "Recovering", "reason": "why", "transitionTime": "2026-01-31T12:00:01Z"}),
    ]);
    let milestones = prop::collection::vec(milestone, 0..11);
    let paused = select(vec![None, Some(true), Some(false)]);
    (crate::versions::status(), milestones, paused).prop_map(|(mut status, milestones, paused)| {
        status["milestones"] = json!(milestones);
        status["paused"] = json!(paused);
        serde_json::from_value(status).unwrap()
    })
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None, max_global_rejects: 60_000, ..ProptestConfig::with_cases(300)
    })]

    // contract: 12.25
    #[test]
    fn a_spec_comes_back_with_its_defaults_shown(object in written()) {
        let shown = MLKUBE.to(Version::V1Alpha1, &MLKUBE.to(Version::V1, &object));
        prop_assert!(has(&shown["spec"], &object["spec"]), "{}\n{}", object, shown);
        let again = MLKUBE.to(Version::V1Alpha1, &MLKUBE.to(Version::V1, &shown));
        prop_assert_eq!(&again, &shown);
        prop_assert_eq!(&shown["metadata"], &object["metadata"]);
    }

    // contract: 12.25
    #[test]
    fn a_job_is_the_same_with_its_defaults_stored(object in written()) {
        let (job, form) = MLKUBE.read(&object);
        prop_assume!(form.spec(&job).is_some());
        let mut stored = object.clone();
        stored["spec"] = form.spec(&job).unwrap().clone();
        prop_assert!(has(&stored["spec"], &object["spec"]));
        let spec = |object: &Value| MLKUBE.to(Version::V1, object)["spec"].clone();
        prop_assert_eq!(spec(&stored), spec(&object));
        let (again, form) = MLKUBE.read(&stored);
        prop_assert_eq!(&again.meta.run, &job.meta.run);
        prop_assert_eq!(form.spec(&again), None);
    }

    // contract: 12.27
    #[test]
    fn a_status_comes_back_as_it_was_written(object in written(), status in status()) {
        let (_, form) = MLKUBE.read(&object);
        let mut stored = object;
        stored["status"] = form.status(&status);
        prop_assert!(stored["status"]["phase"].is_string(), "{}", stored);
        prop_assert_eq!(MLKUBE.read(&stored).0.status, status);
    }

    #[test]
    fn an_object_of_any_shape_is_read(spec in crate::versions::any_shape(), status in crate::versions::any_shape()) {
        let mut object = crate::versions::object(Version::V1Alpha1, spec);
        object["apiVersion"] = json!("mxnet.mlkube.io/v1beta1");
        object["kind"] = json!("MxJob");
        object["status"] = status;
        let (job, form) = MLKUBE.read(&object);
        if let Some(spec) = form.spec(&job) {
            let mut stored = object.clone();
            stored["spec"] = spec.clone();
            let (again, form) = MLKUBE.read(&stored);
            prop_assert!(again.spec.is_ok());
            prop_assert_eq!(form.spec(&again), None);
        }
        prop_assert!(form.status(&JobStatus::default()).is_object());
    }
}
