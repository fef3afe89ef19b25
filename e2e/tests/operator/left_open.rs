//! What the schemas of the older versions leave open: kept as it is, and judged when it is stored.

use anyhow::{Context as _, Result, ensure};
use e2e::deadline::{Seen, until};
use k8s_openapi::api::core::v1::Pod;
use kube::api::{ListParams, PostParams};
use serde_json::{Value, json};

use crate::bench::PATIENCE;
use crate::versions::{World, field, sample};

// contract: 12.20
#[tokio::test]
async fn what_the_schema_of_an_older_version_leaves_open_is_judged_when_it_is_stored() -> Result<()>
{
    let world = World::new("open").await?;
    let field_of_entry = "/spec/replicaSpecs/1/template/spec/affinity";
    let create = async |name: &str, anti: Value| -> Result<()> {
        let mut job = sample("kubeflow-v1alpha1-dist.yaml")?;
        job.metadata.name = Some(name.to_owned());
        let spec = job.data.pointer_mut("/spec/replicaSpecs/1/template/spec");
        spec.context("no template")?["affinity"] = json!({"podAntiAffinity": anti});
        world
            .at("v1alpha1")
            .create(&PostParams::default(), &job)
            .await?;
        Ok(())
    };
    let key = "requiredDuringSchedulingIgnoredDuringExecution";
    let apart = json!({key: [{"topologyKey": "kubernetes.io/hostname"}]});
    create("right", apart.clone()).await?;
    let shown = world.at("v1alpha1").get("right").await?;
    let affinity = field(&shown, field_of_entry);
    ensure!(affinity["podAntiAffinity"] == apart, "{affinity}");
    let has_it = until("a pod with the affinity", PATIENCE, || async {
        let pods = world.bench.pods.list(&ListParams::default()).await?;
        let affinity = |pod: Pod| serde_json::to_value(pod.spec?.affinity?).ok();
        let mut found = pods.items.into_iter().filter_map(affinity);
        Ok(match found.next() {
            Some(affinity) => Seen::Done(affinity),
            None => Seen::NotYet("none".to_owned()),
        })
    });
    let has_it = has_it.await?;
    ensure!(has_it["podAntiAffinity"][key][0]["topologyKey"] == "kubernetes.io/hostname");

    let error = create("wrong", json!({key: "anywhere"})).await.err();
    let error = error.context("stored")?.to_string();
    let wanted = format!(
        "spec.replicaSpecs[1].template.spec.affinity.podAntiAffinity.{key}: must be a list"
    );
    ensure!(error.contains(&wanted), "{error}");
    Ok(())
}
