//! Published manifests of the older versions, at v1.

use crate::versions::{TABLE, object, to};
use mxjob_core::Job;
use mxjob_core::api::Version;
use mxjob_core::api::v1::CleanPodPolicy;
use mxjob_core::role::RestartPolicy;
use serde_json::{Value, json};

fn sample(text: &str) -> Value {
    serde_saphyr::from_str(text).unwrap()
}

fn samples() -> [Value; 3] {
    [
        sample(include_str!("../data/kubeflow-v1alpha1-dist.yaml")),
        sample(include_str!("../data/kubeflow-v1beta1-train-gpu.yaml")),
        sample(include_str!("../data/kubeflow-v1beta1-tune-gpu.yaml")),
    ]
}

// contract: 12.7
// promise: P11
#[test]
fn are_valid_jobs_that_run_as_their_version_says() {
    for sample in samples() {
        let job = Job::read(TABLE, &to(Version::V1, &sample));
        let spec = job.spec.unwrap_or_else(|problems| panic!("{problems:?}"));
        assert_eq!(spec.roles.len(), 3);
        assert_eq!(spec.clean, CleanPodPolicy::All);
        for code in 1..=255 {
            assert_eq!(
                spec.retryable.contains(code),
                [130, 137, 138, 143].contains(&code),
                "{code}"
            );
        }
    }
}

#[test]
fn of_v1alpha1_say_the_same_at_v1() {
    let [sample, ..] = samples();
    let stored = to(Version::V1, &sample);
    let spec = &stored["spec"];
    assert_eq!(spec["jobMode"], "MXTrain");
    assert_eq!(spec["cleanPodPolicy"], "All");
    let job = Job::read(TABLE, &stored).spec.unwrap();
    let ports: Vec<_> = job.roles.iter().map(|role| role.port).collect();
    assert_eq!(ports, [9000, 9091, 9091]);
    for role in &job.roles {
        assert_eq!(role.restart, RestartPolicy::ExitCode);
        let pod = role.template.spec.as_ref().unwrap();
        assert_eq!(
            pod.restart_policy.as_deref(),
            Some("OnFailure"),
            "kept as written"
        );
    }
}

// contract: 12.7
// promise: P11, P18, P20, P27, P28, P33
#[test]
fn show_their_defaults_when_read_back() {
    let [alpha, beta, _] = samples();
    let back = to(Version::V1Alpha1, &to(Version::V1, &alpha));
    let mut expected = alpha["spec"].clone();
    expected["mxImage"] = json!("jzp1025/mxnet:test");
    expected["terminationPolicy"] =
        json!({"chief": {"replicaName": "SCHEDULER", "replicaIndex": 0}});
    for entry in [1, 2] {
        expected["replicaSpecs"][entry]["PsRootPort"] = json!(9091);
    }
    assert_eq!(back["spec"], expected);

    let back = to(Version::V1Beta1, &to(Version::V1, &beta));
    let mut expected = beta["spec"].clone();
    expected["cleanPodPolicy"] = json!("All");
    for role in ["Scheduler", "Server", "Worker"] {
        let work = &mut expected["mxReplicaSpecs"][role]["template"]["spec"]["containers"][0];
        work["ports"] = json!([{"name": "mxjob-port", "containerPort": 9091}]);
    }
    assert_eq!(back["spec"], expected);
}

// contract: 12.7, 12.44
#[test]
fn a_port_that_serves_under_another_name_is_the_one_that_v1beta1_shows() {
    let [mut alpha, ..] = samples();
    for entry in alpha["spec"]["replicaSpecs"].as_array_mut().unwrap() {
        entry["PsRootPort"] = json!(9000);
        let work = &mut entry["template"]["spec"]["containers"][0];
        work["ports"] = json!([{"name": "http", "containerPort": 9000}]);
    }
    let shown = to(Version::V1Beta1, &to(Version::V1, &alpha));
    for role in ["Scheduler", "Server", "Worker"] {
        let pod = &shown["spec"]["mxReplicaSpecs"][role]["template"]["spec"];
        let ports = &pod["containers"][0]["ports"];
        assert_eq!(
            *ports,
            json!([{"name": "http", "containerPort": 9000}]),
            "{role}"
        );
    }
    let back = to(Version::V1Alpha1, &to(Version::V1, &shown));
    assert_eq!(back["spec"]["replicaSpecs"][0]["PsRootPort"], 9000);
}

#[test]
fn a_v1_manifest_is_shown_by_both_older_versions() {
    let sample = sample(include_str!("../data/kubeflow-v1-train.yaml"));
    let list = &to(Version::V1Alpha1, &sample)["spec"]["replicaSpecs"];
    let shown = |key: &str| -> Vec<Value> {
        let entries = list.as_array().unwrap().iter();
        entries.map(|entry| entry[key].clone()).collect()
    };
    assert_eq!(shown("mxReplicaType"), ["SCHEDULER", "SERVER", "WORKER"]);
    assert_eq!(shown("PsRootPort"), [9991, 9991, 9991]);
    assert_eq!(shown("replicas"), [1, 1, 1]);
    let beta = to(Version::V1Beta1, &sample);
    assert_eq!(beta["spec"]["cleanPodPolicy"], "Running");
    assert_eq!(
        beta["spec"]["mxReplicaSpecs"],
        sample["spec"]["mxReplicaSpecs"]
    );
}

/// The worker of a v1alpha1 job with one entry, at v1.
fn worker(spec: Value) -> Value {
    to(Version::V1, &object(Version::V1Alpha1, spec))["spec"]["mxReplicaSpecs"]["Worker"].clone()
}

fn entry(container: Value) -> Value {
    json!([{"template": {"spec": {"containers": [container]}}}])
}

// promise: P27
#[test]
fn mx_image_is_of_a_main_container_without_one() {
    for (own, image, expected) in [
        (json!({"name": "mxnet"}), json!("a"), json!("a")),
        (
            json!({"name": "mxnet", "image": ""}),
            json!("a"),
            json!("a"),
        ),
        (
            json!({"name": "mxnet"}),
            Value::Null,
            json!("jzp1025/mxnet:test"),
        ),
        (
            json!({"name": "mxnet", "image": "b"}),
            json!("a"),
            json!("b"),
        ),
        (json!({"name": "side"}), json!("a"), Value::Null),
    ] {
        let worker = worker(json!({"mxImage": image, "replicaSpecs": entry(own)}));
        assert_eq!(
            worker["template"]["spec"]["containers"][0]["image"],
            expected
        );
    }
}

// defect: D16
#[test]
fn a_scheduler_name_is_of_every_pod_unless_it_is_empty() {
    for (name, expected) in [("volcano", "volcano"), ("", "own")] {
        let mut list = entry(json!({"name": "mxnet"}));
        list[0]["template"]["spec"]["schedulerName"] = json!("own");
        let worker = worker(json!({"schedulerName": name, "replicaSpecs": list}));
        assert_eq!(worker["template"]["spec"]["schedulerName"], expected);
    }
}

#[test]
fn the_port_of_an_entry_is_the_jobs_port_of_its_main_container() {
    let named = |name: &str, number: i32| json!({"name": name, "containerPort": number});
    for (port, ports, expected) in [
        (9000, json!([]), json!([named("mxjob-port", 9000)])),
        (
            9000,
            json!([named("mxjob-port", 80)]),
            json!([named("mxjob-port", 9000)]),
        ),
        (
            9000,
            json!([{"containerPort": 9000}]),
            json!([named("mxjob-port", 9000)]),
        ),
        (
            9000,
            json!([named("web", 9000)]),
            json!([named("web", 9000)]),
        ),
        (
            9091,
            json!([named("web", 9091)]),
            json!([named("web", 9091)]),
        ),
        (
            9000,
            json!([named("web", 80)]),
            json!([named("web", 80), named("mxjob-port", 9000)]),
        ),
        (
            9000,
            json!([{"containerPort": 9000, "protocol": "UDP"}]),
            json!([{"containerPort": 9000, "protocol": "UDP"}, named("mxjob-port", 9000)]),
        ),
    ] {
        let mut list = entry(json!({"name": "mxnet", "image": "i", "ports": ports}));
        list[0]["PsRootPort"] = json!(port);
        let mut spec = worker(json!({"replicaSpecs": list}));
        let got = spec["template"]["spec"]["containers"][0]["ports"].take();
        for port in got.as_array().unwrap() {
            let expected = expected.as_array().unwrap().iter().find(|one| *one == port);
            assert!(expected.is_some(), "{port} of {got}, expected {expected:?}");
        }
        assert_eq!(got, expected);
    }
}

/// A job with one worker whose container has these ports; of `PsRootPort` 9000.
fn with_ports(ports: Value) -> Value {
    let probe = json!({"httpGet": {"port": "web"}});
    let container = json!({"name": "mxnet", "image": "i", "ports": ports, "readinessProbe": probe});
    let mut list = entry(container);
    list[0]["PsRootPort"] = json!(9000);
    let side = json!({"name": "side", "image": "i", "ports": [{"containerPort": 9091}]});
    let containers = &mut list[0]["template"]["spec"]["containers"];
    containers.as_array_mut().unwrap().push(side);
    object(Version::V1Alpha1, json!({"replicaSpecs": list}))
}

// contract: 12.44
#[test]
fn a_port_that_has_a_name_keeps_it_and_is_the_jobs_by_its_number() {
    let web = json!({"name": "web", "containerPort": 9000});
    let written = with_ports(json!([web]));
    let mut stored = to(Version::V1, &written);
    let back = to(Version::V1Alpha1, &stored);
    assert_eq!(back["spec"]["replicaSpecs"][0]["PsRootPort"], 9000);
    let template = &written["spec"]["replicaSpecs"][0]["template"];
    assert_eq!(back["spec"]["replicaSpecs"][0]["template"], *template);

    // The sidecar's port 9091 is not in its way: that would be the job's by default.
    let read = |stored: &Value| Job::read(TABLE, stored).spec.unwrap().roles.remove(0);
    let worker = read(&stored);
    assert_eq!(worker.port, 9000);
    let pod = worker.template.spec.as_ref().unwrap();
    let ports = json!(pod.containers[0].ports);
    assert_eq!(ports, json!([web]), "the only one");

    // Whoever names the job's port at v1 has the last word.
    let named = json!([web, {"name": "mxjob-port", "containerPort": 9002}]);
    let own = "/spec/mxReplicaSpecs/Worker/template/spec/containers/0/ports";
    *stored.pointer_mut(own).unwrap() = named;
    assert_eq!(read(&stored).port, 9002);
    let view = to(Version::V1Alpha1, &stored);
    assert_eq!(view["spec"]["replicaSpecs"][0]["PsRootPort"], 9002);
    assert_eq!(to(Version::V1, &view), stored);
}

// contract: 12.44
#[test]
fn another_port_of_the_jobs_ports_name_stays_what_it_is() {
    let web = json!({"name": "web", "containerPort": 9000});
    let other = json!({"name": "mxjob-port", "containerPort": 9002});
    for ports in [json!([web, other]), json!([other, web])] {
        let written = with_ports(ports.clone());
        let stored = to(Version::V1, &written);
        let worker = Job::read(TABLE, &stored).spec.unwrap().roles.remove(0);
        assert_eq!(worker.port, 9000, "{ports}");
        let pod = worker.template.spec.as_ref().unwrap();
        assert_eq!(json!(pod.containers[0].ports), ports);
        let view = to(Version::V1Alpha1, &stored);
        let [shown, written] = [&view, &written].map(|one| &one["spec"]["replicaSpecs"][0]);
        for field in ["template", "PsRootPort"] {
            assert_eq!(shown[field], written[field], "{ports}");
        }
        assert_eq!(to(Version::V1, &view), stored);
    }
    // One without a name stays so: no two of a container have one name.
    let stored = to(
        Version::V1,
        &with_ports(json!([other, {"containerPort": 9000}])),
    );
    let worker = Job::read(TABLE, &stored).spec.unwrap().roles.remove(0);
    assert_eq!(worker.port, 9000);
    let made = json!(worker.template.spec.as_ref().unwrap().containers[0].ports);
    assert_eq!(made, json!([other, {"containerPort": 9000}]));
    // Whoever takes it away at v1 is left with the one of that name.
    let mut stored = to(Version::V1, &with_ports(json!([web, other])));
    let own = "/spec/mxReplicaSpecs/Worker/template/spec/containers/0/ports";
    *stored.pointer_mut(own).unwrap() = json!([other]);
    let worker = Job::read(TABLE, &stored).spec.unwrap().roles.remove(0);
    assert_eq!(worker.port, 9002);
    // One that nobody else has is made the number that the entry gives.
    let stored = to(Version::V1, &with_ports(json!([other])));
    let worker = Job::read(TABLE, &stored).spec.unwrap().roles.remove(0);
    assert_eq!(worker.port, 9000);
}

// promise: P29
#[test]
fn every_cleanup_policy_has_its_like() {
    for (policy, expected) in [
        (json!(null), "All"),
        (json!(""), "All"),
        (json!("All"), "All"),
        (json!("Running"), "Running"),
        (json!("None"), "None"),
    ] {
        let spec = json!({"cleanupPodPolicy": policy, "replicaSpecs": []});
        let stored = to(Version::V1, &object(Version::V1Alpha1, spec));
        assert_eq!(stored["spec"]["cleanPodPolicy"], expected);
    }
}

// promise: P21
#[test]
fn a_local_job_is_decided_by_its_worker() {
    let spec = json!({"jobMode": "local", "replicaSpecs": entry(json!({"name": "mxnet"}))});
    let stored = to(Version::V1, &object(Version::V1Alpha1, spec));
    assert_eq!(stored["spec"]["jobMode"], "MXTrain");
    let view = to(Version::V1Alpha1, &stored);
    let chief = &view["spec"]["terminationPolicy"]["chief"];
    assert_eq!(*chief, json!({"replicaName": "WORKER", "replicaIndex": 0}));
    assert_eq!(view["spec"]["jobMode"], "local");
}

// promise: P24
#[test]
fn another_word_for_the_mode_makes_no_valid_job() {
    for (mode, valid) in [("dist", true), ("local", true), ("both", false)] {
        let list = entry(json!({"name": "mxnet"}));
        let spec = json!({"jobMode": mode, "replicaSpecs": list});
        let stored = to(Version::V1, &object(Version::V1Alpha1, spec));
        assert_eq!(Job::read(TABLE, &stored).spec.is_ok(), valid, "{mode}");
    }
}
