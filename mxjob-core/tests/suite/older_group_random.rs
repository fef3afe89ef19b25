//! Random jobs of an older group, and what is stored of any shape.

use crate::lists::{has, read, to};
use mxjob_core::api::Version;
use mxjob_core::api::v1::JobStatus;
use proptest::prelude::*;
use serde_json::{Value, json};

/// A manifest of that group, as a user may write it.
fn written() -> impl Strategy<Value = Value> {
    crate::versions::written(Version::V1Alpha1).prop_map(|mut object| {
        object["apiVersion"] = json!("fioravanzo.org/v1alpha1");
        let spec = object["spec"].as_object_mut().unwrap();
        spec.remove("jobMode");
        spec.remove("cleanupPodPolicy");
        for entry in spec["replicaSpecs"].as_array_mut().unwrap() {
            let entry = entry.as_object_mut().unwrap();
            if let Some(port) = entry.remove("PsRootPort") {
                entry.insert("mxPort".to_owned(), port);
            }
            // Two entries without a role would be of one.
            if entry.get("mxReplicaType").is_none() {
                entry.insert("mxReplicaType".to_owned(), json!("WORKER"));
            }
        }
        object
    })
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None, max_global_rejects: 60_000, ..ProptestConfig::with_cases(400)
    })]

    // contract: 12.21
    #[test]
    fn a_spec_comes_back_with_its_defaults_shown(object in written()) {
        let shown = to(Version::V1Alpha1, &to(Version::V1, &object));
        prop_assert!(has(&shown["spec"], &object["spec"]), "{}\n{}", object, shown);
        let again = to(Version::V1Alpha1, &to(Version::V1, &shown));
        prop_assert_eq!(&again, &shown);
        prop_assert_eq!(&shown["metadata"], &object["metadata"]);
    }

    // contract: 12.22
    #[test]
    fn a_job_is_the_same_with_its_defaults_stored(object in written()) {
        let (job, form) = read(&object);
        prop_assume!(form.spec(&job).is_some());
        let mut stored = object.clone();
        stored["spec"] = form.spec(&job).unwrap().clone();
        prop_assert!(has(&stored["spec"], &object["spec"]));
        let spec = |object: &Value| to(Version::V1, object)["spec"].clone();
        prop_assert_eq!(spec(&stored), spec(&object));
        let (again, form) = read(&stored);
        prop_assert_eq!(&again.meta.run, &job.meta.run);
        prop_assert_eq!(form.spec(&again), None);
    }

    // contract: 12.21
    #[test]
    fn a_status_comes_back_as_it_was_written(object in written(), status in crate::versions::status()) {
        let status: JobStatus = serde_json::from_value(status).unwrap();
        let (_, form) = read(&object);
        let mut stored = object;
        stored["status"] = form.status(&status);
        prop_assert!(stored["status"]["phase"].is_string(), "{}", stored);
        prop_assert!(stored["status"].get("conditions").is_none(), "{}", stored);
        prop_assert_eq!(read(&stored).0.status, status);
    }

    #[test]
    fn an_object_of_any_shape_is_read(spec in crate::versions::any_shape(), status in crate::versions::any_shape()) {
        let mut object = crate::versions::object(Version::V1Alpha1, spec);
        object["apiVersion"] = json!("fioravanzo.org/v1alpha1");
        object["status"] = status;
        let (job, form) = read(&object);
        if let Some(spec) = form.spec(&job) {
            let mut stored = object.clone();
            stored["spec"] = spec.clone();
            let (again, form) = read(&stored);
            prop_assert!(again.spec.is_ok());
            prop_assert_eq!(form.spec(&again), None);
        }
        let written = form.status(&JobStatus::default());
        prop_assert!(written.is_object());
    }
}
