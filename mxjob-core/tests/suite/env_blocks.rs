//! Blocks of variables that a job's replicas go without, and what `lint` says about it.

use mxjob_core::check::warnings;
use mxjob_core::wiring::{Addresses, Wiring};
use mxjob_core::{Job, MxRole, ReplicaRole, RoleTable};
use serde_json::{Value, json};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, ReplicaRole)]
#[roles(
    mode(Train, chief = [Worker], env(SCHEDULER = host(Scheduler))),
    mode(Pair, chief = [Twin], env(GUIDE = host(Guide))),
)]
enum Roles {
    #[role(mode = Train, replicas = 1.., env(RANK = index, TOKEN = "x"))]
    Worker,
    #[role(mode = Train, replicas = 1, optional)]
    Scheduler,
    #[role(mode = Train, mode_env = false, replicas = 1, optional, env(ALL = hosts(Scheduler), ANY = "x"))]
    Reader,
    #[role(mode = Pair, replicas = 1.., default = 2, env(SIDE = index))]
    Twin,
    #[role(mode = Pair, replicas = 1, optional)]
    Guide,
}

/// A job of roles with that many replicas.
fn manifest(table: &RoleTable, roles: &[(&str, u32)]) -> Value {
    let role = |replicas: u32| {
        let container = json!({"name": table.container, "image": "i"});
        json!({"replicas": replicas, "template": {"spec": {"containers": [container]}}})
    };
    let roles: serde_json::Map<_, _> = roles
        .iter()
        .map(|(name, replicas)| ((*name).to_owned(), role(*replicas)))
        .collect();
    json!({
        "apiVersion": format!("{}/v1", table.crd.group), "kind": table.crd.kind,
        "metadata": {"name": "demo", "namespace": "ns"}, "spec": {"mxReplicaSpecs": roles},
    })
}

/// What `lint` says about variables that are not there.
fn missing(table: &'static RoleTable, roles: &[(&str, u32)]) -> Vec<String> {
    missing_in(table, &manifest(table, roles))
}

fn missing_in(table: &'static RoleTable, manifest: &Value) -> Vec<String> {
    let spec = serde_json::from_value(manifest["spec"].clone()).unwrap();
    let texts = warnings(table, &spec).into_iter();
    texts
        .map(|problem| problem.to_string())
        .filter(|text| text.contains("gets no"))
        .collect()
}

/// Names of the variables of the first pod.
fn names(roles: &[(&str, u32)]) -> Vec<String> {
    let job = Job::read(Roles::TABLE, &manifest(Roles::TABLE, roles));
    let wiring = Wiring::new(&job, job.spec.as_ref().unwrap(), Addresses::Cluster);
    let pod = wiring.pods().next().unwrap().spec.unwrap();
    let env = pod.containers[0].env.clone().unwrap_or_default();
    env.into_iter().map(|var| var.name).collect()
}

#[test]
fn a_roles_own_block_goes_with_that_of_its_mode_and_lint_names_both() {
    assert_eq!(names(&[("Worker", 1)]), [""; 0]);
    assert_eq!(
        missing(Roles::TABLE, &[("Worker", 1)]),
        [
            "spec.mxReplicaSpecs.Worker: Worker gets no SCHEDULER, RANK, TOKEN: the job has no Scheduler"
        ]
    );
    let whole = [("Worker", 1), ("Scheduler", 1)];
    assert_eq!(names(&whole), ["SCHEDULER", "RANK", "TOKEN"]);
    assert_eq!(missing(Roles::TABLE, &whole), [""; 0]);
}

#[test]
fn of_a_lone_replica_the_index_is_not_missed() {
    assert_eq!(missing(MxRole::TABLE, &[("Worker", 1)]), [""; 0]);
    assert_eq!(missing(MxRole::TABLE, &[("Worker", 2)]).len(), 1);

    let mut twins = manifest(Roles::TABLE, &[("Twin", 1)]);
    assert_eq!(missing_in(Roles::TABLE, &twins), [""; 0]);
    twins["spec"]["mxReplicaSpecs"]["Twin"]
        .as_object_mut()
        .unwrap()
        .remove("replicas");
    assert_eq!(missing_in(Roles::TABLE, &twins).len(), 1);
}

#[test]
fn a_list_of_addresses_of_an_absent_role_takes_its_block_along() {
    let job = Job::read(
        Roles::TABLE,
        &manifest(Roles::TABLE, &[("Worker", 1), ("Reader", 1)]),
    );
    let wiring = Wiring::new(&job, job.spec.as_ref().unwrap(), Addresses::Cluster);
    let reader = wiring.pods().last().unwrap().spec.unwrap();
    assert_eq!(reader.containers[0].env, None);
}
