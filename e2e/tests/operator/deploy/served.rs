//! A real API server takes what is rendered.

use anyhow::{Context as _, Result, ensure};
use e2e::ControlPlane;
use e2e::deadline::until;
use k8s_openapi::api::core::v1::{Pod, ServiceAccount};
use kube::api::{Api, PostParams};
use serde_json::{Value, json};

use crate::bench::PATIENCE;

use super::chart::{everything, nothing};
use super::{How, NAMESPACE, apply, chart, find, kustomize};

/// A control plane of its own with the namespaces that are asked for.
async fn plane() -> Result<ControlPlane> {
    let plane = ControlPlane::start().await?;
    let client = plane.client().await?;
    for object in kustomize("base").await? {
        if object["kind"] == "Namespace" {
            apply(&client, &object, How::Keep).await?;
        }
    }
    for name in ["team-a", "team-b"] {
        let namespace =
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
        apply(&client, &namespace, How::Keep).await?;
    }
    Ok(plane)
}

// promise: P86, P87, P88
// defect: D23
#[tokio::test]
async fn every_rendering_is_taken_without_a_word() -> Result<()> {
    let plane = plane().await?;
    let client = plane.client().await?;
    let all = json!(["kubeflow.org", "fioravanzo.org", "mxnet.mlkube.io"]);
    let renderings = [
        ("kustomize base", kustomize("base").await?),
        ("kustomize older", kustomize("older").await?),
        ("chart", chart(&json!({})).await?),
        (
            "chart namespaced",
            chart(&json!({"namespaces": ["team-a", "team-b"]})).await?,
        ),
        ("chart older", chart(&json!({"apis": all})).await?),
        (
            "chart operator",
            chart(&json!({"crds": {"install": "operator"}})).await?,
        ),
        ("chart everything", chart(&everything()).await?),
        ("chart nothing", chart(&nothing()).await?),
    ];
    for (what, objects) in &renderings {
        ensure!(!objects.is_empty(), "{what}");
        // A cluster without the Prometheus operator and cert-manager does not know these.
        let theirs = |object: &&Value| {
            let version = object["apiVersion"].as_str().unwrap_or_default();
            version.starts_with("monitoring.coreos.com/") || version.starts_with("cert-manager.io/")
        };
        for object in objects.iter().filter(|object| !theirs(object)) {
            let applied = apply(&client, object, How::Try).await;
            applied.with_context(|| (*what).to_owned())?;
        }
        confined(&plane, objects)
            .await
            .with_context(|| (*what).to_owned())?;
    }
    Ok(())
}

/// Pods are such as a namespace of restricted Pod Security takes, whose files nobody writes; they
/// name service accounts and ConfigMaps that are there.
async fn confined(plane: &ControlPlane, objects: &[Value]) -> Result<()> {
    let deployment = find(objects, "Deployment", "mxjob-operator")?;
    let mut pod =
        json!({"metadata": {"name": "trial"}, "spec": deployment["spec"]["template"]["spec"]});
    let account = pod["spec"]["serviceAccountName"]
        .as_str()
        .context("no account")?;
    let made = find(objects, "ServiceAccount", account).is_ok();
    let rights = find(objects, "ClusterRoleBinding", "mxjob-operator").is_ok();
    ensure!(made || !rights, "rights of nobody");
    for volume in pod["spec"]["volumes"].as_array().into_iter().flatten() {
        let map = volume["configMap"]["name"]
            .as_str()
            .context("a volume of another kind")?;
        find(objects, "ConfigMap", map)?;
    }
    for container in pod["spec"]["containers"]
        .as_array()
        .context("no containers")?
    {
        ensure!(
            container["securityContext"]["readOnlyRootFilesystem"] == true,
            "{container}"
        );
    }
    // That account is not there in a trial.
    pod["spec"]["serviceAccountName"] = json!("default");
    let pods: Api<Pod> = Api::namespaced(plane.client().await?, NAMESPACE);
    let only_try = PostParams {
        dry_run: true,
        ..PostParams::default()
    };
    until_default(plane).await?;
    pods.create(&only_try, &serde_json::from_value(pod)?)
        .await
        .context("a pod is refused")?;
    Ok(())
}

/// Waits for the service account that pods have who name none.
async fn until_default(plane: &ControlPlane) -> Result<()> {
    let accounts: Api<ServiceAccount> = Api::namespaced(plane.client().await?, NAMESPACE);
    until("a service account", PATIENCE, || async {
        Ok(accounts.get_opt("default").await?.map(drop))
    })
    .await
}

/// The operator's manifests ask for nothing that a pod of that namespace may not have.
#[tokio::test]
async fn a_pod_that_asks_for_more_is_refused_there() -> Result<()> {
    let plane = plane().await?;
    until_default(&plane).await?;
    let pods: Api<Pod> = Api::namespaced(plane.client().await?, NAMESPACE);
    let loose = json!({"metadata": {"name": "trial"}, "spec": {"containers": [{"name": "a", "image": "a"}]}});
    let error = pods
        .create(&PostParams::default(), &serde_json::from_value(loose)?)
        .await;
    let error = error.err().context("it was taken")?.to_string();
    ensure!(
        error.contains("violates PodSecurity \"restricted:latest\""),
        "{error}"
    );
    Ok(())
}
