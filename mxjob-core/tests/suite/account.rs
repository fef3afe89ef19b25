//! What is counted about a job: each fact once, whoever writes its status how often.

use crate::support::{MX, SETS, Set, TUNING, World, set, tuning};
use mxjob_core::Job;
use mxjob_core::plan::{Account, Facts, Observed, PodView, Start};
use serde_json::{Value, json};

/// A world whose job is accounted for after everything that happens.
struct Books {
    world: World,
    account: Option<Account>,
}

impl Books {
    fn open(roles: Set, manifest: Value) -> Self {
        let mut job = Job::read(roles.table, &manifest);
        let world = World::of(roles, manifest);
        // Met before anything was written.
        job.meta = world.cluster.job().unwrap().meta.clone();
        let mut account = None;
        assert_eq!(Account::book(&mut account, Some(&job)), Facts::default());
        Self { world, account }
    }

    fn book(&mut self) -> Facts {
        let facts = Account::book(&mut self.account, self.world.cluster.job());
        let again = Account::book(&mut self.account, self.world.cluster.job());
        assert_eq!(again, Facts::default(), "counted twice");
        let mut met_now = None;
        let known = Account::book(&mut met_now, self.world.cluster.job());
        assert_eq!(known, Facts::default(), "counted by the next operator");
        facts
    }
}

const CREATED: Facts = Facts {
    created: 1,
    ..NOTHING
};
const RESTARTED: Facts = Facts {
    restarted: 1,
    ..NOTHING
};
const NOTHING: Facts = Facts {
    created: 0,
    deleted: 0,
    successful: 0,
    failed: 0,
    restarted: 0,
};

fn job(roles: Set, policy: &str) -> Value {
    let mut manifest = roles.job(1, 0, 2);
    for role in [roles.chief, roles.worker] {
        let path = format!("spec.mxReplicaSpecs.{role}.restartPolicy");
        set(&mut manifest, &path, json!(policy));
    }
    manifest
}

// contract: 11.7
#[test]
fn a_job_is_created_and_succeeds_once() {
    for roles in SETS {
        let mut books = Books::open(roles, job(roles, "Never"));
        assert_eq!(books.book(), CREATED);
        books.world.start_all();
        assert_eq!(books.book(), NOTHING);
        for replica in [roles.worker(0), roles.worker(1), roles.chief(0)] {
            books.world.exit(replica, 0);
        }
        books.world.pass(60);
        assert_eq!(books.world.phase(), "Succeeded");
        let successful = Facts {
            successful: 1,
            ..NOTHING
        };
        assert_eq!(books.book(), successful);
    }
}

// contract: 11.7
#[test]
fn a_job_fails_once() {
    for roles in SETS {
        let mut books = Books::open(roles, job(roles, "Never"));
        books.book();
        books.world.start_all();
        books.world.exit(roles.worker(1), 1);
        let failed = Facts {
            failed: 1,
            ..NOTHING
        };
        assert_eq!(books.book(), failed);
        assert_eq!(books.book(), NOTHING);
    }
}

#[test]
fn a_job_that_is_invalid_was_created_and_fails() {
    let mut manifest = MX.job(1, 0, 1);
    set(&mut manifest, "spec.jobMode", json!("MXNothing"));
    let mut books = Books::open(MX, manifest);
    let facts = Facts {
        created: 1,
        failed: 1,
        ..NOTHING
    };
    assert_eq!(books.book(), facts);
}

// contract: 11.7
#[test]
fn each_replaced_replica_is_one_restart_counted_or_not() {
    for roles in SETS {
        let mut books = Books::open(roles, job(roles, "ExitCode"));
        books.book();
        books.world.start_all();
        books.world.exit(roles.worker(0), 137);
        assert_eq!(books.book(), RESTARTED);
        books.world.start_all();
        assert_eq!(books.book(), NOTHING);

        // Disrupted: replaced without counting towards the limit.
        books.world.drain(roles.worker(1));
        books.world.exit(roles.worker(1), 143);
        assert_eq!(books.world.counts(roles.worker).restarts, 1);
        assert_eq!(books.book(), RESTARTED);
    }
}

// contract: 11.7
#[test]
fn a_restart_of_the_whole_job_is_one() {
    for roles in SETS {
        let mut manifest = job(roles, "Never");
        set(&mut manifest, "spec.failurePolicy", json!({}));
        let mut books = Books::open(roles, manifest);
        books.book();
        books.world.start_all();
        books.world.exit(roles.worker(0), 1);
        assert_eq!(books.world.status().restarts, Some(1));
        assert_eq!(books.book(), RESTARTED);
    }
}

#[test]
fn replicas_that_are_not_wanted_any_more_are_no_restarts() {
    let mut books = Books::open(TUNING, tuning());
    books.world.start_all();
    books.book();
    for wanted in [1, 2] {
        books.world.scale("TunerServer", wanted);
        books.world.start_all();
        assert_eq!(books.book(), NOTHING, "{wanted} wanted");
    }
    assert!(!books.world.counts("TunerServer").attempts.is_empty());
}

#[test]
fn a_wiped_status_is_no_new_job_and_no_new_end() {
    let manifest = MX.job(1, 0, 1);
    let mut books = Books::open(MX, manifest.clone());
    books.book();
    books.world.start_all();
    books.world.exit(MX.worker(0), 1);
    books.book();
    let mut wiped = Job::read(MX.table, &manifest);
    wiped.meta = books.world.cluster.job().unwrap().meta.clone();
    assert_eq!(Account::book(&mut books.account, Some(&wiped)), NOTHING);
    let again = books.world.cluster.job();
    assert_eq!(Account::book(&mut books.account, again), NOTHING);
}

// contract: 11.7
#[test]
fn a_job_that_goes_is_deleted_and_its_namesake_is_another() {
    let mut books = Books::open(MX, MX.job(1, 0, 1));
    books.book();
    let deleted = Facts {
        deleted: 1,
        ..NOTHING
    };
    let mut namesake = Job::read(MX.table, &MX.job(1, 0, 1));
    namesake.meta.uid = "another".into();
    namesake.status = books.world.cluster.job().unwrap().status.clone();
    let mut account = books.account.clone();
    assert_eq!(Account::book(&mut account, Some(&namesake)), deleted);
    assert_eq!(
        Account::book(&mut account, books.world.cluster.job()).deleted,
        1
    );
    assert_eq!(Account::book(&mut books.account, None), deleted);
    assert_eq!(Account::book(&mut books.account, None), NOTHING);
}

// contract: 11.7
#[test]
fn a_job_that_goes_before_it_is_taken_up_is_not_counted() {
    let mut books = Books::open(MX, MX.job(1, 0, 1));
    assert_eq!(Account::book(&mut books.account, None), NOTHING);
}

#[test]
fn a_job_of_somebody_else_is_not_counted() {
    let mut manifest = MX.job(1, 0, 1);
    set(
        &mut manifest,
        "spec.runPolicy.managedBy",
        json!("kueue.x-k8s.io/multikueue"),
    );
    let mut books = Books::open(MX, manifest.clone());
    manifest["status"] = json!({"conditions": [{"type": "Succeeded", "status": "True"}]});
    let ended = Job::read(MX.table, &manifest);
    assert_eq!(Account::book(&mut books.account, Some(&ended)), NOTHING);
    assert_eq!(Account::book(&mut books.account, None), NOTHING);
}

fn start(world: &World) -> Start {
    let pods: Vec<_> = world
        .cluster
        .pods()
        .map(|pod| PodView::of(pod, world.set.table))
        .collect();
    start_with(world, &pods)
}

fn start_with(world: &World, pods: &[PodView]) -> Start {
    Start::of(&Observed {
        job: world.cluster.job().unwrap(),
        pods,
        services: &[],
        config_maps: &[],
    })
}

#[test]
fn a_job_has_started_when_every_replica_has_a_pod() {
    for roles in SETS {
        let mut world = World::of(roles, job(roles, "Never"));
        assert_eq!(start(&world), Start::Complete);
        let mut pods: Vec<_> = world
            .cluster
            .pods()
            .map(|pod| PodView::of(pod, roles.table))
            .collect();
        let last = pods.pop().unwrap();
        assert_eq!(start_with(&world, &pods), Start::Underway);
        pods.push(PodView {
            owner: Some("somebody".into()),
            ..last
        });
        assert_eq!(start_with(&world, &pods), Start::Underway, "not ours");

        world.edit("spec.runPolicy.suspend", json!(true));
        assert_eq!(start(&world), Start::Void);
        world.edit("spec.runPolicy.suspend", json!(false));
        assert_eq!(start(&world), Start::Complete);
        world.start_all();
        world.exit(roles.worker(0), 1);
        assert_eq!(start(&world), Start::Void);
    }
}
