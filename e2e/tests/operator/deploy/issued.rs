//! cert-manager makes the webhook's certificate, from the chart's own objects.

use anyhow::{Result, ensure};
use e2e::deadline::{Seen, until};
use e2e::ports;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Secret;
use kube::ResourceExt as _;
use kube::api::{Api, DeleteParams, Patch, PatchParams};
use kube::core::{ApiResource, DynamicObject, GroupVersionKind};
use serde_json::{Value, json};

use super::{How, apply, chart};
use crate::bench::{Bench, Operator, PATIENCE, converts, training};
use crate::certificates::Reader;

const NAME: &str = "mxjob-webhook";

/// What the chart asks cert-manager for, there, and for the address at which the operator of this test
/// is reached as well.
async fn asked(namespace: &str) -> Result<Vec<Value>> {
    let values = json!({"webhook": {"certManager": {"enabled": true}}});
    let mut objects = chart(&values).await?;
    objects.retain(|object| object["apiVersion"] == "cert-manager.io/v1");
    for object in &mut objects {
        object["metadata"]["namespace"] = json!(namespace);
        if object["kind"] == "Certificate" && object["metadata"]["name"] == NAME {
            object["spec"]["ipAddresses"] = json!(["127.0.0.1"]);
        }
    }
    Ok(objects)
}

/// Waits until the Secret has a certificate, another one than that.
async fn issued(what: &str, secrets: &Api<Secret>, before: Option<&Value>) -> Result<Value> {
    until(what, PATIENCE, || async {
        let secret = secrets.get_opt(NAME).await?;
        let data = secret.map_or(Value::Null, |secret| json!(secret.data));
        let is_another = before.is_none_or(|before| *before != data["tls.crt"]);
        Ok(if data["tls.crt"].is_string() && is_another {
            Seen::Done(data["tls.crt"].clone())
        } else {
            Seen::NotYet("none".to_owned())
        })
    })
    .await
}

/// Waits until cert-manager has done what is asked for.
async fn settled(certificates: &Api<DynamicObject>) -> Result<()> {
    until("the Certificate to be ready", PATIENCE, || async {
        let certificate = certificates.get(NAME).await?;
        let conditions = certificate.data["status"]["conditions"].as_array();
        let mut conditions = conditions.into_iter().flatten();
        let is = |one: &Value, kind: &str| one["type"] == kind && one["status"] == "True";
        let issues = conditions.clone().any(|one| is(one, "Issuing"));
        Ok(if conditions.any(|one| is(one, "Ready")) && !issues {
            Seen::Done(())
        } else {
            Seen::NotYet(certificate.data["status"].to_string())
        })
    })
    .await
}

/// Waits until the operator has changed to another certificate that often.
async fn shown(operator: &Operator, times: usize) -> Result<()> {
    until("another certificate to be shown", PATIENCE, || async {
        let log = operator.log()?;
        let changes = log.matches("the webhook shows another certificate").count();
        Ok(changes >= times)
    })
    .await
}

// contract: 11.25
#[tokio::test]
async fn cert_managers_certificate_is_shown_and_no_conversion_fails_when_it_is_renewed()
-> Result<()> {
    let (bench, plane) = Bench::own("issued").await?;
    plane.run_cert_manager().await?;
    let address = format!("127.0.0.1:{}", ports::free()?);
    let url = format!("https://{address}");
    let webhook = [
        ["--webhook-bind-address", &address],
        ["--webhook-url", &url],
    ];
    let arguments = [webhook.as_flattened(), &["--webhook-secret-read-only"]].concat();
    let operator = Operator::start_beside(&plane.kubeconfig(), &bench.namespace, &arguments)?;
    operator
        .says("it is not there yet, and it is not written by this operator")
        .await?;
    // By its own certificate so far: the other one is of a CA that nobody trusts yet.
    bench.create(&training("digits", 1, 1)).await?;
    converts(&bench.client, &bench.namespace).await?;
    let reader = Reader::start(&bench);
    for object in asked(&bench.namespace).await? {
        apply(&bench.client, &object, How::Keep).await?;
    }
    let secrets: Api<Secret> = Api::namespaced(bench.client.clone(), &bench.namespace);
    let first = issued("a certificate of cert-manager's", &secrets, None).await?;
    operator
        .says("the webhook's Secret can be used again")
        .await?;
    shown(&operator, 1).await?;

    // As `cmctl renew` asks for it.
    let kind = GroupVersionKind::gvk("cert-manager.io", "v1", "Certificate");
    let kind = ApiResource::from_gvk(&kind);
    let certificates: Api<DynamicObject> =
        Api::namespaced_with(bench.client.clone(), &bench.namespace, &kind);
    let renew = json!({"status": {"conditions": [{
        "type": "Issuing", "status": "True", "reason": "ManuallyTriggered", "message": "by hand",
        "lastTransitionTime": Timestamp::now().to_string(),
    }]}});
    let how = PatchParams::default();
    settled(&certificates).await?;
    certificates
        .patch_status(NAME, &how, &Patch::Merge(renew))
        .await?;
    let second = issued("the renewed one", &secrets, Some(&first)).await?;
    shown(&operator, 2).await?;

    settled(&certificates).await?;
    secrets.delete(NAME, &DeleteParams::default()).await?;
    issued(
        "one for the Secret that was deleted",
        &secrets,
        Some(&second),
    )
    .await?;
    shown(&operator, 3).await?;
    ensure!(reader.stop().await? > 0);

    let secret = secrets.get(NAME).await?;
    let managers = secret.managed_fields().iter();
    let managers: Vec<_> = managers
        .filter_map(|fields| fields.manager.as_deref())
        .collect();
    ensure!(
        !managers.is_empty() && !managers.contains(&"mxjob-webhook"),
        "{managers:?}"
    );
    let log = operator.log()?;
    ensure!(!log.contains("ERROR"), "{log}");
    Ok(())
}
