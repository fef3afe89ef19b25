//! By `mxjob operator --install-crds`.

use std::time::Duration;

use anyhow::{Result, ensure};
use e2e::ControlPlane;
use e2e::deadline::{Seen, until};
use serde_json::{Value, json};

use super::{Cluster, apply, earlier, later, todays};
use crate::bench::{PATIENCE, at};

// contract: 12.47
#[tokio::test]
async fn an_operator_installs_its_definition_over_that_of_another_release() -> Result<()> {
    let plane = ControlPlane::start().await?;
    apply(&plane, &earlier()).await?;
    let mut cluster = Cluster::on(plane).await?;
    let first = cluster.operator(&[])?;
    first.says("does not serve v1alpha1 and v1beta1").await?;
    cluster.runs().await?;
    first.terminate(Duration::from_secs(5)).await?;

    let second = cluster.operator(&["--install-crds"])?;
    second.says("established").await?;
    // In one step with where it is converted.
    let url = cluster.converted_at().await?;
    ensure!(url.as_deref() == Some(cluster.url.as_str()), "{url:?}");
    cluster.has(&todays()).await?;
    cluster.converts().await?;
    cluster.goes_to_its_end().await?;
    second.terminate(Duration::from_secs(5)).await?;

    // An operator of another release takes its own back; what converts stays.
    for (mut other, shown) in [(later(), json!(1)), (earlier(), Value::Null)] {
        other.spec.conversion = cluster.definition().await?.spec.conversion;
        apply(&cluster.plane, &other).await?;
        cluster.has(&other).await?;
        let jobs = at(&cluster.bench.client, &cluster.bench.namespace, "v1");
        until("v1 to be served", PATIENCE, || async {
            Ok(match jobs.get("digits").await {
                // Of its status what the definition does not have is not shown.
                Ok(job)
                    if job.data["status"]["phase"] == "Succeeded"
                        && job.data["status"]["countedRestarts"] == shown =>
                {
                    Seen::Done(())
                }
                other => Seen::NotYet(format!("{other:?}")),
            })
        })
        .await?;
    }
    // And this one its own again.
    let third = cluster.operator(&["--install-crds"])?;
    third.says("established").await?;
    cluster.has(&todays()).await
}
