//! Pods of an older operator that no watch shows for a moment: they are in one until they have this
//! operator's label, and in another from then on.

use crate::lists::entry;
use crate::older_worlds::{GROUPS, left as left_as, manifest};
use crate::support::{MX, World, left};
use jiff::SignedDuration;
use k8s_openapi::api::core::v1::Pod;
use mxjob_core::job::Attempt;
use mxjob_core::model::{Cluster, Done, Fault, Kind, Leader, News, Part, Preconditions, Report};
use mxjob_core::plan::Action;
use mxjob_core::wiring::{Addresses, Wiring, labels};

/// A scheduler, a server and a worker, whose pods run or have not begun to.
fn world(group: &str, run: bool) -> World {
    let entries = [("SCHEDULER", 1), ("SERVER", 1), ("WORKER", 1)];
    let manifest = manifest(group, &entries.map(|(role, count)| entry(role, count)));
    left_as(&manifest, "Running", "Running", |job, cluster, now| {
        for replica in job.spec.as_ref().unwrap().replicas() {
            let service = left::service(job, replica);
            cluster.server.create(service, now).unwrap();
            let pod = left::pod(job, replica, "x1y2z");
            let pod = cluster.create_pod(pod, now).unwrap();
            if run {
                let uid = pod.metadata.uid.clone().unwrap();
                cluster.report(now, Report::Started { uid });
            }
        }
    })
}

fn unlabel(cluster: &mut Cluster) {
    let names: Vec<_> = cluster.pods().map(name).collect();
    let edit = |pod: &mut Pod| {
        let labels = pod.metadata.labels.as_mut().unwrap();
        labels.remove(labels::OPERATOR);
    };
    for name in names {
        let any = Preconditions::default();
        let server = &mut cluster.server;
        server.update(&name, &any, Part::Main, edit).unwrap();
    }
}

fn name(pod: &Pod) -> String {
    pod.metadata.name.clone().unwrap()
}

fn uids(world: &World) -> Vec<Option<String>> {
    let pods = world.cluster.pods();
    pods.map(|pod| pod.metadata.uid.clone()).collect()
}

/// What it does until it wants nothing more.
fn acts(leader: &mut Leader, world: &mut World) -> Vec<Action> {
    let mut all = Vec::new();
    for _ in 0..30 {
        match leader.step(&mut world.cluster, world.now, Fault::None) {
            Done::Acted { action, .. } => all.push(action),
            Done::Looked { plan, .. } if plan.actions.is_empty() && plan.status.is_none() => break,
            _ => {}
        }
    }
    all
}

fn labels_only(actions: &[Action]) -> bool {
    let labels = actions.iter();
    labels
        .filter(|one| matches!(one, Action::LabelPod(..)))
        .count()
        == actions.len()
}

// contract: 12.41
#[test]
fn one_that_only_the_other_watch_would_show_is_looked_for_before_another_is_made() {
    for group in GROUPS {
        for run in [true, false] {
            let mut world = world(group, run);
            let before = uids(&world);
            let mut leader = Leader::new(&world.cluster, "demo", false);
            unlabel(&mut world.cluster);
            leader.hear(&world.cluster, Kind::Pods, News::List);
            let actions = acts(&mut leader, &mut world);
            assert!(labels_only(&actions), "{group}: {actions:?}");
            assert_eq!(actions.len(), 3, "{group}: {actions:?}");
            assert_eq!(uids(&world), before, "{group}");
            assert_eq!(world.counts("Worker").restarts, 0);
        }
    }
}

// contract: 12.41
#[test]
fn one_whose_new_watch_hangs_is_looked_for_before_another_is_made() {
    for group in GROUPS {
        for run in [true, false] {
            let mut world = world(group, run);
            let before = uids(&world);
            unlabel(&mut world.cluster);
            let mut leader = Leader::new(&world.cluster, "demo", false);
            let actions = acts(&mut leader, &mut world);
            assert!(labels_only(&actions) && actions.len() == 3, "{actions:?}");
            leader.hear(&world.cluster, Kind::OlderPods, News::List);
            leader.expire();
            let actions = acts(&mut leader, &mut world);
            assert!(labels_only(&actions), "{group}: {actions:?}");
            assert_eq!(uids(&world), before, "{group}");
        }
    }
}

// contract: 12.41
#[test]
fn of_two_of_a_replica_that_go_on_the_one_stays_that_has_more_to_lose() {
    for group in GROUPS {
        for (older_runs, runs, newer_by, stays) in [
            (true, false, 60, true),
            (true, false, -60, true),
            (false, true, 60, false),
            (true, true, 60, true),
            (true, true, -60, false),
        ] {
            let mut world = world(group, older_runs);
            let job = world.cluster.job().unwrap().clone();
            let spec = job.spec.as_ref().unwrap();
            let wiring = Wiring::new(&job, spec, Addresses::Cluster);
            let pod = wiring.pod(MX.worker(0), Attempt::default()).unwrap();
            let age = SignedDuration::from_secs(newer_by);
            let created = world.now.checked_add(age).unwrap();
            let pod = world.cluster.create_pod(pod, created).unwrap();
            if runs {
                let uid = pod.metadata.uid.clone().unwrap();
                world.cluster.report(world.now, Report::Started { uid });
            }
            world.settle();
            let older = "demo-worker-ab12-0-x1y2z".to_owned();
            let there: Vec<_> = world.cluster.pods().map(name).collect();
            assert_eq!(
                there.contains(&older),
                stays,
                "{group} {newer_by}: {there:?}"
            );
            assert_eq!(there.len(), 3, "{there:?}");
            assert_eq!(world.counts("Worker").restarts, 0);
        }
    }
}
