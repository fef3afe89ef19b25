//! Keeps what the manifests in this folder take from the code as the code says: the
//! CustomResourceDefinitions, the roles of the operator and those of the people who make jobs.

#[path = "../mxjob-operator/src/rights.rs"]
#[allow(
    dead_code,
    unreachable_pub,
    reason = "the program needs the rest of it"
)]
mod rights;

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use mxjob_core::role::apis;
use mxjob_core::{MxRole, RoleTable};
use rights::{Install, Part, Place, Right};
use serde_json::{Value, json};

const OWN: &str = "kubeflow.org";
const OLDER: [&str; 2] = ["fioravanzo.org", "mxnet.mlkube.io"];
const NAMESPACE: &str = "mxjob-system";
const GENERATED: &str = "# Generated from mxjob-operator/src/rights.rs and deploy/build.rs: change those, not this file.\n";

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=../mxjob-operator/src/rights.rs");
    let all: Vec<&'static RoleTable> = apis::<MxRole>().collect();
    let own: Vec<_> = all.iter().copied().take(1).collect();

    mxjob_build::write_crds_of::<MxRole>("kustomize/base", &[OWN])?;
    mxjob_build::write_crds_of::<MxRole>("kustomize/older", &OLDER)?;
    let chart = [&[OWN], OLDER.as_slice()].concat();
    mxjob_build::write_crds_of::<MxRole>("helm/mxjob/files", &chart)?;

    write("kustomize/base/rbac.yaml", &objects(&own))?;
    // A patch: of a role, its rules; bindings stay.
    let roles: Vec<_> = objects(&all)
        .into_iter()
        .filter(|object| object["kind"] == "ClusterRole")
        .collect();
    write("kustomize/older/rbac.yaml", &roles)?;
    write("kustomize/base/users.yaml", &for_users(&own))?;
    write("kustomize/older/users.yaml", &for_users(&all))?;
    let rights: Vec<_> = rights::rights(&all).iter().map(data).collect();
    let users: BTreeMap<_, _> = USERS
        .iter()
        .map(|(whom, verbs)| (whom, rules(&all, verbs)))
        .collect();
    let data = json!({"rights": rights, "users": users});
    write("helm/mxjob/files/rights.yaml", &[data])
}

fn objects(apis: &[&'static RoleTable]) -> Vec<Value> {
    let install = Install {
        apis,
        namespaces: &[],
        own: NAMESPACE,
        parts: &[Part::Jobs, Part::Webhook, Part::Certificate, Part::Election],
        lease: rights::LEASE,
        secret: rights::SECRET,
    };
    install.objects()
}

/// What who may edit or view a namespace may do with its jobs, which Kubernetes adds to its own roles of
/// that name.
const USERS: [(&str, &[&str]); 2] = [
    (
        "edit",
        &[
            "create",
            "delete",
            "deletecollection",
            "get",
            "list",
            "patch",
            "update",
            "watch",
        ],
    ),
    ("view", &["get", "list", "watch"]),
];

/// The same as roles.
fn for_users(apis: &[&'static RoleTable]) -> Vec<Value> {
    let groups: Vec<_> = apis.iter().map(|table| table.crd.group).collect();
    let role = |(whom, verbs): (&str, &[&str])| {
        let aggregated = format!("rbac.authorization.k8s.io/aggregate-to-{whom}");
        let mut rules = rules(apis, verbs);
        for rule in &mut rules {
            rule["apiGroups"] = json!(groups);
        }
        json!({
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRole",
            "metadata": {"name": format!("{}-{whom}", rights::NAME), "labels": {aggregated: "true"}},
            "rules": rules,
        })
    };
    USERS.into_iter().map(role).collect()
}

/// Rules about jobs and their statuses, which the operator alone writes; of no group yet.
fn rules(apis: &[&'static RoleTable], verbs: &[&str]) -> Vec<Value> {
    let plurals: BTreeSet<_> = apis.iter().map(|table| table.crd.plural).collect();
    let statuses: Vec<_> = plurals.iter().map(|one| format!("{one}/status")).collect();
    vec![
        json!({"apiGroups": [], "resources": plurals, "verbs": verbs}),
        json!({"apiGroups": [], "resources": statuses, "verbs": ["get"]}),
    ]
}

/// A right as the chart reads it.
fn data(right: &Right) -> Value {
    let place = match right.place {
        Place::Cluster => "cluster",
        Place::Jobs => "jobs",
        Place::Own => "own",
    };
    let part = match right.part {
        Part::Jobs => "jobs",
        Part::Webhook => "webhook",
        Part::Certificate => "certificate",
        Part::Install => "installCrds",
        Part::Election => "leaderElection",
    };
    json!({
        "api": right.api,
        "place": place,
        "part": part,
        "rule": right.rule(),
    })
}

fn write(file: &str, objects: &[Value]) -> io::Result<()> {
    let render = |object| serde_saphyr::to_string(object).map_err(io::Error::other);
    let texts: Vec<_> = objects.iter().map(render).collect::<io::Result<_>>()?;
    mxjob_build::write_text(file, &format!("{GENERATED}{}", texts.join("---\n")))
}
