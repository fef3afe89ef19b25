//! Conversion loses nothing, of random objects of every version and of any shape.

use crate::versions::{TABLE, any_shape, bare, mangled, stored, to, version, written};
use mxjob_core::api::Version;
use mxjob_core::conversion::convert;
use mxjob_core::{Job, MxRole, ReplicaRole};
use proptest::prelude::*;
use serde_json::Value;

const OLDER: [Version; 2] = [Version::V1Alpha1, Version::V1Beta1];

/// Everything of `shown` that `written` has is the same; what else it has are defaults.
fn adds_only_defaults(written: &Value, shown: &Value) -> Result<(), String> {
    match (written, shown) {
        (Value::Object(written), Value::Object(shown)) => {
            for (key, value) in written {
                let shown = shown.get(key).ok_or(format!("{key} is gone"))?;
                adds_only_defaults(value, shown).map_err(|why| format!("{key}: {why}"))?;
            }
            Ok(())
        }
        (Value::Array(written), Value::Array(shown)) if written.len() <= shown.len() => written
            .iter()
            .zip(shown)
            .try_for_each(|(written, shown)| adds_only_defaults(written, shown)),
        _ if written == shown => Ok(()),
        _ => Err(format!("{written} became {shown}")),
    }
}

fn same_but_for_the_view(one: &Value, other: &Value) -> Result<(), TestCaseError> {
    prop_assert_eq!(bare(one.clone()), bare(other.clone()));
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None, max_global_rejects: 60_000, ..ProptestConfig::with_cases(600)
    })]

    #[test]
    fn an_older_spec_comes_back_with_its_defaults_shown(
        object in prop_oneof![written(Version::V1Alpha1), written(Version::V1Beta1)],
    ) {
        let version = Version::parse(object["apiVersion"].as_str().unwrap().rsplit('/').next().unwrap()).unwrap();
        let shown = to(version, &to(Version::V1, &object));
        if let Err(why) = adds_only_defaults(&object["spec"], &shown["spec"]) {
            prop_assert!(false, "{}\n{}\n{}", why, object, shown);
        }
        let again = to(version, &to(Version::V1, &shown));
        prop_assert_eq!(&again, &shown);
    }

    // contract: 12.2, 12.10
    #[test]
    fn a_stored_object_comes_back_from_every_version(object in stored(), version in version()) {
        let view = to(version, &object);
        prop_assert_eq!(&view["apiVersion"], &format!("kubeflow.org/{version}"));
        prop_assert_eq!(to(Version::V1, &view), object);
    }

    /// A replaced object has no annotation; its status is the server's.
    #[test]
    fn a_view_without_its_annotation_has_the_whole_status(object in stored(), version in version()) {
        let replaced = to(Version::V1, &bare(to(version, &object)));
        prop_assert_eq!(replaced.get("status"), object.get("status"));
    }

    #[test]
    fn any_number_of_versions_on_the_way_change_nothing(
        object in stored(),
        way in proptest::collection::vec(version(), 1..5),
    ) {
        let end = way.iter().fold(object.clone(), |object, version| to(*version, &object));
        prop_assert_eq!(to(Version::V1, &end), object);
    }

    #[test]
    fn a_view_is_the_same_by_whatever_way(object in stored(), first in version(), second in version()) {
        let direct = to(second, &object);
        prop_assert_eq!(to(second, &to(first, &object)), direct);
    }

    #[test]
    fn an_object_of_any_shape_is_converted_and_comes_back(
        object in prop_oneof![
            mangled(stored()),
            (any_shape(), any_shape()).prop_map(|(spec, status)| {
                let mut object = crate::versions::object(Version::V1, spec);
                object["status"] = status;
                object
            }),
        ],
        version in version(),
    ) {
        let view = to(version, &object);
        same_but_for_the_view(&to(Version::V1, &view), &object)?;
    }

    #[test]
    fn an_older_object_of_any_shape_is_converted_and_changes_once(
        (version, object) in prop::sample::select(OLDER.to_vec()).prop_flat_map(|version| {
            let any = (any_shape(), any_shape()).prop_map(move |(spec, status)| {
                let mut object = crate::versions::object(version, spec);
                object["status"] = status;
                object
            });
            (Just(version), prop_oneof![mangled(written(version)), any])
        }),
    ) {
        let shown = to(version, &to(Version::V1, &object));
        let again = to(version, &to(Version::V1, &shown));
        prop_assert_eq!(&again["spec"], &shown["spec"]);
        let metadata = |object: &Value| bare(object.clone())["metadata"].clone();
        prop_assert_eq!(metadata(&shown), metadata(&object));
        prop_assert_eq!(metadata(&to(Version::V1, &object)), metadata(&object));
    }

    #[test]
    fn what_is_no_stored_object_never_panics(
        object in any_shape(), annotation in any_shape(), text in ".*", version in version(),
    ) {
        let _ = convert(TABLE, object.clone(), version);
        let mut odd = crate::versions::object(Version::V1Alpha1, object);
        for text in [annotation.to_string(), text] {
            odd["metadata"]["annotations"] =
                serde_json::json!({mxjob_core::conversion::CONVERSION_ANNOTATION: text});
            prop_assert!(convert(TABLE, odd.clone(), version).is_ok());
        }
        odd["metadata"] = annotation;
        prop_assert!(convert(TABLE, odd.clone(), version).is_ok());
    }

    /// A view shows what a job at v1 has by default.
    #[test]
    fn the_defaults_shown_are_those_that_the_job_has(object in written(Version::V1)) {
        let stored_job = Job::read(MxRole::TABLE, &object);
        let mut view = to(Version::V1Beta1, &object);
        view["apiVersion"] = "kubeflow.org/v1".into();
        let shown = Job::read(MxRole::TABLE, &view);
        prop_assume!(stored_job.spec.is_ok());
        let (stored, shown) = (stored_job.spec.unwrap(), shown.spec.unwrap());
        for (stored, role) in stored.roles.iter().zip(&shown.roles) {
            prop_assert_eq!(role.port, stored.port);
            prop_assert_eq!(role.restart, stored.restart);
            prop_assert_eq!(role.replicas, stored.replicas);
            prop_assert_eq!(&role.template, &stored.template);
            let roles = view["spec"]["mxReplicaSpecs"].as_object().unwrap();
            let own = roles.iter().find(|(key, _)| TABLE.find(key) == Some(role.id)).unwrap().1;
            prop_assert_eq!(&own["replicas"], stored.replicas);
            prop_assert_eq!(&own["restartPolicy"], stored.restart.name());
        }
        prop_assert_eq!(shown.clean, stored.clean);
        prop_assert_eq!(shown.deadline, stored.deadline);
        prop_assert_eq!(shown.backoff_limit, stored.backoff_limit);
    }
}
