//! By `helm upgrade`.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use e2e::ControlPlane;
use e2e::deadline::until;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{Api, ResourceExt as _};
use tempfile::TempDir;

use super::{CRD, Cluster, earlier, later, point_at_the_service, todays};
use crate::bench::PATIENCE;
use crate::deploy::{NAMESPACE, folder, helm_at, printed};
use crate::facts::raw;

/// The chart of a release with that definition.
fn chart(place: &TempDir, name: &str, crd: &CustomResourceDefinition) -> Result<PathBuf> {
    let chart = place.path().join(name);
    copy(&folder("helm/mxjob"), &chart)?;
    let text = serde_saphyr::to_string(crd)?;
    fs::write(chart.join("files/kubeflow.org_mxjobs.yaml"), text)?;
    Ok(chart)
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let to = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &to)?;
        } else {
            fs::copy(entry.path(), to)?;
        }
    }
    Ok(())
}

async fn helm(plane: &ControlPlane, arguments: &[&str]) -> Result<()> {
    let all = [arguments, &["--namespace", NAMESPACE]].concat();
    printed(&helm_at(Some(&plane.kubeconfig()), &all).await?)?;
    Ok(())
}

async fn install(plane: &ControlPlane, chart: &Path) -> Result<()> {
    let chart = chart.display().to_string();
    let what = ["install", "mxjob", &chart, "--create-namespace"];
    helm(plane, &what).await
}

/// As the manual says, but that no node has pods to wait for.
async fn upgrade(plane: &ControlPlane, chart: &Path) -> Result<()> {
    let chart = chart.display().to_string();
    let what = ["upgrade", "mxjob", &chart, "--reset-then-reuse-values"];
    helm(plane, &what).await
}

// contract: 12.47
#[tokio::test]
async fn helm_upgrades_it_and_rolls_it_back_while_todays_operator_runs() -> Result<()> {
    let plane = ControlPlane::start().await?;
    let charts = TempDir::new()?;
    install(&plane, &chart(&charts, "earlier", &earlier())?).await?;
    let mut cluster = Cluster::on(plane).await?;
    let operator = cluster.operator(&[])?;
    operator.says("does not serve v1alpha1 and v1beta1").await?;
    cluster.runs().await?;

    let plane = &cluster.plane;
    upgrade(plane, &folder("helm/mxjob")).await?;
    cluster.has(&todays()).await?;
    operator.says("its conversion is pointed here").await?;
    cluster.converts().await?;

    // The chart names the Service, and this operator is reached by another way.
    let later_chart = chart(&charts, "later", &later())?;
    let refused = upgrade(plane, &later_chart).await;
    let refused = refused.err().context("it was taken")?.to_string();
    let why = "exactly one of url or service is required";
    ensure!(refused.contains(why), "{refused}");
    cluster.has(&todays()).await?;
    cluster.converts().await?;
    cluster.goes_to_its_end().await?;

    // Back to where nothing is converted.
    helm(plane, &["rollback", "mxjob", "1"]).await?;
    cluster.has(&earlier()).await?;
    ensure!(cluster.converted_at().await?.is_none());
    cluster.bench.phase("digits", "Succeeded").await?;
    Ok(())
}

// contract: 12.47
#[tokio::test]
async fn what_an_operator_in_a_pod_has_written_stays_when_helm_upgrades() -> Result<()> {
    let plane = ControlPlane::start().await?;
    let charts = TempDir::new()?;
    install(&plane, &folder("helm/mxjob")).await?;
    point_at_the_service(&plane).await?;
    let cluster = Cluster::on(plane).await?;
    let conversion = cluster.definition().await?.spec.conversion;
    let is_kept = async || -> Result<()> {
        let now = cluster.definition().await?.spec.conversion;
        ensure!(now == conversion, "{now:?}");
        Ok(())
    };
    upgrade(&cluster.plane, &chart(&charts, "later", &later())?).await?;
    cluster.has(&later()).await?;
    is_kept().await?;
    helm(&cluster.plane, &["rollback", "mxjob", "1"]).await?;
    cluster.has(&todays()).await?;
    is_kept().await
}

// contract: 11.38
#[tokio::test]
async fn when_the_release_goes_definition_and_jobs_stay_unless_it_was_told_not_to_keep_them()
-> Result<()> {
    let plane = ControlPlane::start().await?;
    let chart = folder("helm/mxjob");
    install(&plane, &chart).await?;
    let cluster = Cluster::on(plane).await?;
    let plane = &cluster.plane;
    let job = raw(&cluster.bench).get("digits").await?;
    let stays = async || -> Result<()> {
        let definition = cluster.definition().await?;
        ensure!(definition.metadata.deletion_timestamp.is_none());
        let now = raw(&cluster.bench).get("digits").await?;
        ensure!(now.uid() == job.uid(), "{now:?}");
        Ok(())
    };
    helm(plane, &["uninstall", "mxjob"]).await?;
    stays().await?;

    // Told so, and told otherwise again before it goes.
    let path = chart.display().to_string();
    let call = async |command: &str, keep: &str| {
        let set = format!("crds.keep={keep}");
        helm(plane, &[command, "mxjob", &path, "--set", &set]).await
    };
    call("install", "false").await?;
    call("upgrade", "true").await?;
    helm(plane, &["uninstall", "mxjob"]).await?;
    stays().await?;

    call("install", "false").await?;
    stays().await?;
    helm(plane, &["uninstall", "mxjob"]).await?;
    let crds: Api<CustomResourceDefinition> = Api::all(cluster.bench.client.clone());
    until("the definition to be gone", PATIENCE, || async {
        Ok(crds.get_opt(CRD).await?.is_none())
    })
    .await
}
