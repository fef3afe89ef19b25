//! The rights to the webhook's Secret and to the definition are taken away while an operator converts.

use std::collections::BTreeMap;

use anyhow::{Result, ensure};
use e2e::ControlPlane;
use e2e::deadline::{Seen, until};
use e2e::proxy::Cut;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Api, DeleteParams, Patch, PatchParams};
use mxjob_core::{MxRole, ReplicaRole as _, schema};
use serde_json::{Value, json};

use super::{Guarded, in_force};
use crate::bench::{Bench, PATIENCE, converts};
use crate::deploy::{How, apply};
use crate::facts::{lines, said_once};

const TAKEN: [&str; 2] = ["secrets", "customresourcedefinitions"];
const SECRET: &str = "mxjob-webhook";
const DEFINITION: &str = "mxjobs.kubeflow.org";

/// The roles with, or without, the rules about what is taken.
fn part(roles: &[Value], taken: bool) -> Vec<Value> {
    let is_about = |rule: &Value| TAKEN.iter().any(|name| rule["resources"] == json!([name]));
    let part = |mut role: Value| {
        if let Some(rules) = role["rules"].as_array_mut() {
            rules.retain(|rule| is_about(rule) == taken);
        }
        role
    };
    let roles = roles.iter().filter(|role| role["rules"].is_array());
    roles.cloned().map(part).collect()
}

/// It has tried both again several times.
async fn tries_again(guarded: &Guarded<'_>) -> Result<()> {
    until("more attempts", PATIENCE, || async {
        let (_, denied) = guarded.asked()?;
        let count = |resource: &str| denied.iter().filter(|line| line.contains(resource)).count();
        let counts: BTreeMap<_, _> = TAKEN.iter().map(|name| (name, count(name))).collect();
        let enough = counts.values().all(|count| *count >= 4);
        Ok(if enough {
            Seen::Done(())
        } else {
            Seen::NotYet(format!("{counts:?}"))
        })
    })
    .await
}

// contract: 11.24, 11.29
#[tokio::test]
async fn without_its_secret_and_the_definition_it_converts_on_says_so_once_and_heals_what_broke()
-> Result<()> {
    let plane = ControlPlane::start().await?;
    plane.install_crds(&[schema::crd(MxRole::TABLE)]).await?;
    let bench = Bench::new(&plane, "taken").await?;
    let client = &bench.client;
    let own = plane.namespace("own").await?;
    let arguments = ["--namespace", &bench.namespace];
    let guarded = Guarded::start(&plane, &own, &arguments, true).await?;
    converts(client, &bench.namespace).await?;

    for role in &part(&guarded.roles, false) {
        apply(client, role, How::Keep).await?;
    }
    in_force(client, &own, &part(&guarded.roles, true), false).await?;
    for resource in TAKEN {
        guarded.proxy.cut(resource, Cut::Clean);
    }
    // While it cannot look.
    let secrets: Api<Secret> = Api::namespaced(client.clone(), &own);
    secrets.delete(SECRET, &DeleteParams::default()).await?;
    tries_again(&guarded).await?;
    let told = [
        "the webhook's Secret is of no use",
        "cannot watch mxjobs.kubeflow.org",
    ];
    for text in told {
        said_once(&guarded.operator, text)?;
    }
    let refusals = lines(&guarded.operator, "is forbidden")?;
    ensure!(refusals.len() == told.len(), "{refusals:#?}");
    converts(client, &bench.namespace).await?;

    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    let nobody = json!({"spec": {"conversion": {"strategy": "None", "webhook": null}}});
    let how = PatchParams::default();
    definitions
        .patch(DEFINITION, &how, &Patch::Merge(nobody))
        .await?;
    for role in &guarded.roles {
        apply(client, role, How::Keep).await?;
    }
    until("the Secret to be made again", PATIENCE, || async {
        let secret = secrets.get_opt(SECRET).await?;
        Ok(secret.is_some_and(|secret| secret.data.is_some()))
    })
    .await?;
    guarded
        .operator
        .says("the webhook's Secret can be used again")
        .await?;
    until(
        "the definition to be pointed there again",
        PATIENCE,
        || async {
            let conversion = definitions.get(DEFINITION).await?.spec.conversion;
            Ok(conversion.is_some_and(|conversion| conversion.strategy == "Webhook"))
        },
    )
    .await?;
    converts(client, &bench.namespace).await?;
    for text in told {
        said_once(&guarded.operator, text)?;
    }
    let pointed = lines(&guarded.operator, "its conversion is pointed here")?;
    ensure!(pointed.len() == 2, "{pointed:#?}");
    Ok(())
}
