//! The exact bytes of environment, names, labels and services.

use crate::support::{MX, set};
use k8s_openapi::api::core::v1::{Pod, Service};
use mxjob_core::wiring::{Addresses, Wiring, names};
use mxjob_core::{Job, MxRole, ReplicaRole};
use serde_json::{Value, json};

fn train(name: &str) -> Value {
    let mut manifest = MX.job(1, 2, 2);
    set(&mut manifest, "metadata.name", json!(name));
    manifest
}

fn tune() -> Value {
    let role =
        || json!({"template": {"spec": {"containers": [{"name": "mxnet", "image": "tvm"}]}}});
    let mut manifest = MX.job(0, 0, 0);
    set(&mut manifest, "metadata.name", json!("auto-tuning-job"));
    for name in ["TunerTracker", "TunerServer", "Tuner"] {
        set(
            &mut manifest,
            &format!("spec.mxReplicaSpecs.{name}"),
            role(),
        );
    }
    set(
        &mut manifest,
        "spec.mxReplicaSpecs.TunerServer.label",
        json!("2080ti"),
    );
    manifest
}

fn objects(manifest: &Value) -> (Vec<Pod>, Vec<Service>) {
    let job = Job::read(MxRole::TABLE, manifest);
    let spec = job.spec.as_ref().unwrap();
    let wiring = Wiring::new(&job, spec, Addresses::Cluster);
    (wiring.pods().collect(), wiring.services())
}

fn env(pods: &[Pod], name: &str) -> Vec<(String, String)> {
    let pod = pods
        .iter()
        .find(|pod| pod.metadata.name.as_deref() == Some(name))
        .unwrap();
    let vars = pod.spec.as_ref().unwrap().containers[0]
        .env
        .clone()
        .unwrap_or_default();
    vars.into_iter()
        .map(|var| (var.name, var.value.unwrap_or_default()))
        .collect()
}

// contract: 5.2.3
#[test]
fn mx_config_of_training_to_the_byte() {
    let (pods, _) = objects(&train("mxnet-job"));
    let expected = r#"{"cluster":{"scheduler":[{"url":"mxnet-job-scheduler-0","port":9091}],"server":[{"url":"mxnet-job-server-0","port":9091},{"url":"mxnet-job-server-1","port":9091}],"worker":[{"url":"mxnet-job-worker-0","port":9091},{"url":"mxnet-job-worker-1","port":9091}]},"labels":{"scheduler":"","server":"","worker":""},"task":{"type":"worker","index":0}}"#;
    assert_eq!(
        env(&pods, "mxnet-job-worker-0")[0],
        ("MX_CONFIG".to_owned(), expected.to_owned())
    );
}

// contract: 5.2.2, 5.2.3
// promise: P79
#[test]
fn mx_config_of_tuning_to_the_byte_and_nothing_else() {
    let (pods, _) = objects(&tune());
    let expected = r#"{"cluster":{"tuner":[{"url":"auto-tuning-job-tuner-0","port":9091}],"tunerserver":[{"url":"auto-tuning-job-tunerserver-0","port":9091}],"tunertracker":[{"url":"auto-tuning-job-tunertracker-0","port":9091}]},"labels":{"tuner":"","tunerserver":"2080ti","tunertracker":""},"task":{"type":"tuner","index":0}}"#;
    assert_eq!(
        env(&pods, "auto-tuning-job-tuner-0"),
        [("MX_CONFIG".to_owned(), expected.to_owned())]
    );
}

// contract: 5.2.1
// promise: P73
#[test]
fn a_worker_gets_the_parameter_servers_environment_in_order() {
    let (pods, _) = objects(&train("mxnet-job"));
    let rest: Vec<_> = env(&pods, "mxnet-job-worker-1")[1..]
        .iter()
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    assert_eq!(
        rest,
        [
            "DMLC_PS_ROOT_PORT=9091",
            "DMLC_PS_ROOT_URI=mxnet-job-scheduler-0",
            "DMLC_NUM_SERVER=2",
            "DMLC_NUM_WORKER=2",
            "DMLC_ROLE=worker",
            "DMLC_USE_KUBERNETES=1",
            "DMLC_WORKER_ID=1",
        ]
    );
    assert!(
        env(&pods, "mxnet-job-server-0")
            .iter()
            .all(|(name, _)| name != "DMLC_WORKER_ID")
    );
}

// contract: 5.2.2
#[test]
fn training_without_a_scheduler_gets_only_the_layout() {
    let (pods, _) = objects(&MX.job(0, 0, 1));
    let names: Vec<_> = env(&pods, "demo-worker-0")
        .into_iter()
        .map(|(name, _)| name)
        .collect();
    assert_eq!(names, ["MX_CONFIG"]);
}

// contract: 5.2.1, 5.2.4
#[test]
fn the_users_variables_come_first_and_each_name_once() {
    let mut manifest = MX.job(1, 0, 1);
    let user = json!([
        {"name": "A", "value": "1"}, {"name": "DMLC_ROLE", "value": "mine"},
        {"name": "DMLC_USE_KUBERNETES", "value": "0"}, {"name": "A", "value": "2"},
    ]);
    manifest["spec"]["mxReplicaSpecs"]["Worker"]["template"]["spec"]["containers"][0]["env"] = user;
    let (pods, _) = objects(&manifest);
    let vars = env(&pods, "demo-worker-0");
    assert_eq!(
        vars[..2],
        [
            ("DMLC_USE_KUBERNETES".into(), "0".into()),
            ("A".into(), "2".into())
        ]
    );
    let count = |name: &str| vars.iter().filter(|(one, _)| one == name).count();
    assert_eq!(
        (count("A"), count("DMLC_ROLE"), count("DMLC_USE_KUBERNETES")),
        (1, 1, 1)
    );
    assert!(vars.contains(&("DMLC_ROLE".into(), "worker".into())));
}

// contract: 5.3.2
#[test]
fn one_service_for_the_job_gives_pods_host_names() {
    let mut manifest = train("mxnet-job");
    set(&mut manifest, "spec.network.services", json!("PerJob"));
    let (pods, services) = objects(&manifest);
    assert_eq!(services.len(), 1);
    let vars = env(&pods, "mxnet-job-worker-0");
    assert!(vars.contains(&(
        "DMLC_PS_ROOT_URI".into(),
        "mxnet-job-scheduler-0.mxnet-job".into()
    )));
}

// contract: 5.1.1, 5.1.2, 5.1.3, 5.3.1
#[test]
fn a_pod_and_its_service_whole() {
    let (pods, services) = objects(&train("mxnet-job"));
    insta::assert_yaml_snapshot!("pod_scheduler", &pods[0]);
    insta::assert_yaml_snapshot!("service_scheduler", &services[0]);
}

// contract: 4.2, 4.3
// promise: P20
#[test]
fn ports_of_the_user_are_kept_and_the_jobs_port_is_there() {
    let cases = [
        (json!([]), vec![(Some("mxjob-port"), 9091)], 9091),
        (
            json!([{"name": "mxjob-port", "containerPort": 9991}]),
            vec![(Some("mxjob-port"), 9991)],
            9991,
        ),
        (
            json!([{"containerPort": 9091}]),
            vec![(Some("mxjob-port"), 9091)],
            9091,
        ),
        (
            json!([{"name": "own", "containerPort": 9091}]),
            vec![(Some("own"), 9091)],
            9091,
        ),
        (
            json!([{"name": "web", "containerPort": 80}]),
            vec![(Some("web"), 80), (Some("mxjob-port"), 9091)],
            9091,
        ),
    ];
    for (ports, expected, number) in cases {
        let mut manifest = MX.job(1, 0, 1);
        manifest["spec"]["mxReplicaSpecs"]["Scheduler"]["template"]["spec"]["containers"][0]["ports"] =
            ports;
        let (pods, services) = objects(&manifest);
        let ports = pods[0].spec.as_ref().unwrap().containers[0]
            .ports
            .clone()
            .unwrap();
        let found: Vec<_> = ports
            .iter()
            .map(|port| (port.name.as_deref(), port.container_port))
            .collect();
        assert_eq!(found, expected);
        assert!(
            env(&pods, "demo-worker-0").contains(&("DMLC_PS_ROOT_PORT".into(), number.to_string()))
        );
        assert_eq!(
            services[0]
                .spec
                .as_ref()
                .unwrap()
                .ports
                .as_ref()
                .unwrap()
                .len(),
            expected.len()
        );
    }
}

// contract: 5.4.1
// promise: P30
#[test]
fn what_the_kubelet_restarts_follows_the_role_and_never_a_failure_policy() {
    for (policy, pod, with_failure_policy) in [
        ("Never", "Never", "Never"),
        ("OnFailure", "OnFailure", "Never"),
        ("Always", "Always", "Never"),
        ("ExitCode", "Never", "Never"),
    ] {
        let mut manifest = MX.job(1, 0, 1);
        set(
            &mut manifest,
            "spec.mxReplicaSpecs.Worker.restartPolicy",
            json!(policy),
        );
        let restarts = |manifest: &Value| {
            objects(manifest).0[1]
                .spec
                .as_ref()
                .unwrap()
                .restart_policy
                .clone()
                .unwrap()
        };
        assert_eq!(restarts(&manifest), pod);
        set(&mut manifest, "spec.failurePolicy", json!({}));
        assert_eq!(restarts(&manifest), with_failure_policy);
    }
}

#[test]
fn a_name_stands_for_a_replica_only_as_it_would_be_written() {
    let job = Job::read(MxRole::TABLE, &json!({"metadata": {"name": "job"}}));
    let parse = |name: &str| names::parse(&job, name);
    assert_eq!(parse("job-worker-10"), Some(MX.worker(10)));
    for other in [
        "job-Worker-1",
        "job-worker-01",
        "job-worker-+1",
        "job-worker-",
        "job-nobody-0",
        "other-worker-0",
        "job",
    ] {
        assert_eq!(parse(other), None, "{other}");
    }
}
