//! What an older operator left running goes on: its pods are the job's, and none is made beside them.

use std::collections::BTreeMap;

use crate::lists::entry;
use crate::older_worlds::{GROUPS, left as left_as, manifest, view};
use crate::support::{MX, World, left};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::Pod;
use mxjob_core::Job;
use mxjob_core::job::Replica;
use mxjob_core::model::{Cluster, Part, Preconditions, Report};
use mxjob_core::plan::Action;
use mxjob_core::wiring::labels;
use serde_json::{Value, json};

/// The random ends of names, one that is a number too.
const ENDS: [&str; 5] = ["x1y2z", "00000", "12345", "worke", "abcde"];

/// A scheduler, two servers and two workers.
fn five(group: &str) -> Value {
    let entries = [("SCHEDULER", 1), ("SERVER", 2), ("WORKER", 2)];
    manifest(group, &entries.map(|(role, count)| entry(role, count)))
}

/// Stores a pod whose container runs, or has ended so, nobody knows when it had started.
fn put(cluster: &mut Cluster, now: Timestamp, pod: Pod, ended: Option<i32>) {
    let uid = cluster.create_pod(pod, now).unwrap().metadata.uid.clone();
    let (uid, reason) = (uid.unwrap(), None);
    let report = match ended {
        Some(code) => Report::Exited { uid, code, reason },
        None => Report::Started { uid },
    };
    cluster.report(now, report);
}

fn replicas(job: &Job) -> impl Iterator<Item = Replica> {
    job.spec.as_ref().unwrap().replicas()
}

/// Pods of all replicas but that one; they run.
fn pods_but(skip: Option<Replica>, job: &Job, cluster: &mut Cluster, now: Timestamp) {
    let ends = replicas(job).zip(ENDS);
    for (replica, end) in ends.filter(|(one, _)| Some(*one) != skip) {
        put(cluster, now, left::pod(job, replica, end), None);
    }
}

/// Those pods, and services as the group's operator made them.
fn all_but(skip: Option<Replica>, job: &Job, cluster: &mut Cluster, now: Timestamp) {
    pods_but(skip, job, cluster, now);
    let all = job.table.crd.alone.is_some();
    for replica in replicas(job).filter(|one| all || *one == MX.chief(0)) {
        let service = left::service(job, replica);
        cluster.server.create(service, now).unwrap();
    }
}

/// Uids of the pods by name.
fn pods(world: &World) -> BTreeMap<String, String> {
    let of = |pod: &Pod| {
        let meta = pod.metadata.clone();
        (meta.name.unwrap(), meta.uid.unwrap())
    };
    world.cluster.pods().map(of).collect()
}

fn count(actions: &[Action], test: impl Fn(&Action) -> bool) -> usize {
    actions.iter().filter(|action| test(action)).count()
}

// contract: 12.35, 12.37
#[test]
fn what_runs_is_the_jobs_and_nothing_is_made_beside_it() {
    for group in GROUPS {
        for phase in ["Creating", "Running"] {
            let mut found = BTreeMap::new();
            let world = left_as(&five(group), phase, "Running", |job, cluster, now| {
                all_but(None, job, cluster, now);
                let plan = cluster.plan(now).unwrap().actions;
                let labelled = count(&plan, |one| matches!(one, Action::LabelPod(..)));
                let services = count(&plan, |one| matches!(one, Action::CreateService(_)));
                let missing = if group == "kubeflow.org" { 4 } else { 0 };
                assert_eq!((labelled, services), (5, missing), "{group}");
                assert_eq!(plan.len(), labelled + services, "{plan:?}");
                let uid = |pod: &Pod| pod.metadata.uid.clone().unwrap();
                found = cluster
                    .pods()
                    .map(|pod| (pod.metadata.name.clone().unwrap(), uid(pod)))
                    .collect();
            });
            assert_eq!(pods(&world), found, "{group}");
            assert!(
                found.contains_key("demo-scheduler-ab12-0-x1y2z"),
                "{found:?}"
            );
            for pod in world.cluster.pods() {
                let all = pod.metadata.labels.as_ref().unwrap();
                assert_eq!(all[labels::OPERATOR], world.set.table.operator());
            }
            let status = view(&world, group);
            assert_eq!(
                (&status["phase"], &status["state"]),
                (&json!("Running"), &json!("Running"))
            );
            let counts = |at: usize| status["replicaStatuses"][at]["ReplicasStates"].clone();
            let running = |count: u32| json!({"Running": count});
            assert_eq!(
                [counts(0), counts(1), counts(2)],
                [running(1), running(2), running(2)]
            );
            assert_eq!(world.status().ready.as_deref(), Some("5/5"));
            assert_eq!(world.services(), 5);
            assert_eq!(world.said("SuccessfulCreatePod"), Vec::<String>::new());
            assert!(world.is_quiet(), "{:?}", world.planned());
        }
    }
}

// contract: 12.37
#[test]
fn one_that_fails_is_replaced_under_its_own_name_and_the_job_ends_as_any_other() {
    for group in GROUPS {
        let mut world = left_as(&five(group), "Running", "Running", |job, cluster, now| {
            all_but(None, job, cluster, now);
        });
        world.exit(MX.worker(1), 137);
        world.start_all();
        let names: Vec<_> = pods(&world).into_keys().collect();
        let wanted = [
            "demo-scheduler-ab12-0-x1y2z",
            "demo-server-ab12-0-00000",
            "demo-server-ab12-1-12345",
            "demo-worker-ab12-0-worke",
            "demo-worker-ab12-1",
        ];
        assert_eq!(names, wanted, "{group}");
        assert_eq!(world.counts("Worker").restarts, 1);
        // Without a trace, as with a lost node.
        world.cluster.vanish("demo-server-ab12-0-00000", world.now);
        world.settle();
        world.start_all();
        assert!(pods(&world).contains_key("demo-server-ab12-0"));
        for replica in [MX.worker(0), MX.worker(1), MX.chief(0)] {
            world.exit(replica, 0);
        }
        let status = view(&world, group);
        assert_eq!(
            (&status["phase"], &status["state"]),
            (&json!("Done"), &json!("Succeeded"))
        );
        let stay = if group == "kubeflow.org" { 0 } else { 5 };
        assert_eq!((pods(&world).len(), world.services()), (stay, 0), "{group}");
    }
}

// contract: 12.36
#[test]
fn those_that_had_failed_before_are_nobodys_failure_and_go() {
    for ends in [["aaaaa", "bbbbb"], ["bbbbb", "aaaaa"]] {
        for group in GROUPS {
            let world = left_as(&five(group), "Running", "Running", |job, cluster, now| {
                let replica = MX.worker(0);
                all_but(Some(replica), job, cluster, now);
                for (end, ended) in ends.into_iter().zip([Some(1), None]) {
                    put(cluster, now, left::pod(job, replica, end), ended);
                }
            });
            assert_eq!(world.phase(), "Running", "{group}");
            let all = pods(&world);
            assert!(
                all.contains_key(&format!("demo-worker-ab12-0-{}", ends[1])),
                "{all:?}"
            );
            assert_eq!(all.len(), 5);
            assert_eq!(world.status().ready.as_deref(), Some("5/5"));
            assert_eq!(world.counts("Worker").restarts, 0);
        }
    }
}

// contract: 12.36
// defect: D15
#[test]
fn of_those_that_have_ended_the_newest_counts_and_one_that_has_succeeded() {
    for ends in [["aaaaa", "bbbbb"], ["bbbbb", "aaaaa"]] {
        for (codes, wanted) in [
            ([1, 137], "Running"),
            ([137, 1], "Failed"),
            ([0, 1], "Running"),
        ] {
            let group = "kubeflow.org";
            let world = left_as(&five(group), "Running", "Running", |job, cluster, now| {
                let replica = MX.worker(0);
                all_but(Some(replica), job, cluster, now);
                for (at, code) in codes.into_iter().enumerate() {
                    let age = SignedDuration::from_secs(60 - 30 * i64::try_from(at).unwrap());
                    let created = now.checked_sub(age).unwrap();
                    put(
                        cluster,
                        created,
                        left::pod(job, replica, ends[at]),
                        Some(code),
                    );
                }
            });
            assert_eq!(world.phase(), wanted, "{codes:?}");
            let succeeded = i32::from(codes[0] == 0);
            assert_eq!(world.counts("Worker").succeeded, succeeded, "{codes:?}");
        }
    }
}

// contract: 12.35
#[test]
fn a_pod_of_another_owner_is_left_alone() {
    for group in GROUPS {
        let mut theirs = Vec::new();
        let mut world = left_as(&five(group), "Running", "Running", |job, cluster, now| {
            let mut other = job.clone();
            other.meta.uid = "another".to_owned();
            pods_but(None, &other, cluster, now);
            theirs = cluster.pods().cloned().collect();
        });
        world.start_all();
        assert_eq!(world.pods().len(), 10, "{group}");
        assert_eq!(world.status().ready.as_deref(), Some("5/5"));
        for replica in [MX.worker(0), MX.worker(1), MX.chief(0)] {
            world.exit(replica, 0);
        }
        assert_eq!(world.phase(), "Succeeded");
        for pod in theirs {
            let name = pod.metadata.name.unwrap();
            let now = world.cluster.server.get::<Pod>(&name).unwrap();
            assert_eq!(now.metadata.labels, pod.metadata.labels, "{name}");
            assert!(now.metadata.deletion_timestamp.is_none(), "{name}");
        }
    }
}

// contract: 12.35
#[test]
fn one_of_another_runtime_id_is_none_of_its_replicas() {
    let other = |job: &Job| {
        let mut other = job.clone();
        other.meta.run = Some("zz9z".to_owned());
        other
    };
    for group in GROUPS {
        // Beside those of its own it goes, and restarts nothing.
        let world = left_as(&five(group), "Running", "Running", |job, cluster, now| {
            all_but(None, job, cluster, now);
            put(
                cluster,
                now,
                left::pod(&other(job), MX.worker(0), "aaaaa"),
                None,
            );
        });
        assert_eq!(
            (pods(&world).len(), world.status().restarts),
            (5, None),
            "{group}"
        );
        assert!(pods(&world).keys().all(|name| name.contains("-ab12-")));
        // Alone it tells that the job had another one, and one that had failed before it nothing.
        let mut world = left_as(&five(group), "Running", "Running", |job, cluster, now| {
            for (end, ended) in [("zzzzz", Some(1)), ("aaaaa", None)] {
                let pod = left::pod(&other(job), MX.worker(0), end);
                put(cluster, now, pod, ended);
            }
        });
        world.start_all();
        assert_eq!(world.said("MXJobRenamed").len(), 1);
        let mut wanted: Vec<_> = replicas(world.cluster.job().unwrap())
            .map(|one| world.name(one))
            .collect();
        wanted.sort();
        assert_eq!(
            pods(&world).into_keys().collect::<Vec<_>>(),
            wanted,
            "{group}"
        );
    }
}

// contract: 12.35
#[test]
fn what_had_ended_is_cleaned_up_as_its_policy_says() {
    for (group, state, stay) in [
        ("kubeflow.org", "Succeeded", 0),
        ("kubeflow.org", "Failed", 0),
        ("fioravanzo.org", "Succeeded", 5),
        ("fioravanzo.org", "Failed", 0),
    ] {
        let world = left_as(&five(group), "CleanUp", state, |job, cluster, now| {
            all_but(None, job, cluster, now);
        });
        assert_eq!(
            (pods(&world).len(), world.services()),
            (stay, 0),
            "{group} {state}"
        );
        assert_eq!(view(&world, group)["state"], state);
        assert!(world.is_quiet());
    }
}

/// Its name tells: labels can be edited.
#[test]
fn it_stays_the_jobs_when_somebody_takes_the_older_labels_off() {
    let mut world = left_as(
        &five("kubeflow.org"),
        "Running",
        "Running",
        |job, cluster, now| {
            all_but(None, job, cluster, now);
        },
    );
    let before = pods(&world);
    for name in before.keys() {
        let edit = |pod: &mut Pod| {
            let all = pod.metadata.labels.get_or_insert_default();
            for label in [
                "kubeflow.org",
                "job_type",
                "runtime_id",
                "mx_job_name",
                "task_index",
            ] {
                all.remove(label);
            }
        };
        let any = Preconditions::default();
        world
            .cluster
            .server
            .update(name, &any, Part::Main, edit)
            .unwrap();
    }
    world.settle();
    assert_eq!(pods(&world), before);
    assert!(world.is_quiet(), "{:?}", world.planned());
}
