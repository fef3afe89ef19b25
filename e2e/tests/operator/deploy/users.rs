//! What the people of a namespace may do with its jobs.

use anyhow::{Result, ensure};
use e2e::deadline::until;
use e2e::{ControlPlane, Controllers};
use k8s_openapi::api::authorization::v1::SubjectAccessReview;
use kube::Client;
use kube::api::{Api, PostParams};
use serde_json::json;

use super::{How, apply, chart, find};
use crate::bench::PATIENCE;

/// Whether the API server would let that user do it in the namespace `team-a`.
async fn may(client: &Client, user: &str, verb: &str, group: &str, resource: &str) -> Result<bool> {
    let (resource, subresource) = resource.split_once('/').unwrap_or((resource, ""));
    let reviews: Api<SubjectAccessReview> = Api::all(client.clone());
    let review = json!({"metadata": {}, "spec": {"user": user, "resourceAttributes": {
        "namespace": "team-a", "verb": verb, "group": group,
        "resource": resource, "subresource": subresource,
    }}});
    let review = serde_json::from_value(review)?;
    let answer = reviews.create(&PostParams::default(), &review).await?;
    Ok(answer.status.is_some_and(|status| status.allowed))
}

// contract: 11.34
#[tokio::test]
async fn who_may_edit_or_view_a_namespace_may_do_so_with_its_jobs() -> Result<()> {
    let plane = ControlPlane::start_with(Controllers::All).await?;
    let client = plane.client().await?;
    let values = json!({"apis": ["kubeflow.org", "mxnet.mlkube.io"]});
    let objects = chart(&values).await?;
    let namespace =
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team-a"}});
    apply(&client, &namespace, How::Keep).await?;
    for role in ["edit", "view"] {
        let ours = find(&objects, "ClusterRole", &format!("mxjob-operator-{role}"))?;
        apply(&client, ours, How::Keep).await?;
    }
    for role in ["admin", "edit", "view"] {
        let group = "rbac.authorization.k8s.io";
        let binding = json!({
            "apiVersion": format!("{group}/v1"), "kind": "RoleBinding",
            "metadata": {"name": role, "namespace": "team-a"},
            "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": role},
            "subjects": [{"apiGroup": group, "kind": "User", "name": role}],
        });
        apply(&client, &binding, How::Keep).await?;
    }
    let (read, write) = (
        ["get", "list", "watch"],
        ["create", "delete", "deletecollection", "patch", "update"],
    );
    for group in ["kubeflow.org", "mxnet.mlkube.io"] {
        for user in ["admin", "edit", "view"] {
            for verb in read {
                until(&format!("{user} to {verb}"), PATIENCE, || async {
                    may(&client, user, verb, group, "mxjobs").await
                })
                .await?;
            }
            for verb in write {
                let is_given = may(&client, user, verb, group, "mxjobs").await?;
                ensure!(is_given == (user != "view"), "{user} {verb} {group}");
            }
            ensure!(may(&client, user, "get", group, "mxjobs/status").await?);
            // The operator's alone.
            ensure!(!may(&client, user, "patch", group, "mxjobs/status").await?);
        }
    }
    ensure!(!may(&client, "edit", "create", "fioravanzo.org", "mxjobs").await?);

    let without = chart(&json!({"rbac": {"users": false}})).await?;
    ensure!(find(&without, "ClusterRole", "mxjob-operator-edit").is_err());
    let none = chart(&json!({"rbac": {"create": false}})).await?;
    ensure!(none.iter().all(|object| object["kind"] != "ClusterRole"));
    Ok(())
}
