//! What a job owns besides its pods, when its names change.

use std::collections::BTreeMap;

use crate::support::{MX, World, annotated};
use k8s_openapi::api::core::v1::{ConfigMap, Service};
use mxjob_core::model::{Part, Preconditions, StoredJob};
use mxjob_core::plan::ConfigMapView;
use mxjob_core::wiring::labels;
use serde_json::json;

#[test]
fn the_layout_names_replicas_as_they_are_called_now() {
    let large = |id: Option<&str>| {
        let mut manifest = MX.job(1, 0, 1000);
        annotated(&mut manifest, id, None);
        manifest
    };
    let seen = |world: &World| -> Vec<(String, bool)> {
        let run = world.cluster.job().unwrap().meta.run.clone().unwrap();
        let all = world.cluster.config_maps();
        let is_right = |one: &ConfigMap| {
            let layout = &one.data.as_ref().unwrap()["cluster.json"];
            layout.contains(&format!("demo-worker-{run}-999"))
        };
        all.map(|one| (ConfigMapView::of(one).size, is_right(one)))
            .collect()
    };
    let mut world = World::running(MX, large(Some("ab12")));
    let size = "scheduler=1,worker=1000";
    assert_eq!(seen(&world), [(format!("ab12:{size}"), true)]);
    world.replace(large(Some("zz9z")));
    assert_eq!(seen(&world), [(format!("zz9z:{size}"), true)]);
    let said = world.said("SuccessfulDeletePod");
    let told = "Deleted 1000 pods: demo-worker-ab12-0 .. demo-worker-ab12-999";
    assert!(said.contains(&told.to_owned()), "{said:?}");
}

/// Puts an object of the job under another name.
fn owned(world: &mut World, name: &str) {
    let mut meta = world.cluster.services().next().unwrap().metadata.clone();
    meta.name = Some(name.to_owned());
    meta.annotations = Some(BTreeMap::from([(
        labels::SIZE.to_owned(),
        "scheduler=1,worker=1000".to_owned(),
    )]));
    let (mut service, mut config_map) = (Service::default(), ConfigMap::default());
    (service.metadata, config_map.metadata) = (meta.clone(), meta);
    world.cluster.server.create(service, world.now).unwrap();
    world.cluster.server.create(config_map, world.now).unwrap();
}

// contract: 12.18
#[test]
fn services_and_config_maps_of_the_job_under_other_names_go() {
    let mut world = World::running(MX, MX.job(1, 0, 1000));
    owned(&mut world, "demo-worker-ab12-0");
    owned(&mut world, "something");
    world.settle();
    assert_eq!(world.services(), 1001);
    let left: Vec<_> = world.cluster.config_maps().collect();
    assert_eq!(left.len(), 1);
    assert_eq!(left[0].metadata.name.as_deref(), Some("demo-cluster"));
    // Those that pods of now may use stay: the user has edited how they find each other.
    let mut world = World::running(MX, MX.job(1, 0, 2));
    world.edit("spec.network.services", json!("PerJob"));
    world.edit("spec.network.services", json!("PerReplica"));
    assert_eq!(world.services(), 4);
    assert_eq!(world.phase(), "Running");
}

#[test]
fn the_model_reads_a_job_again_when_its_annotations_change() {
    let mut world = World::running(MX, {
        let mut manifest = MX.job(1, 0, 1);
        annotated(&mut manifest, Some("ab12"), None);
        manifest
    });
    let anything = Preconditions::default();
    let edit = |job: &mut StoredJob| job.metadata.annotations = None;
    let stored = world
        .cluster
        .server
        .update::<StoredJob>("demo", &anything, Part::Main, edit);
    assert_eq!(stored.unwrap().job().meta.run, None);
}
