//! The oldest Kubernetes that there is to try: the control plane of the tests behaves as the third
//! version before its own.

use anyhow::{Context as _, Result, ensure};
use e2e::deadline::until;
use e2e::{ControlPlane, ScriptedKubelet};
use kube::api::{ListParams, Patch, PatchParams, PostParams};
use mxjob_core::role::apis;
use mxjob_core::{MxRole, schema};
use serde_json::json;

use crate::bench::{Bench, Operator, PATIENCE, at, training, with};
use crate::facts::{raw, succeed};
use crate::releases::ready;
use crate::versions::{VERSIONS, sample};

const OLDEST: &str = "1.33";

// contract: 12.48
#[tokio::test]
async fn a_job_runs_on_the_oldest_kubernetes_that_can_be_tried() -> Result<()> {
    let plane = ControlPlane::start_emulating(OLDEST).await?;
    let found = plane.client().await?.apiserver_version().await?;
    let emulated = found.emulation_minor.as_deref().unwrap_or_default();
    ensure!(format!("1.{emulated}") == OLDEST, "{found:?}");
    let all = apis::<MxRole>().map(schema::crd);
    plane.install_crds(&all.collect::<Vec<_>>()).await?;
    let bench = Bench::new(&plane, "oldest").await?;
    let kubelet = ScriptedKubelet::run_all(bench.client.clone(), &bench.namespace);
    let _operator = Operator::start_converting(&plane, &bench.namespace).await?;

    let counted = json!({"failurePolicy": {"maxRestarts": 3}});
    bench
        .create(&with(training("digits", 1, 1), counted))
        .await?;
    ready(&bench, "digits", "3/3").await?;
    kubelet.fail("digits-worker-0", 137).await?;
    bench.restarted("digits", 1).await?;
    ready(&bench, "digits", "3/3").await?;
    for version in VERSIONS {
        let jobs = at(&bench.client, &bench.namespace, version);
        jobs.get("digits").await.context(version)?;
    }
    let old = at(&bench.client, &bench.namespace, "v1alpha1");
    let dist = sample("kubeflow-v1alpha1-dist.yaml")?;
    old.create(&PostParams::default(), &dist).await?;

    // Its rules see what was there before.
    let mode = Patch::Merge(json!({"spec": {"jobMode": "MXTune"}}));
    let plain = PatchParams::default();
    let refused = raw(&bench).patch("digits", &plain, &mode).await;
    let refused = refused.err().context("it was taken")?.to_string();
    ensure!(refused.contains("jobMode"), "{refused}");
    succeed(&kubelet, "digits", 1).await?;
    bench.phase("digits", "Succeeded").await?;
    // Jobs are selected by a field of their status.
    until("the job to be selected", PATIENCE, || async {
        let how = ListParams::default().fields("status.phase=Succeeded");
        Ok(raw(&bench).list(&how).await?.items.len() == 1)
    })
    .await
}
