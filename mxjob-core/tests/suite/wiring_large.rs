//! Jobs whose layout is too long for a variable, and old names of accelerators.

use crate::support::{MX, set};
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use mxjob_core::wiring::{Addresses, Wiring};
use mxjob_core::{Job, MxRole, ReplicaRole};
use serde_json::{Value, json};

fn objects(manifest: &Value) -> (Vec<Pod>, Option<ConfigMap>) {
    let job = Job::read(MxRole::TABLE, manifest);
    let wiring = Wiring::new(&job, job.spec.as_ref().unwrap(), Addresses::Cluster);
    (wiring.pods().collect(), wiring.config_map())
}

fn config(pod: &Pod) -> Value {
    let vars = pod.spec.clone().unwrap().containers[0].env.clone().unwrap();
    let var = vars
        .into_iter()
        .find(|var| var.name == "MX_CONFIG")
        .unwrap();
    let text = var.value.unwrap();
    assert!(text.len() <= 32 * 1024, "{} bytes", text.len());
    serde_json::from_str(&text).unwrap()
}

fn size(pod: &Pod) -> usize {
    serde_json::to_string(pod).unwrap().len()
}

// contract: 5.2.5
#[test]
fn a_long_layout_is_cut_to_first_entries_and_whole_in_the_config_map() {
    let (pods, config_map) = objects(&MX.job(1, 20, 3000));
    let cluster = config(&pods[500])["cluster"].clone();
    let first = |role: &str| json!([{"url": format!("demo-{role}-0"), "port": 9091}]);
    assert_eq!(
        cluster,
        json!({"scheduler": first("scheduler"), "server": first("server"), "worker": first("worker")})
    );
    assert_eq!(
        config(&pods[21 + 479])["task"],
        json!({"type": "worker", "index": 479})
    );

    let config_map = config_map.unwrap();
    assert_eq!(config_map.metadata.name.as_deref(), Some("demo-cluster"));
    assert_eq!(
        config_map.metadata.owner_references.unwrap()[0].name,
        "demo"
    );
    let whole: Value = serde_json::from_str(&config_map.data.unwrap()["cluster.json"]).unwrap();
    let count = |role: &str| whole[role].as_array().unwrap().len();
    assert_eq!(
        (count("scheduler"), count("server"), count("worker")),
        (1, 20, 3000)
    );
    assert_eq!(whole["worker"][2999]["url"], "demo-worker-2999");
}

// contract: 5.2.5
#[test]
fn every_container_finds_the_whole_layout_as_a_file() {
    let mut manifest = MX.job(1, 0, 1000);
    let template = "spec.mxReplicaSpecs.Worker.template.spec";
    set(
        &mut manifest,
        &format!("{template}.volumes"),
        json!([{"name": "data", "emptyDir": {}}, {"name": "mxjob-cluster", "emptyDir": {}}]),
    );
    let (pods, _) = objects(&manifest);
    let spec = pods[1].spec.clone().unwrap();
    let names: Vec<_> = spec
        .volumes
        .iter()
        .flatten()
        .map(|volume| volume.name.as_str())
        .collect();
    assert_eq!(names, ["data", "mxjob-cluster"]);
    let source = spec.volumes.as_ref().unwrap()[1]
        .config_map
        .clone()
        .unwrap();
    assert_eq!(source.name, "demo-cluster");
    for container in &spec.containers {
        let mount = &container.volume_mounts.as_ref().unwrap()[0];
        assert_eq!(
            (mount.name.as_str(), mount.mount_path.as_str()),
            ("mxjob-cluster", "/etc/mxjob")
        );
    }
}

#[test]
fn a_layout_that_fits_has_no_config_map() {
    let (pods, config_map) = objects(&MX.job(1, 2, 2));
    assert_eq!(config_map, None);
    assert_eq!(pods[0].spec.clone().unwrap().volumes, None);
}

// contract: 5.2.5
#[test]
fn the_border_is_the_longest_variable_of_the_job() {
    let is_whole = |workers: u32| {
        let job = Job::read(MxRole::TABLE, &MX.job(1, 0, workers));
        let wiring = Wiring::new(&job, job.spec.as_ref().unwrap(), Addresses::Cluster);
        wiring.config_map().is_none()
    };
    let most = (500..1000)
        .rev()
        .find(|workers| is_whole(*workers))
        .unwrap();
    let (pods, _) = objects(&MX.job(1, 0, most));
    let longest = config(pods.last().unwrap()).to_string().len();
    // One more entry is about 45 bytes.
    assert!((32 * 1024 - 50..=32 * 1024).contains(&longest), "{longest}");
}

// contract: 5.2.7
#[test]
fn a_pods_body_does_not_grow_with_the_job() {
    let worker = |workers| {
        let (pods, _) = objects(&MX.job(1, 2, workers));
        size(&pods[3])
    };
    let sizes = [10, 100, 1000, 3000].map(worker);
    println!("bytes of worker 0 at 10, 100, 1,000, 3,000 workers: {sizes:?}");
    assert!(
        sizes[3] < sizes[0] * 2 && sizes[3].abs_diff(sizes[2]) < 10,
        "{sizes:?}"
    );
    assert!(sizes.iter().all(|size| *size < 40 * 1024), "{sizes:?}");
}

// contract: 5.4.3
#[test]
fn the_old_name_of_accelerators_becomes_the_new_one() {
    let mut manifest = MX.job(0, 0, 1);
    let resources = json!({
        "limits": {"alpha.kubernetes.io/nvidia-gpu": "2", "cpu": "1"},
        "requests": {"alpha.kubernetes.io/nvidia-gpu": "2", "nvidia.com/gpu": "1"},
    });
    manifest["spec"]["mxReplicaSpecs"]["Worker"]["template"]["spec"]["containers"][0]["resources"] =
        resources;
    let (pods, _) = objects(&manifest);
    let got = serde_json::to_value(&pods[0].spec.clone().unwrap().containers[0].resources).unwrap();
    assert_eq!(
        got,
        json!({"limits": {"cpu": "1", "nvidia.com/gpu": "2"}, "requests": {"nvidia.com/gpu": "1"}})
    );
}
