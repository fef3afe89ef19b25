//! Keeps what the manifests in this folder take from the code as the code says: the
//! CustomResourceDefinitions and the roles of the operator.

#[path = "../mxjob-operator/src/rights.rs"]
#[allow(
    dead_code,
    unreachable_pub,
    reason = "the program needs the rest of it"
)]
mod rights;

use std::io;

use mxjob_core::role::apis;
use mxjob_core::{MxRole, RoleTable};
use rights::{Install, Part, Place, Right};
use serde_json::{Value, json};

const OWN: &str = "kubeflow.org";
const OLDER: [&str; 2] = ["fioravanzo.org", "mxnet.mlkube.io"];
const NAMESPACE: &str = "mxjob-system";
const GENERATED: &str =
    "# Generated from mxjob-operator/src/rights.rs: change that, not this file.\n";

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
    let rights: Vec<_> = rights::rights(&all).iter().map(data).collect();
    write("helm/mxjob/files/rights.yaml", &[json!({"rights": rights})])
}

fn objects(apis: &[&'static RoleTable]) -> Vec<Value> {
    let install = Install {
        apis,
        namespaces: &[],
        own: NAMESPACE,
        installs: false,
        lease: rights::LEASE,
        secret: rights::SECRET,
        read_only: false,
    };
    install.objects()
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
