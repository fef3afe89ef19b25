//! By `kubectl apply`.

use std::path::Path;
use std::process::{Command, Output};

use anyhow::{Context as _, Result, ensure};
use e2e::ControlPlane;
use e2e::binaries::{self, Program};
use tempfile::TempDir;

use super::{Cluster, earlier, file, later, point_at_the_service, status_of, todays, todays_file};
use crate::deploy::printed;

/// A run of kubectl, which finds nothing of this machine's user.
pub(crate) async fn kubectl(
    plane: &ControlPlane,
    arguments: &[&str],
    file: &Path,
) -> Result<Output> {
    let program = tokio::task::spawn_blocking(|| binaries::find(Program::Kubectl)).await??;
    let home = TempDir::new()?;
    let mut command = Command::new(program);
    command.args(arguments).arg(file);
    command.env("HOME", home.path());
    command.env("KUBECONFIG", plane.kubeconfig());
    let output = tokio::task::spawn_blocking(move || {
        let output = command.output();
        drop(home);
        output
    });
    output.await?.context("cannot run kubectl")
}

const CLIENT_SIDE: &[&str] = &["apply", "--filename"];
const SERVER_SIDE: &[&str] = &["apply", "--server-side", "--filename"];
const FORCED: &[&str] = &["apply", "--server-side", "--force-conflicts", "--filename"];

fn refused(output: &Output, why: &str) -> Result<()> {
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(!output.status.success() && said.contains(why), "{said}");
    Ok(())
}

/// A definition of an earlier release, applied client-side, is upgraded in that way, the operator first.
async fn applied(how: &[&str]) -> Result<()> {
    let plane = ControlPlane::start().await?;
    let files = TempDir::new()?;
    let earlier_file = file(&files, "earlier.yaml", &earlier())?;
    printed(&kubectl(&plane, CLIENT_SIDE, &earlier_file).await?)?;
    let mut cluster = Cluster::on(plane).await?;
    // The operator works with the definition that is there, as far as that goes.
    let operator = cluster.operator(&[])?;
    operator.says("does not serve v1alpha1 and v1beta1").await?;
    cluster.runs().await?;

    let plane = &cluster.plane;
    if how == FORCED {
        // The server's default of that time counts as something that was applied.
        let output = kubectl(plane, SERVER_SIDE, &todays_file()).await?;
        refused(&output, "conflict with \"kubectl-client-side-apply\"")?;
        cluster.has(&earlier()).await?;
    }
    printed(&kubectl(plane, how, &todays_file()).await?)?;
    cluster.has(&todays()).await?;
    operator.says("its conversion is pointed here").await?;
    cluster.converts().await?;

    // The file names the Service, and this operator is reached by another way.
    let later_file = file(&files, "later.yaml", &later())?;
    for how in [CLIENT_SIDE, SERVER_SIDE] {
        let output = kubectl(plane, how, &later_file).await?;
        refused(&output, "exactly one of url or service is required")?;
        cluster.has(&todays()).await?;
        cluster.converts().await?;
    }
    cluster.goes_to_its_end().await
}

// contract: 12.47
#[tokio::test]
async fn kubectl_applies_it_while_todays_operator_runs() -> Result<()> {
    applied(CLIENT_SIDE).await
}

// contract: 12.47
#[tokio::test]
async fn kubectl_applies_it_server_side_while_todays_operator_runs() -> Result<()> {
    applied(FORCED).await
}

// contract: 12.47
#[tokio::test]
async fn what_an_operator_in_a_pod_has_written_stays_when_kubectl_applies_the_next() -> Result<()> {
    let plane = ControlPlane::start().await?;
    let files = TempDir::new()?;
    let later_file = file(&files, "later.yaml", &later())?;
    printed(&kubectl(&plane, CLIENT_SIDE, &todays_file()).await?)?;
    point_at_the_service(&plane).await?;
    let cluster = Cluster::on(plane).await?;
    let conversion = cluster.definition().await?.spec.conversion;
    for (how, file, versions) in [
        (CLIENT_SIDE, &later_file, later()),
        (SERVER_SIDE, &todays_file(), todays()),
        (SERVER_SIDE, &later_file, later()),
    ] {
        printed(&kubectl(&cluster.plane, how, file).await?)?;
        cluster.has(&versions).await?;
        let now = cluster.definition().await?.spec.conversion;
        ensure!(now == conversion, "{now:?}");
    }

    // Client-side the whole file goes into an annotation.
    let mut long = todays();
    for version in &mut long.spec.versions {
        if let Some(status) = status_of(version) {
            status.description = Some("x".repeat(50_000));
        }
    }
    let long_file = file(&files, "long.yaml", &long)?;
    let output = kubectl(&cluster.plane, CLIENT_SIDE, &long_file).await?;
    refused(&output, "metadata.annotations: Too long")?;
    cluster.has(&later()).await?;
    printed(&kubectl(&cluster.plane, SERVER_SIDE, &long_file).await?)?;
    cluster.has(&long).await
}
