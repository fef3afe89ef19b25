//! What a replica gets that asks for a configured accelerator.

use crate::support::{MX, SETS, Set, set};
use mxjob_core::Job;
use mxjob_core::accelerators::Accelerators;
use mxjob_core::wiring::{Addresses, Wiring};
use serde_json::{Value, json};

fn config() -> Value {
    json!({"accelerators": {
        "nvidia.com/gpu": {
            "volumes": [{"name": "lib", "hostPath": "/home/lib", "mountPath": "/usr/lib/cuda"}],
            "envVars": [{"name": "LD_LIBRARY_PATH", "value": "/usr/lib/cuda"}, {"name": "EMPTY"}],
        },
        "example.com/npu": {
            "volumes": [{"name": "npu", "hostPath": "/dev/npu", "mountPath": "/npu"}],
        },
    }})
}

/// The specs of a job's pods, chief first, with and without configuration.
fn pods(roles: Set, manifest: &Value, config: &Value) -> (Vec<Value>, Vec<Value>) {
    let job = Job::read(roles.table, manifest);
    let spec = job.spec.as_ref().unwrap();
    let accelerators = Accelerators::read(config).unwrap();
    let specs = |wiring: &Wiring<'_>| {
        let pods = wiring.pods();
        pods.map(|pod| serde_json::to_value(pod.spec).unwrap())
            .collect()
    };
    let plain = Wiring::new(&job, spec, Addresses::Cluster);
    let wiring = Wiring::new(&job, spec, Addresses::Cluster).with_accelerators(&accelerators);
    (specs(&wiring), specs(&plain))
}

/// A job whose one worker's container says that.
fn job(roles: Set, fields: &Value) -> Value {
    let mut manifest = roles.job(1, 0, 1);
    let container =
        &mut manifest["spec"]["mxReplicaSpecs"][roles.worker]["template"]["spec"]["containers"][0];
    for (key, value) in fields.as_object().unwrap() {
        container[key] = value.clone();
    }
    manifest
}

fn names(list: &Value) -> Vec<&str> {
    let items = list.as_array().into_iter().flatten();
    items.map(|item| item["name"].as_str().unwrap()).collect()
}

// contract: 5.4.4
// promise: P84
#[test]
fn who_asks_for_it_gets_folders_and_variables() {
    for roles in SETS {
        for list in ["limits", "requests"] {
            let manifest = job(
                roles,
                &json!({"resources": {list: {"nvidia.com/gpu": "1"}}}),
            );
            let (given, plain) = pods(roles, &manifest, &config());
            assert_eq!(given[0], plain[0], "the chief has not asked");
            let worker = &given[1];
            assert_eq!(
                worker["volumes"],
                json!([{"name": "lib", "hostPath": {"path": "/home/lib"}}])
            );
            let container = &worker["containers"][0];
            assert_eq!(
                container["volumeMounts"],
                json!([{"name": "lib", "mountPath": "/usr/lib/cuda"}])
            );
            let variables = container["env"].as_array().unwrap();
            let wanted = [
                json!({"name": "LD_LIBRARY_PATH", "value": "/usr/lib/cuda"}),
                json!({"name": "EMPTY", "value": ""}),
            ];
            assert_eq!(variables[..2], wanted);
            let ours = plain[1]["containers"][0]["env"].as_array();
            assert_eq!(variables[2..], ours.cloned().unwrap_or_default());
        }
    }
}

// contract: 5.4.4
#[test]
fn what_is_there_by_name_is_not_there_twice() {
    let own = json!({
        "resources": {"limits": {"nvidia.com/gpu": "1"}, "requests": {"nvidia.com/gpu": "1"}},
        "volumeMounts": [{"name": "lib", "mountPath": "/mine"}],
        "env": [{"name": "LD_LIBRARY_PATH", "value": "/mine"}],
    });
    let mut manifest = job(MX, &own);
    let path = "spec.mxReplicaSpecs.Worker.template.spec.volumes";
    set(
        &mut manifest,
        path,
        json!([{"name": "lib", "emptyDir": {}}]),
    );
    let (given, _) = pods(MX, &manifest, &config());
    let worker = &given[1];
    assert_eq!(worker["volumes"], json!([{"name": "lib", "emptyDir": {}}]));
    let container = &worker["containers"][0];
    assert_eq!(container["volumeMounts"], own["volumeMounts"]);
    let variables = names(&container["env"]);
    assert_eq!(variables[..2], ["LD_LIBRARY_PATH", "EMPTY"]);
    assert_eq!(container["env"][0]["value"], "/mine");
    assert!(!variables[2..].contains(&"LD_LIBRARY_PATH"));
}

#[test]
fn a_path_that_is_mounted_already_is_left_alone() {
    let own = json!({
        "resources": {"limits": {"nvidia.com/gpu": "1"}},
        "volumeMounts": [{"name": "cuda", "mountPath": "/usr/lib/cuda"}],
    });
    let mut manifest = job(MX, &own);
    let path = "spec.mxReplicaSpecs.Worker.template.spec.volumes";
    set(
        &mut manifest,
        path,
        json!([{"name": "cuda", "emptyDir": {}}]),
    );
    let (given, plain) = pods(MX, &manifest, &config());
    assert_eq!(given[1]["volumes"], plain[1]["volumes"]);
    let mounts = |pods: &[Value]| pods[1]["containers"][0]["volumeMounts"].clone();
    assert_eq!(mounts(&given), mounts(&plain));
}

// promise: P84
#[test]
fn another_container_gets_nothing() {
    let mut manifest = job(MX, &json!({}));
    let path = "spec.mxReplicaSpecs.Worker.template.spec.containers";
    let asks = json!({"limits": {"nvidia.com/gpu": "1"}});
    let containers = json!([
        {"name": "mxnet", "image": "i"},
        {"name": "side", "image": "i", "resources": asks},
    ]);
    set(&mut manifest, path, containers);
    let (given, plain) = pods(MX, &manifest, &config());
    assert_eq!(given, plain);
}

#[test]
fn the_old_name_serves_in_the_job_and_in_the_file() {
    let folder = json!([{"name": "lib", "hostPath": "/lib", "mountPath": "/lib"}]);
    for (asked, configured, wanted) in [
        ("alpha.kubernetes.io/nvidia-gpu", "nvidia.com/gpu", true),
        (
            "alpha.kubernetes.io/nvidia-gpu",
            "alpha.kubernetes.io/nvidia-gpu",
            true,
        ),
        ("nvidia.com/gpu", "nvidia.com/gpu", true),
        ("nvidia.com/gpu", "example.com/npu", false),
    ] {
        let manifest = job(MX, &json!({"resources": {"limits": {asked: "1"}}}));
        let config = json!({"accelerators": {configured: {"volumes": folder}}});
        let (given, _) = pods(MX, &manifest, &config);
        let volumes = names(&given[1]["volumes"]);
        assert_eq!(volumes == ["lib"], wanted, "{asked} {configured}");
        let limits = &given[1]["containers"][0]["resources"]["limits"];
        assert_eq!(limits, &json!({"nvidia.com/gpu": "1"}));
    }
}

#[test]
fn keys_are_found_in_any_letter_case() {
    let like = json!({
        "Accelerators": {"nvidia.com/gpu": {
            "VOLUMES": [{"Name": "lib", "hostpath": "/home/lib", "mountpath": "/usr/lib/cuda"}],
            "envvars": [{"NAME": "LD_LIBRARY_PATH", "Value": "/usr/lib/cuda"}, {"name": "EMPTY"}],
        }, "example.com/npu": config()["accelerators"]["example.com/npu"]},
        "grpcServerFilePath": "/opt/server.py",
        "mxImage": "example.com/mxnet:1",
    });
    assert_eq!(Accelerators::read(&like), Accelerators::read(&config()));
    assert_eq!(Accelerators::read(&json!({})), Ok(Accelerators::default()));
}

// contract: 5.4.5
#[test]
fn every_mistake_is_said() {
    for (field, value, said) in [
        ("volumes", json!({}), "volumes: must be a list"),
        (
            "volumes",
            json!([7]),
            "volumes[0]: must be a mapping of names to values",
        ),
        (
            "volumes",
            json!([{"name": "a", "mountPath": "/a"}]),
            "volumes[0]: hostPath is missing",
        ),
        (
            "volumes",
            json!([{"name": "a", "hostPath": "/a", "mountPath": "a"}]),
            "volumes[0].mountPath: must begin with /",
        ),
        (
            "volumes",
            json!([{"name": "", "hostPath": "/a", "mountPath": "/a"}]),
            "volumes[0].name: must not be empty",
        ),
        (
            "volumes",
            json!([{"name": "-a", "hostPath": "/a", "mountPath": "/a"}]),
            "volumes[0].name: must be lower-case letters, digits and -, 63 at most, as Kubernetes names volumes",
        ),
        (
            "envVars",
            json!([{"value": "a"}]),
            "envVars[0]: name is missing",
        ),
        (
            "envVars",
            json!([{"name": "A", "value": true}]),
            "envVars[0].value: must be a text: put it in quotes",
        ),
        (
            "envVars",
            json!([{"name": "A="}]),
            "envVars[0].name: must be printable ASCII without =, as Kubernetes names variables",
        ),
        (
            "envVars",
            json!([{"name": "A", "foo": 1}]),
            "envVars[0].foo: unknown key",
        ),
        (
            "volumes",
            json!([{"name": "a", "hostPath": "/a", "mountPath": "/a", "hostPth": "/b"}]),
            "volumes[0].hostPth: unknown key: did you mean hostPath?",
        ),
    ] {
        let file = json!({"accelerators": {"gpu": {field: value}}});
        let problems = Accelerators::read(&file).unwrap_err();
        let said_now: Vec<_> = problems.iter().map(ToString::to_string).collect();
        assert_eq!(said_now, [format!("accelerators.gpu.{said}")]);
    }
}

// contract: 5.4.5
#[test]
fn keys_and_resources_that_are_none_are_mistakes() {
    for (file, said) in [
        (
            json!({"acelerators": {}}),
            "acelerators: unknown key: did you mean accelerators?",
        ),
        (
            json!({"accelerators": {"a/gpu": {"evnVars": []}}}),
            "accelerators[a/gpu].evnVars: unknown key: did you mean envVars?",
        ),
        (
            json!({"accelerators": {"nvidia.com/": {}}}),
            "accelerators[nvidia.com/]: must be the name of a resource, like nvidia.com/gpu",
        ),
        (
            json!({"accelerators": {"Nvidia.com/gpu": {}}}),
            "accelerators[Nvidia.com/gpu]: must be the name of a resource, like nvidia.com/gpu",
        ),
    ] {
        let problems = Accelerators::read(&file).unwrap_err();
        let said_now: Vec<_> = problems.iter().map(ToString::to_string).collect();
        assert_eq!(said_now, [said]);
    }
    for file in [
        json!([]),
        json!({"accelerators": 7}),
        json!({"accelerators": {"gpu": 7}}),
    ] {
        let problems = Accelerators::read(&file).unwrap_err();
        assert_eq!(problems.len(), 1, "{file}");
    }
}

// contract: 5.4.5
#[test]
fn two_volumes_of_one_name_are_a_mistake_unless_they_are_the_same() {
    let read = |node: &str, mount: &str| {
        let volumes = json!([
            {"name": "lib", "hostPath": "/lib", "mountPath": "/lib"},
            {"name": "lib", "hostPath": node, "mountPath": mount},
        ]);
        Accelerators::read(&json!({"accelerators": {"gpu": {"volumes": volumes}}}))
    };
    for (node, mount) in [("/other", "/lib"), ("/lib", "/other")] {
        let problems = read(node, mount).unwrap_err();
        let said: Vec<_> = problems.iter().map(ToString::to_string).collect();
        assert_eq!(said, ["accelerators.gpu: has two volumes lib: rename one"]);
    }
    assert!(read("/lib", "/lib").is_ok());
}

#[test]
fn variables_may_be_named_as_the_server_allows() {
    for name in ["A", "1BAD", "my.var-x", "a b"] {
        let file = json!({"accelerators": {"gpu": {"envVars": [{"name": name}]}}});
        assert!(Accelerators::read(&file).is_ok(), "{name}");
    }
}
