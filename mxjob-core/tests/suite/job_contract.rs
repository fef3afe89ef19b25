//! What a spec that says little means, what is too much, and how services find their pods.

use std::collections::BTreeMap;

use crate::support::{MX, SETS, Set, set, tuning};
use k8s_openapi::api::core::v1::{Pod, Service};
use mxjob_core::api::v1::{JobSpec, Services};
use mxjob_core::job::Spec;
use mxjob_core::wiring::{Addresses, Wiring};
use mxjob_core::{Job, MxRole, ReplicaRole, check};
use serde_json::{Value, json};

fn read(roles: Set, manifest: &Value) -> Spec {
    Job::read(roles.table, manifest).spec.unwrap()
}

// contract: 2.10
#[test]
fn without_a_word_services_are_per_replica_and_nothing_is_suspended() {
    for roles in SETS {
        let spec = read(roles, &roles.job(1, 0, 1));
        assert_eq!((spec.services, spec.suspend), (Services::PerReplica, false));
        let mut said = roles.job(1, 0, 1);
        set(&mut said, "spec.network.services", json!("PerJob"));
        set(&mut said, "spec.runPolicy.suspend", json!(true));
        let spec = read(roles, &said);
        assert_eq!((spec.services, spec.suspend), (Services::PerJob, true));
    }
}

fn problems(manifest: &Value) -> Vec<String> {
    let mut problems = check::structure(MxRole::TABLE, manifest);
    if problems.is_empty() {
        let spec: JobSpec = serde_json::from_value(manifest["spec"].clone()).unwrap();
        problems = check::rules(MxRole::TABLE, "demo", &spec);
    }
    problems.iter().map(ToString::to_string).collect()
}

// contract: 2.11
#[test]
fn a_scheduling_policy_is_read_in_both_places() {
    let policy = json!({
        "minAvailable": 3,
        "queue": "night",
        "minResources": {"cpu": "4", "nvidia.com/gpu": 2},
        "priorityClass": "high",
        "scheduleTimeoutSeconds": 60,
    });
    for path in ["spec.runPolicy.schedulingPolicy", "spec.schedulingPolicy"] {
        let mut manifest = MX.job(1, 0, 1);
        set(&mut manifest, path, policy.clone());
        assert_eq!(problems(&manifest), [""; 0], "every field is known");
        let spec: JobSpec = serde_json::from_value(manifest["spec"].clone()).unwrap();
        let run = spec.run_policy.and_then(|run| run.scheduling_policy);
        let read = spec.scheduling_policy.or(run).unwrap();
        assert_eq!(read.min_available, Some(3));
        assert_eq!(read.queue.as_deref(), Some("night"));
        assert_eq!(read.priority_class.as_deref(), Some("high"));
        assert_eq!(read.schedule_timeout_seconds, Some(60));
        assert_eq!(read.min_resources.unwrap()["nvidia.com/gpu"].0, "2");
        for field in ["minAvailable", "scheduleTimeoutSeconds"] {
            let field = format!("{path}.{field}");
            let mut negative = manifest.clone();
            set(&mut negative, &field, json!(-1));
            assert_eq!(
                problems(&negative),
                [format!("{field}: must be 0 or more, not -1")]
            );
        }
    }
}

// contract: 2.12
#[test]
fn there_is_a_most_of_everything() {
    let container = "spec.mxReplicaSpecs.Worker.template.spec.containers[0]";
    let pod = |count: u32| {
        let one = |index| json!({"name": format!("c{index}"), "image": "i"});
        (1..count).map(one).collect::<Vec<_>>()
    };
    let with = |change: &dyn Fn(&mut Value)| {
        let mut manifest = MX.job(1, 0, 1);
        change(&mut manifest["spec"]);
        problems(&manifest)
    };
    let template = "/mxReplicaSpecs/Worker/template/spec";
    for (more, said) in [
        (0, vec![]),
        (
            1,
            vec![
                "spec.mxReplicaSpecs: 100001 replicas in all: at most 100000, a cluster has no more pods"
                    .to_owned(),
                format!("{container}.ports: must have at most 16 items, not 17"),
                "spec.mxReplicaSpecs.Worker.template.spec.containers: must have at most 64 items, not 65"
                    .to_owned(),
                "spec.mxReplicaSpecs.Worker.template.spec.initContainers: must have at most 64 items, not 65"
                    .to_owned(),
                "spec.runPolicy.retryableExitCodes: must have at most 64 items, not 65".to_owned(),
                "spec.failurePolicy.rules: must have at most 64 items, not 65".to_owned(),
                "spec.failurePolicy.rules[0].exitCodes: must have at most 64 items, not 65".to_owned(),
            ],
        ),
    ] {
        let codes: Vec<_> = (1..=64 + more).map(|code| code.to_string()).collect();
        let found = [
            with(&|spec| spec["mxReplicaSpecs"]["Worker"]["replicas"] = json!(99_999 + more)),
            with(&|spec| {
                let port = |number: u32| json!({"containerPort": 8000 + number});
                let ports: Vec<_> = (0..16 + more).map(port).collect();
                spec.pointer_mut(template).unwrap()["containers"][0]["ports"] = json!(ports);
            }),
            with(&|spec| {
                let containers = spec.pointer_mut(template).unwrap()["containers"].as_array_mut();
                containers.unwrap().extend(pod(64 + more));
            }),
            with(&|spec| {
                spec.pointer_mut(template).unwrap()["initContainers"] = json!(pod(65 + more));
            }),
            with(&|spec| spec["runPolicy"] = json!({"retryableExitCodes": codes})),
            with(&|spec| {
                let rules = vec![json!({"action": "RestartJob"}); 64 + usize::from(more > 0)];
                spec["failurePolicy"] = json!({"rules": rules});
            }),
            with(&|spec| {
                let rule = json!({"action": "RestartJob", "exitCodes": codes});
                spec["failurePolicy"] = json!({"rules": [rule]});
            }),
        ];
        assert_eq!(found.concat(), said);
    }
}

/// The spec as if the user had written every default.
fn written_out(spec: &Spec) -> Value {
    let roles = spec.roles.iter().map(|role| {
        let fields = json!({
            "replicas": role.replicas,
            "restartPolicy": role.restart,
            "label": role.label,
            "template": *role.template,
        });
        (role.role.name, fields)
    });
    json!({
        "jobMode": spec.mode.name,
        "mxReplicaSpecs": roles.collect::<BTreeMap<_, _>>(),
        "successPolicy": spec.success,
        "network": {"services": spec.services},
        "runPolicy": {"cleanPodPolicy": spec.clean, "suspend": spec.suspend},
    })
}

// contract: 4.4
#[test]
fn defaults_of_what_has_them_already_change_nothing() {
    let ports = [
        json!([]),
        json!([{"containerPort": 9091}]),
        json!([{"containerPort": 9091, "protocol": "UDP"}]),
        json!([{"name": "own", "containerPort": 9091}]),
        json!([{"name": "mxjob-port", "containerPort": 9991}, {"containerPort": 9091}]),
    ];
    for ports in ports {
        for mut manifest in [MX.job(1, 0, 2), tuning()] {
            let roles = manifest["spec"]["mxReplicaSpecs"].as_object_mut().unwrap();
            for role in roles.values_mut() {
                role["template"]["spec"]["containers"][0]["ports"] = ports.clone();
            }
            let once = written_out(&read(MX, &manifest));
            manifest["spec"] = once.clone();
            assert_eq!(written_out(&read(MX, &manifest)), once);
        }
    }
}

fn objects(roles: Set, manifest: &Value) -> (Vec<Pod>, Vec<Service>) {
    let job = Job::read(roles.table, manifest);
    let spec = job.spec.as_ref().unwrap();
    let wiring = Wiring::new(&job, spec, Addresses::Cluster);
    (wiring.pods().collect(), wiring.services())
}

/// The pods that a service leads to.
fn selected(service: &Service, pods: &[Pod]) -> Vec<String> {
    let selector = service.spec.as_ref().unwrap().selector.as_ref().unwrap();
    let fits = |pod: &&Pod| {
        let labels = pod.metadata.labels.as_ref().unwrap();
        let has = |(key, value)| labels.get(key) == Some(value);
        selector.iter().all(has)
    };
    let name = |pod: &Pod| pod.metadata.name.clone().unwrap();
    pods.iter().filter(fits).map(name).collect()
}

// contract: 5.1.4
#[test]
fn a_replicas_labels_select_its_pod_and_no_other() {
    for roles in SETS {
        let (pods, services) = objects(roles, &roles.job(1, 2, 12));
        assert_eq!(services.len(), 15);
        for service in &services {
            let name = service.metadata.name.clone().unwrap();
            assert_eq!(selected(service, &pods), [name]);
            let selector = service.spec.as_ref().unwrap().selector.as_ref();
            assert_eq!(selector, service.metadata.labels.as_ref());
        }
    }
}

// contract: 5.3.2, 5.3.6
#[test]
fn the_one_service_of_a_job_selects_all_its_pods_and_has_no_ports() {
    let mut manifest = MX.job(1, 2, 2);
    set(&mut manifest, "spec.network.services", json!("PerJob"));
    let (pods, services) = objects(MX, &manifest);
    let [service] = services.as_slice() else {
        unreachable!("one service")
    };
    let service_spec = service.spec.as_ref().unwrap();
    assert_eq!(selected(service, &pods).len(), 5);
    let wanted = [
        ("training.kubeflow.org/job-name", "demo"),
        ("training.kubeflow.org/operator-name", "mxjob-controller"),
    ];
    let wanted = wanted.map(|(key, value)| (key.to_owned(), value.to_owned()));
    assert_eq!(service_spec.selector, Some(BTreeMap::from(wanted)));
    assert_eq!(service_spec.ports, None);
    assert_eq!(service_spec.cluster_ip.as_deref(), Some("None"));
    for pod in &pods {
        let spec = pod.spec.as_ref().unwrap();
        assert_eq!(spec.hostname, pod.metadata.name);
        assert_eq!(spec.subdomain.as_deref(), Some("demo"));
    }
}
