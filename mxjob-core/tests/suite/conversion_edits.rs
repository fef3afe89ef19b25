//! What an edit at an older version changes, and what it leaves.

use crate::versions::{annotation, object, to};
use mxjob_core::api::Version;
use mxjob_core::conversion::CONVERSION_ANNOTATION;
use serde_json::{Value, json};

fn template(image: &str) -> Value {
    json!({"spec": {"containers": [{"name": "mxnet", "image": image}]}})
}

/// A job at v1 that no older version can show all of.
fn training() -> Value {
    let role = |count: u32| json!({"replicas": count, "template": template("i")});
    let mut worker = role(2);
    worker["restartPolicy"] = json!("OnFailure");
    worker["label"] = json!("fast");
    let mut job = object(
        Version::V1,
        json!({
            "mxReplicaSpecs": {"scheduler": role(1), "Server": role(1), "worker": worker},
            "runPolicy": {"cleanPodPolicy": "None", "suspend": true, "backoffLimit": 4},
            "failurePolicy": {"maxRestarts": 1},
            "network": {"services": "PerJob"},
        }),
    );
    job["status"] = json!({
        "conditions": [{"type": "Created", "status": "True", "reason": "MXJobCreated"}],
        "replicaStatuses": {"Worker": {"active": 1, "restarts": 3, "startedIndexes": "0"}},
        "phase": "Created", "observedGeneration": 3,
    });
    job
}

fn tuning() -> Value {
    let role = |image: &str| json!({"template": template(image)});
    object(
        Version::V1,
        json!({"mxReplicaSpecs": {
            "TunerTracker": role("a"), "TunerServer": role("b"), "Tuner": role("c")}}),
    )
}

/// What `edit` of a view at `version` makes of the stored object.
fn edited(stored: &Value, version: Version, edit: impl FnOnce(&mut Value)) -> Value {
    let mut view = to(version, stored);
    let before = view.clone();
    edit(&mut view);
    assert_ne!(view, before, "nothing was edited");
    to(Version::V1, &view)
}

// contract: 12.2
#[test]
fn an_edit_at_v1beta1_arrives_and_leaves_what_it_cannot_show() {
    let job = training();
    let mut expected = job.clone();
    expected["spec"]["mxReplicaSpecs"]["worker"]["replicas"] = json!(5);
    let got = edited(&job, Version::V1Beta1, |view| {
        view["spec"]["mxReplicaSpecs"]["worker"]["replicas"] = json!(5);
    });
    assert_eq!(got, expected);
}

// contract: 12.2
#[test]
fn an_edit_at_v1alpha1_arrives_and_leaves_what_it_cannot_show() {
    let job = training();
    let mut expected = job.clone();
    expected["spec"]["mxReplicaSpecs"]["worker"]["replicas"] = json!(5);
    expected["spec"]["mxReplicaSpecs"]["worker"]["template"] = template("new");
    let got = edited(&job, Version::V1Alpha1, |view| {
        let worker = &mut view["spec"]["replicaSpecs"][2];
        assert_eq!(worker["mxReplicaType"], "WORKER");
        worker["replicas"] = json!(5);
        worker["template"]["spec"]["containers"][0]["image"] = json!("new");
    });
    assert_eq!(got, expected);
}

#[test]
fn an_edited_policy_stands_in_one_place() {
    for version in [Version::V1Alpha1, Version::V1Beta1] {
        let field = match version {
            Version::V1Alpha1 => "cleanupPodPolicy",
            _ => "cleanPodPolicy",
        };
        let got = edited(&training(), version, |view| {
            assert_eq!(view["spec"][field], "None");
            view["spec"][field] = json!("All");
        });
        assert_eq!(got["spec"]["cleanPodPolicy"], "All");
        assert_eq!(
            got["spec"]["runPolicy"],
            json!({"suspend": true, "backoffLimit": 4}),
            "only what was edited moves"
        );
    }
}

#[test]
fn a_role_that_goes_takes_what_was_held_of_it() {
    let got = edited(&training(), Version::V1Alpha1, |view| {
        view["spec"]["replicaSpecs"].as_array_mut().unwrap().pop();
    });
    let roles = got["spec"]["mxReplicaSpecs"].as_object().unwrap();
    assert_eq!(roles.len(), 2);
    assert!(roles.contains_key("scheduler") && roles.contains_key("Server"));
    assert_eq!(got["spec"]["failurePolicy"]["maxRestarts"], 1);
}

#[test]
fn a_role_that_comes_shifts_nothing() {
    let mut job = training();
    job["spec"]["mxReplicaSpecs"]
        .as_object_mut()
        .unwrap()
        .shift_remove("Server");
    let server = json!({"mxReplicaType": "SERVER", "template": template("s")});
    let got = edited(&job, Version::V1Alpha1, |view| {
        view["spec"]["replicaSpecs"]
            .as_array_mut()
            .unwrap()
            .insert(0, server);
    });
    assert_eq!(
        got["spec"]["mxReplicaSpecs"]["worker"],
        job["spec"]["mxReplicaSpecs"]["worker"]
    );
    let port = json!([{"name": "mxjob-port", "containerPort": 9091}]);
    let server = &got["spec"]["mxReplicaSpecs"]["Server"];
    assert_eq!(server["template"]["spec"]["containers"][0]["ports"], port);
    let list = &to(Version::V1Alpha1, &got)["spec"]["replicaSpecs"];
    assert_eq!(
        list[0]["mxReplicaType"], "SERVER",
        "its place in the list is kept"
    );
}

#[test]
fn a_container_that_comes_shifts_nothing() {
    let job = training();
    let got = edited(&job, Version::V1Beta1, |view| {
        let pod = &mut view["spec"]["mxReplicaSpecs"]["worker"]["template"]["spec"];
        let side = json!({"name": "side", "image": "s"});
        pod["containers"].as_array_mut().unwrap().insert(0, side);
    });
    let containers = &got["spec"]["mxReplicaSpecs"]["worker"]["template"]["spec"]["containers"];
    let expected = json!([{"name": "side", "image": "s"}, {"name": "mxnet", "image": "i"}]);
    assert_eq!(*containers, expected);
}

#[test]
fn tuning_jobs_are_kept_through_v1alpha1() {
    let job = tuning();
    let view = to(Version::V1Alpha1, &job);
    assert_eq!(view["spec"]["replicaSpecs"], json!([]));
    assert_eq!(annotation(&view).unwrap()["origin"], "v1");
    assert_eq!(to(Version::V1, &view), job);
    let got = edited(&job, Version::V1Alpha1, |view| {
        view["spec"]["cleanupPodPolicy"] = json!("All");
    });
    let mut expected = job;
    expected["spec"]["cleanPodPolicy"] = json!("All");
    assert_eq!(got, expected);
}

#[test]
fn only_jobs_made_at_v1alpha1_always_have_the_annotation() {
    let list = json!([{"template": template("i"), "PsRootPort": 9000}]);
    let alpha = object(
        Version::V1Alpha1,
        json!({"RuntimeId": "ab12", "replicaSpecs": list}),
    );
    let stored = to(Version::V1, &alpha);
    assert_eq!(annotation(&stored).unwrap()["origin"], "v1alpha1");
    let text = annotation(&stored).unwrap().to_string();
    assert!(text.contains("ab12"), "{text}");

    let map = json!({"mxReplicaSpecs": {"Worker": {"template": template("i")}}});
    assert_eq!(
        annotation(&to(Version::V1, &object(Version::V1Beta1, map.clone()))),
        None
    );
    let job = object(Version::V1, map);
    for version in Version::ALL {
        assert_eq!(to(Version::V1, &to(version, &job)), job);
    }
}

#[test]
fn a_job_made_at_v1alpha1_is_known_by_it_also_when_nothing_is_lost() {
    let container = json!({
        "name": "mxnet", "image": "i", "ports": [{"name": "mxjob-port", "containerPort": 9091}]});
    let entry = json!({
        "mxReplicaType": "WORKER", "replicas": 1, "PsRootPort": 9091,
        "template": {"spec": {"containers": [container]}}});
    let spec = json!({
        "replicaSpecs": [entry], "cleanupPodPolicy": "All", "mxImage": "jzp1025/mxnet:test",
        "terminationPolicy": {"chief": {"replicaName": "WORKER", "replicaIndex": 0}},
    });
    let stored = to(Version::V1, &object(Version::V1Alpha1, spec.clone()));
    let id = json!({"path": ["spec", "RuntimeId"], "is": "e9c9"});
    let held = json!({"origin": "v1alpha1", "rest": {"v1alpha1": [id]}});
    assert_eq!(annotation(&stored), Some(held));
    let mut shown = spec;
    shown["RuntimeId"] = json!("e9c9");
    assert_eq!(to(Version::V1Alpha1, &stored)["spec"], shown);
}

// contract: 12.14
#[test]
fn a_runtime_id_is_stored_with_the_job() {
    let list = json!([{"template": template("i")}]);
    let alpha = |id: Value| {
        let mut job = object(Version::V1Alpha1, json!({ "replicaSpecs": list }));
        job["spec"]["RuntimeId"] = id;
        job
    };
    let id = |stored: &Value| to(Version::V1Alpha1, stored)["spec"]["RuntimeId"].clone();
    let held = |stored: &Value| annotation(stored).unwrap().to_string();
    let plain = to(Version::V1, &alpha(Value::Null));
    // What was shown comes back with the next write, and an empty one is none.
    for job in [
        alpha(json!("e9c9")),
        alpha(json!("")),
        to(Version::V1Alpha1, &plain),
    ] {
        let stored = to(Version::V1, &job);
        assert_eq!(stored, plain);
        assert_eq!(id(&stored), "e9c9");
    }
    assert!(held(&plain).contains("e9c9"), "{}", held(&plain));

    let own = to(Version::V1, &alpha(json!("ab12")));
    assert_eq!(id(&own), "ab12");
    // One that was stored without follows from the uid until it is written again.
    let mut bare = plain.clone();
    let mut without = annotation(&plain).unwrap();
    let leaves = without["rest"]["v1alpha1"].as_array_mut().unwrap();
    leaves.retain(|leaf| leaf["path"] != json!(["spec", "RuntimeId"]));
    bare["metadata"]["annotations"][CONVERSION_ANNOTATION] = json!(without.to_string());
    let view = to(Version::V1Alpha1, &bare);
    assert_eq!(view["spec"]["RuntimeId"], "e9c9");
    assert_eq!(to(Version::V1, &view), plain);
    for (stored, wanted) in [(&plain, "e9c9"), (&own, "ab12"), (&bare, "vri6")] {
        // Out of a backup, or a copy.
        let mut elsewhere = stored.clone();
        elsewhere["metadata"]["uid"] = json!("u-2");
        assert_eq!(id(&elsewhere), wanted);
    }
    // Its manifest, without an id, asks for that of the uid.
    let mut again = alpha(Value::Null);
    again["metadata"]["uid"] = json!("u-2");
    assert_eq!(id(&to(Version::V1, &again)), "vri6");
    let mut manifest = bare.clone();
    manifest["metadata"].as_object_mut().unwrap().remove("uid");
    assert_eq!(id(&manifest), Value::Null);
    let map = json!({"mxReplicaSpecs": {"Worker": {"template": template("i")}}});
    assert_eq!(
        id(&object(Version::V1, map)),
        Value::Null,
        "its pods have none"
    );
}

#[test]
fn what_v1_cannot_say_of_a_job_survives_edits_at_v1_and_v1beta1() {
    let list = json!([
        {"template": template("i"), "mxReplicaType": "worker"},
        {"template": template("i"), "mxReplicaType": "scheduler"},
    ]);
    let chief = json!({"chief": {"replicaName": "WORKER", "replicaIndex": 1}});
    let spec = json!({
        "RuntimeId": "ab12", "jobMode": "dist", "terminationPolicy": chief, "replicaSpecs": list,
        "schedulerName": "volcano",
    });
    let mut stored = to(Version::V1, &object(Version::V1Alpha1, spec));
    stored["spec"]["mxReplicaSpecs"]["Worker"]["replicas"] = json!(4);
    let stored = edited(&stored, Version::V1Beta1, |view| {
        view["spec"]["ttlSecondsAfterFinished"] = json!(60);
    });
    assert_eq!(annotation(&stored).unwrap()["origin"], "v1alpha1");
    let view = to(Version::V1Alpha1, &stored);
    assert_eq!(view["spec"]["RuntimeId"], "ab12");
    assert_eq!(view["spec"]["jobMode"], "dist");
    assert_eq!(view["spec"]["schedulerName"], "volcano");
    assert_eq!(view["spec"]["terminationPolicy"], chief);
    assert_eq!(view["spec"]["replicaSpecs"][0]["mxReplicaType"], "worker");
    assert_eq!(view["spec"]["replicaSpecs"][0]["replicas"], 4);
    assert_eq!(
        to(Version::V1, &view)["spec"]["ttlSecondsAfterFinished"],
        60
    );
}

#[test]
fn a_list_that_cannot_be_keyed_is_kept_and_makes_no_valid_job() {
    let entry = |name: &str| json!({"mxReplicaType": name, "template": template("i")});
    for list in [
        json!([entry("WORKER"), entry("worker")]),
        json!([entry("WORKER"), null]),
        json!([entry("BOSS")]),
        json!([entry("TUNER")]),
        json!(["WORKER"]),
        json!({"WORKER": entry("WORKER")}),
    ] {
        let alpha = object(Version::V1Alpha1, json!({"replicaSpecs": list}));
        let stored = to(Version::V1, &alpha);
        assert!(
            mxjob_core::Job::read(crate::versions::TABLE, &stored)
                .spec
                .is_err(),
            "{stored}"
        );
        assert_eq!(to(Version::V1Alpha1, &stored)["spec"]["replicaSpecs"], list);
    }
}

#[test]
fn a_status_is_not_changed_by_an_edit_of_the_spec() {
    let job = training();
    for version in [Version::V1Alpha1, Version::V1Beta1] {
        let got = edited(&job, version, |view| {
            view["spec"]["jobMode"] = json!("x");
        });
        assert_eq!(got["status"], job["status"]);
    }
}

#[test]
fn a_status_write_changes_what_its_version_can_say() {
    let got = edited(&training(), Version::V1Beta1, |view| {
        view["status"]["mxReplicaStatuses"]["Worker"]["active"] = json!(2);
    });
    let worker = &got["status"]["replicaStatuses"]["Worker"];
    assert_eq!(
        *worker,
        json!({"active": 2, "restarts": 3, "startedIndexes": "0"})
    );
    assert_eq!(got["status"]["observedGeneration"], 3);
}

// contract: 12.6
#[test]
fn a_replace_leaves_the_status_as_it_was() {
    let job = training();
    for version in [Version::V1Alpha1, Version::V1Beta1] {
        let got = to(Version::V1, &crate::versions::bare(to(version, &job)));
        assert_eq!(got["status"], job["status"]);
        assert_ne!(
            got["spec"], job["spec"],
            "{version}: the annotation was of no use"
        );
    }
}

/// Who may write a job may write its annotation, and not its status.
#[test]
fn an_annotation_changes_no_status() {
    let job = training();
    for version in [Version::V1Alpha1, Version::V1Beta1] {
        let mut view = to(version, &job);
        let mut held = annotation(&view).unwrap();
        let leaf = json!({"path": ["status", "observedGeneration"], "was": 3, "is": 9});
        held["rest"]["v1"].as_array_mut().unwrap().push(leaf);
        view["metadata"]["annotations"][CONVERSION_ANNOTATION] = held.to_string().into();
        assert_eq!(to(Version::V1, &view)["status"], job["status"]);
    }
}

/// What is held of a status is about nothing else: who may write that may not write a spec.
#[test]
fn a_status_changes_no_spec() {
    let job = training();
    for version in [Version::V1Alpha1, Version::V1Beta1] {
        let mut view = to(version, &job);
        let leaf = json!([{"path": ["spec", "failurePolicy", "maxRestarts"], "was": 1, "is": 9}]);
        view["status"]["rest"] = leaf.to_string().into();
        assert_eq!(to(Version::V1, &view)["spec"], job["spec"]);
    }
}
