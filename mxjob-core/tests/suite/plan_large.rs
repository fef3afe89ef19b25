//! A job whose layout is too long for a variable has it in a ConfigMap.

use crate::support::{MX, World, set};
use jiff::Timestamp;
use mxjob_core::Job;
use mxjob_core::plan::{Action, ConfigMapView, Observed, plan};
use serde_json::json;

const LARGE: u32 = 1000;

fn sizes(world: &World) -> Vec<String> {
    world
        .cluster
        .config_maps()
        .map(|one| ConfigMapView::of(one).size)
        .collect()
}

/// What is done about a large job of which only these ConfigMaps are there.
fn actions(config_maps: &[ConfigMapView]) -> (Job, Vec<Action>) {
    let mut manifest = MX.job(1, 0, LARGE);
    set(&mut manifest, "metadata.uid", json!("ours"));
    let job = Job::read(MX.table, &manifest);
    let observed = Observed {
        job: &job,
        pods: &[],
        services: &[],
        config_maps,
    };
    let actions = plan(&observed, Timestamp::UNIX_EPOCH).actions;
    (job, actions)
}

fn config_map(owner: &str, size: &str) -> ConfigMapView {
    ConfigMapView {
        name: "demo-cluster".to_owned(),
        uid: "1".to_owned(),
        owner: Some(owner.to_owned()),
        owner_name: Some("MXJob.kubeflow.org/demo".to_owned()),
        claimed: true,
        size: size.to_owned(),
        deleting: false,
    }
}

fn has_pods(actions: &[Action]) -> bool {
    actions
        .iter()
        .any(|action| matches!(action, Action::CreatePod(..)))
}

// contract: 5.2.6
#[test]
fn it_comes_before_the_pods_and_goes_with_the_services() {
    let mut world = World::of(MX, MX.job(1, 0, LARGE));
    world.settle();
    assert_eq!(sizes(&world), ["scheduler=1,worker=1000"]);
    assert_eq!(world.said("MXConfigShortened").len(), 1);
    assert!(
        world.said("MXConfigShortened")[0]
            .contains("demo-cluster, mounted at /etc/mxjob/cluster.json")
    );
    world.edit("spec.runPolicy.suspend", json!(true));
    assert_eq!((sizes(&world).len(), world.services()), (0, 0));
    let (_, actions) = actions(&[]);
    assert!(actions.contains(&Action::CreateConfigMap) && has_pods(&actions));
    assert!(Action::CreateConfigMap.comes_first());
}

#[test]
fn a_job_that_fits_has_none() {
    let mut world = World::of(MX, MX.job(1, 2, 2));
    world.settle();
    assert_eq!(
        (sizes(&world).len(), world.said("MXConfigShortened").len()),
        (0, 0)
    );
}

#[test]
fn one_of_another_size_is_replaced_before_pods_are_made() {
    let (_, actions) = actions(&[config_map("ours", "scheduler=1,worker=700")]);
    assert!(
        matches!(&actions[..1], [Action::DeleteConfigMap(target)] if target.uid == "1"),
        "{:?}",
        actions[0]
    );
    assert!(!actions.contains(&Action::CreateConfigMap) && !has_pods(&actions));

    let mut world = World::of(MX, MX.job(1, 0, LARGE));
    world.settle();
    world.scale(MX.worker, LARGE + 1);
    assert_eq!(sizes(&world), ["scheduler=1,worker=1001"]);
    world.scale(MX.worker, 2);
    assert_eq!(sizes(&world), [""; 0]);
}

// contract: 5.3.4
#[test]
fn somebody_elses_is_left_alone_and_stalls_the_job() {
    let (job, actions) = actions(&[config_map("theirs", "")]);
    assert!(!has_pods(&actions) && !actions.contains(&Action::CreateConfigMap));
    assert!(
        !actions
            .iter()
            .any(|action| matches!(action, Action::DeleteConfigMap(_)))
    );
    let theirs = ConfigMapView {
        owner: None,
        owner_name: None,
        ..config_map("", "")
    };
    let observed = Observed {
        job: &job,
        pods: &[],
        services: &[],
        config_maps: &[theirs],
    };
    let status = plan(&observed, Timestamp::UNIX_EPOCH).status.unwrap();
    let stalled = status
        .conditions
        .iter()
        .find(|one| one.kind == "Stalled")
        .unwrap();
    assert_eq!(
        stalled.message.as_deref(),
        Some("config map demo-cluster belongs to somebody else: delete or rename it")
    );
}
