//! An operator by which the server converts between the versions.

use anyhow::Result;
use e2e::deadline::{Seen, until};
use e2e::{ControlPlane, ports};
use kube::Client;
use kube::api::{Api, PostParams};
use kube::core::{ApiResource, DynamicObject, GroupVersionKind};
use serde_json::json;

use super::{Operator, PATIENCE};

/// The resource at a version.
pub(crate) fn at(client: &Client, namespace: &str, version: &str) -> Api<DynamicObject> {
    let kind = GroupVersionKind::gvk("kubeflow.org", version, "MXJob");
    let resource = ApiResource::from_gvk_with_plural(&kind, "mxjobs");
    Api::namespaced_with(client.clone(), namespace, &resource)
}

impl Operator {
    /// Starts one that looks after `namespace` only, and waits until the server converts by it.
    pub(crate) async fn start_converting(plane: &ControlPlane, namespace: &str) -> Result<Self> {
        let address = format!("127.0.0.1:{}", ports::free()?);
        let url = format!("https://{address}");
        let arguments = [
            ["--namespace", namespace],
            ["--webhook-bind-address", &address],
            ["--webhook-url", &url],
        ];
        let operator = Self::start_with(plane, arguments.as_flattened())?;
        operator.says("its conversion is pointed here").await?;
        converts(&plane.client().await?, namespace).await?;
        Ok(operator)
    }
}

/// Waits until the server converts: it reads its definitions by a watch of its own.
pub(crate) async fn converts(client: &Client, namespace: &str) -> Result<()> {
    let jobs = at(client, namespace, "v1beta1");
    let probe = json!({
        "apiVersion": "kubeflow.org/v1beta1",
        "kind": "MXJob",
        "metadata": {"name": "probe"},
        "spec": {"mxReplicaSpecs": {"Worker": {"replicas": 1, "template": {"spec": {"containers": [
            {"name": "mxnet", "image": "i"},
        ]}}}}},
    });
    let probe: DynamicObject = serde_json::from_value(probe)?;
    let only_try = PostParams {
        dry_run: true,
        ..PostParams::default()
    };
    until("the server to convert", PATIENCE, || async {
        Ok(match jobs.create(&only_try, &probe).await {
            Ok(_) => Seen::Done(()),
            Err(error) => Seen::NotYet(error.to_string()),
        })
    })
    .await
}
