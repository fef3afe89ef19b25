//! The API server goes by `deploy/priority-and-fairness.yaml`.

use std::fs;

use anyhow::{Context as _, Result, ensure};
use e2e::ControlPlane;
use e2e::deadline::{Seen, until};
use http::Request;
use kube::Client;
use kube::api::{Api, ListParams};
use kube::client::Body;
use kube::core::{ApiResource, DynamicObject, GroupVersionKind};
use mxjob_core::{MxRole, ReplicaRole as _, schema};

use super::{How, NAMESPACE, apply, find, folder, kustomize, objects};
use crate::bench::{Bench, Operator, PATIENCE, training};

const ACCOUNT: &str = "mxjob-operator";
const LEASE: &str = "mxjob-operator";

/// What all have that no flow of their own is for.
const OTHERS: [&str; 2] = ["service-accounts", "workload-low"];

const OWN: [&str; 2] = ["mxjob-operator", "mxjob-operator"];
const LEADERS: [&str; 2] = ["mxjob-operator-lease", "leader-election"];

/// Requests of the operator's, and by which flow schema and at which priority level they are answered.
const REQUESTS: [(&str, &str, [&str; 2]); 9] = [
    (
        "GET",
        "/apis/coordination.k8s.io/v1/namespaces/mxjob-system/leases/mxjob-operator",
        LEADERS,
    ),
    (
        "PATCH",
        "/apis/coordination.k8s.io/v1/namespaces/mxjob-system/leases/mxjob-operator",
        LEADERS,
    ),
    (
        "POST",
        "/apis/coordination.k8s.io/v1/namespaces/mxjob-system/leases",
        LEADERS,
    ),
    (
        "GET",
        "/apis/coordination.k8s.io/v1/namespaces/default/leases/mxjob-operator",
        OWN,
    ),
    ("GET", "/api/v1/namespaces/default/pods", OWN),
    ("POST", "/api/v1/namespaces/default/pods", OWN),
    ("GET", "/api/v1/pods", OWN),
    ("GET", "/apis/kubeflow.org/v1/mxjobs?limit=1", OWN),
    ("GET", "/version", OWN),
];

/// Flow schema and priority level by which the server answers a request.
async fn seat(client: &Client, method: &str, path: &str) -> Result<[String; 2]> {
    let request = Request::builder().method(method).uri(path);
    // It is told before the request is looked at any further.
    let answer = client.send(request.body(Body::empty())?).await?;
    let header = |what: &str| -> Result<String> {
        let name = format!("x-kubernetes-pf-{what}-uid");
        let value = answer.headers().get(&name).with_context(|| name.clone())?;
        Ok(value.to_str()?.to_owned())
    };
    Ok([header("flowschema")?, header("prioritylevel")?])
}

/// The same in names.
async fn named(client: &Client, of: &Client, method: &str, path: &str) -> Result<[String; 2]> {
    let [schema, level] = seat(of, method, path).await?;
    let name = async |kind: &str, uid: &str| -> Result<String> {
        let kind = GroupVersionKind::gvk("flowcontrol.apiserver.k8s.io", "v1", kind);
        let api: Api<DynamicObject> = Api::all_with(client.clone(), &ApiResource::from_gvk(&kind));
        let all = api.list(&ListParams::default()).await?;
        let found = all.items.into_iter().map(|object| object.metadata);
        let mut found = found.filter(|meta| meta.uid.as_deref() == Some(uid));
        found.next().and_then(|meta| meta.name).context("unknown")
    };
    Ok([
        name("FlowSchema", &schema).await?,
        name("PriorityLevelConfiguration", &level).await?,
    ])
}

/// How many requests the server has begun with by a flow schema at a priority level.
async fn begun(client: &Client, [schema, level]: [&str; 2]) -> Result<f64> {
    let text = client
        .request_text(Request::get("/metrics").body(Vec::new())?)
        .await?;
    let series = format!(
        r#"apiserver_flowcontrol_dispatched_requests_total{{flow_schema="{schema}",priority_level="{level}"}} "#
    );
    let number = text.lines().find_map(|line| line.strip_prefix(&series));
    Ok(number.map_or(Ok(0.0), str::parse)?)
}

#[tokio::test]
async fn the_operators_requests_have_seats_of_their_own() -> Result<()> {
    // A control plane of its own: whose seats are whose is said for all of it.
    let plane = ControlPlane::start().await?;
    plane.install_crds(&[schema::crd(MxRole::TABLE)]).await?;
    let client = plane.client().await?;
    let installed = kustomize("base").await?;
    find(&installed, "ServiceAccount", ACCOUNT)?;
    for object in &installed {
        let kind = object["kind"].as_str().unwrap_or_default();
        let is_right = kind.ends_with("Role") || kind.ends_with("RoleBinding");
        if is_right || ["Namespace", "ServiceAccount"].contains(&kind) {
            apply(&client, object, How::Keep).await?;
        }
    }
    let own = plane.client_of(NAMESPACE, ACCOUNT).await?;
    for (method, path, _) in REQUESTS {
        let before = named(&client, &own, method, path).await?;
        ensure!(before == OTHERS, "{path}: {before:?} already");
    }

    let file = fs::read_to_string(folder("priority-and-fairness.yaml"))?;
    for object in objects(&file)? {
        apply(&client, &object, How::Keep).await?;
    }
    // The server learns of them by a watch of its own.
    for (method, path, wanted) in REQUESTS {
        let what = format!("{method} {path} at {wanted:?}");
        until(&what, PATIENCE, || async {
            let now = named(&client, &own, method, path).await?;
            Ok(if now == wanted {
                Seen::Done(())
            } else {
                Seen::NotYet(format!("{now:?}"))
            })
        })
        .await?;
    }
    let bench = Bench::new(&plane, "fairness").await?;
    let another = plane.client_of(&bench.namespace, "default").await?;
    let theirs = named(&client, &another, "GET", "/api/v1/pods").await?;
    ensure!(theirs == OTHERS, "another account: {theirs:?}");

    // All that it asks for while it takes the lead and a job starts.
    let others = begun(&client, OTHERS).await?;
    let (leases, rest) = (begun(&client, LEADERS).await?, begun(&client, OWN).await?);
    let kubeconfig = plane.kubeconfig_of(NAMESPACE, ACCOUNT).await?;
    let arguments = ["--own-namespace", NAMESPACE, "--lease-name", LEASE];
    let operator = Operator::start_of(&kubeconfig, &arguments)?;
    operator.says("this operator leads").await?;
    bench.create(&training("digits", 1, 1)).await?;
    bench.event("SuccessfulCreatePod").await?;
    bench.pods(3).await?;
    ensure!(begun(&client, LEADERS).await? >= leases + 2.0, "the lease");
    // At least the pods, their services, and watches.
    ensure!(begun(&client, OWN).await? >= rest + 9.0, "the rest");
    let now = begun(&client, OTHERS).await?;
    ensure!(now <= others, "{now} elsewhere, before {others}");
    Ok(())
}
