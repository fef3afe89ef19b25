//! A job of 3,000 replicas.

use std::time::Duration;

use crate::bench::{Bench, Operator, training, with};
use anyhow::{Context as _, Result, ensure};
use e2e::deadline::{Seen, until};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, ListParams};
use serde_json::{Value, json};

/// Measured: 20 s on two idle cores.
const PATIENCE: Duration = Duration::from_mins(5);

// contract: 5.2.5, 5.2.7
#[tokio::test]
async fn its_pods_are_accepted_and_no_larger_than_those_of_a_small_job() -> Result<()> {
    // The audit log of the shared one is read often.
    let (bench, plane) = Bench::own("large").await?;
    let _operator = Operator::start(&plane, &bench.namespace)?;
    let job = |name: &str, workers| {
        with(
            training(name, 0, workers),
            json!({"network": {"services": "PerJob"}}),
        )
    };
    bench.create(&job("small", 9)).await?;
    bench.create(&job("large", 2999)).await?;
    until("3,010 pods", PATIENCE, || async {
        let first = ListParams::default().limit(1);
        let page = bench.pods.list_metadata(&first).await?;
        let rest = page.metadata.remaining_item_count.unwrap_or_default();
        let there = usize::try_from(rest)? + page.items.len();
        Ok(if there == 3010 {
            Seen::Done(())
        } else {
            Seen::NotYet(there.to_string())
        })
    })
    .await?;

    let size = async |name: &str| -> Result<usize> {
        let mut pod = bench.pods.get(name).await?;
        pod.metadata.managed_fields = None;
        Ok(serde_json::to_string(&pod)?.len())
    };
    let (small, large) = (
        size("small-worker-8").await?,
        size("large-worker-2998").await?,
    );
    println!("bytes of a pod: {small} of 10 replicas, {large} of 3,000");
    ensure!(
        large < small + 1024,
        "{large} bytes, of a small job {small}"
    );

    let config_maps: Api<ConfigMap> = Api::namespaced(bench.client.clone(), &bench.namespace);
    let whole = config_maps
        .get("large-cluster")
        .await?
        .data
        .context("empty")?;
    let whole: Value = serde_json::from_str(&whole["cluster.json"])?;
    assert_eq!(whole["worker"].as_array().map(Vec::len), Some(2999));
    assert_eq!(whole["worker"][2998]["url"], "large-worker-2998.large");
    let said = bench.event("MXConfigShortened").await?;
    ensure!(said.contains("large-cluster"), "{said}");
    // One sum for the pods of a role, not thousands of events.
    let events = bench.events().await?;
    let created = events
        .keys()
        .filter(|(reason, _)| reason == "SuccessfulCreatePod");
    let large = created.filter(|(_, note)| note.contains("large-")).count();
    ensure!(large <= 4, "{large} events about pods");
    Ok(())
}
