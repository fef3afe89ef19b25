//! Beside an operator that looks after the same jobs.

use anyhow::{Result, ensure};
use e2e::deadline::{Seen, until};
use e2e::{ControlPlane, ScriptedKubelet, User};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding};
use kube::Api;
use kube::api::{ListParams, Patch, PatchParams, PostParams};
use serde_json::{Value, json};

use crate::bench::{Bench, Operator, PATIENCE, training};

/// The Deployments that are looked for.
const OTHERS: [&str; 4] = [
    "mx-job-operator",
    "mxnet-operator",
    "training-operator",
    "mxjob-operator",
];

/// A Deployment of that name, with these arguments, whose one replica is ready.
async fn older(bench: &Bench, name: &str, args: &[&str]) -> Result<Api<Deployment>> {
    let api: Api<Deployment> = Api::namespaced(bench.client.clone(), &bench.namespace);
    let labels = json!({"name": name});
    let container = json!({"name": name, "image": format!("example.com/{name}"), "args": args});
    let deployment = json!({
        "metadata": {"name": name},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
        },
    });
    let deployment = serde_json::from_value(deployment)?;
    api.create(&PostParams::default(), &deployment).await?;
    ready(&api, name, 1).await?;
    Ok(api)
}

/// Waits until so many of its replicas are ready.
async fn ready(api: &Api<Deployment>, name: &str, wanted: i32) -> Result<()> {
    until(&format!("{wanted} of {name} ready"), PATIENCE, || async {
        let status = api.get(name).await?.status.unwrap_or_default();
        let found = status.ready_replicas.unwrap_or(0);
        Ok(if found == wanted {
            Seen::Done(())
        } else {
            Seen::NotYet(serde_json::to_string(&status)?)
        })
    })
    .await
}

/// What it says when it does not start.
async fn refused(mut operator: Operator) -> Result<String> {
    let status = operator.end(PATIENCE).await?;
    let log = operator.log()?;
    ensure!(status.code() == Some(1), "{status}: {log}");
    Ok(log)
}

// contract: 12.30
#[tokio::test]
async fn it_starts_when_the_other_is_stopped_or_when_it_is_told_to() -> Result<()> {
    // A control plane of its own: an operator of all namespaces.
    let (bench, plane) = Bench::own("beside").await?;
    let kubelet = ScriptedKubelet::run_all(bench.client.clone(), &bench.namespace);
    let deployments = older(&bench, "mx-job-operator", &[]).await?;
    bench.create(&training("digits", 0, 1)).await?;
    let log = refused(Operator::start_with(&plane, &["--install-crds"])?).await?;
    let namespace = &bench.namespace;
    for wanted in [
        format!("Deployment mx-job-operator in namespace {namespace}, ready replicas: 1"),
        "two would fight over them".to_owned(),
        format!("`kubectl -n {namespace} scale deployment mx-job-operator --replicas=0`"),
        "--force-takeover".to_owned(),
    ] {
        ensure!(log.contains(&wanted), "{wanted}: {log}");
    }
    // It had done nothing at all by then.
    ensure!(!log.contains("installed"), "{log}");
    ensure!(bench.jobs.get("digits").await?.status.is_none());
    ensure!(bench.pods(1).await?.len() == 1);

    // It looks after those of all namespaces, wherever it is itself.
    let elsewhere = plane.namespace("elsewhere").await?;
    let log = refused(Operator::start(&plane, &elsewhere)?).await?;
    let wanted = format!("Deployment mx-job-operator in namespace {namespace}");
    ensure!(log.contains(&wanted), "{log}");

    let operator = Operator::start_with(&plane, &["--force-takeover"])?;
    operator
        .says("other operators look after the same jobs: Deployment mx-job-operator")
        .await?;
    bench.phase("digits", "Running").await?;
    drop(operator);

    let none = Patch::Merge(json!({"spec": {"replicas": 0}}));
    deployments
        .patch("mx-job-operator", &PatchParams::default(), &none)
        .await?;
    ready(&deployments, "mx-job-operator", 0).await?;
    let operator = Operator::start_with(&plane, &[])?;
    operator.says("caches are complete").await?;
    ensure!(!operator.log()?.contains("other operators"));
    // It is looked for at the start only.
    let one = Patch::Merge(json!({"spec": {"replicas": 1}}));
    deployments
        .patch("mx-job-operator", &PatchParams::default(), &one)
        .await?;
    ready(&deployments, "mx-job-operator", 1).await?;
    for pod in ["digits-worker-0", "digits-scheduler-0"] {
        kubelet.succeed(pod).await?;
    }
    bench.phase("digits", "Succeeded").await?;
    Ok(())
}

// contract: 12.31
#[tokio::test]
async fn an_operator_of_several_kinds_may_leave_these_jobs_alone() -> Result<()> {
    // Operators of other namespaces would not start beside it.
    let (bench, plane) = Bench::own("kinds").await?;
    let _kubelet = ScriptedKubelet::run_all(bench.client.clone(), &bench.namespace);
    let deployments = older(&bench, "training-operator", &["--leader-elect"]).await?;
    let log = refused(Operator::start(&plane, &bench.namespace)?).await?;
    let wanted = "neither its flags nor its image \"example.com/training-operator\" tell";
    ensure!(log.contains(wanted), "{log}");

    let others = json!([{"op": "add", "path": "/spec/template/spec/containers/0/args", "value": ["--enable-scheme=tfjob"]}]);
    let others = Patch::Json::<()>(serde_json::from_value(others)?);
    deployments
        .patch("training-operator", &PatchParams::default(), &others)
        .await?;
    let operator = Operator::start(&plane, &bench.namespace)?;
    operator.says("caches are complete").await?;
    ensure!(!operator.log()?.contains("training-operator"));
    Ok(())
}

// contract: 12.30
#[tokio::test]
async fn another_installation_of_its_own_is_one_of_them_unless_each_has_its_namespaces()
-> Result<()> {
    let (bench, plane) = Bench::own("twice").await?;
    let _kubelet = ScriptedKubelet::run_all(bench.client.clone(), &bench.namespace);
    let first = ["operator", "--api=kubeflow.org", "--namespace=lab,team"];
    older(&bench, "mxjob-operator", &first).await?;
    let log = refused(Operator::start_with(&plane, &[])?).await?;
    let wanted = format!("Deployment mxjob-operator in namespace {}", bench.namespace);
    ensure!(
        log.contains(&wanted) && log.contains("give each namespaces of its own"),
        "{log}"
    );
    refused(Operator::start_with(&plane, &["--namespace", "team"])?).await?;
    // Another one of the same place is one more of the same, which the lease decides about.
    for arguments in [
        ["--namespace", "other"],
        ["--own-namespace", &bench.namespace],
    ] {
        let operator = Operator::start_with(&plane, &arguments)?;
        operator.says("caches are complete").await?;
    }
    Ok(())
}

/// What an operator is allowed that may not see Deployments.
async fn allow(plane: &ControlPlane, more: &[Value]) -> Result<()> {
    let client = plane.client().await?;
    let all = json!(["create", "get", "list", "watch", "patch", "delete"]);
    let mut rules = vec![
        json!({"apiGroups": ["kubeflow.org"], "resources": ["mxjobs", "mxjobs/status"], "verbs": all}),
        json!({"apiGroups": [""], "resources": ["pods", "services", "configmaps"], "verbs": all}),
        json!({"apiGroups": ["events.k8s.io"], "resources": ["events"], "verbs": all}),
        json!({"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["create", "get", "patch"]}),
    ];
    rules.extend_from_slice(more);
    let role = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
        "metadata": {"name": "e2e-operator"}, "rules": rules,
    });
    let binding = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
        "metadata": {"name": "e2e-operator"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "e2e-operator"},
        "subjects": [{"kind": "User", "name": User::Operator.name(), "apiGroup": "rbac.authorization.k8s.io"}],
    });
    let how = PatchParams::apply("e2e");
    let granted: Api<ClusterRole> = Api::all(client.clone());
    granted
        .patch("e2e-operator", &how, &Patch::Apply(role))
        .await?;
    let bindings: Api<ClusterRoleBinding> = Api::all(client);
    bindings
        .patch("e2e-operator", &how, &Patch::Apply(binding))
        .await?;
    Ok(())
}

// contract: 12.32
#[tokio::test]
async fn what_it_may_not_see_it_warns_of_and_the_right_to_see_it_is_a_small_one() -> Result<()> {
    let (bench, plane) = Bench::own("unseen").await?;
    let _kubelet = ScriptedKubelet::run_all(bench.client.clone(), &bench.namespace);
    older(&bench, "mxnet-operator", &[]).await?;
    allow(&plane, &[]).await?;
    let operator = Operator::start_as(&plane, User::Operator, &[])?;
    for name in OTHERS {
        let wanted = format!("make sure that no Deployment {name}");
        operator.says(&wanted).await?;
    }
    let log = operator.log()?;
    let why = "User \"mxjob-operator\" cannot list resource \"deployments\" in API group \"apps\"";
    ensure!(log.contains(why), "{log}");
    bench.create(&training("digits", 0, 1)).await?;
    bench.phase("digits", "Running").await?;
    operator.kill()?;
    // Nor in its own namespace, if it has one.
    let arguments = ["--namespace", &bench.namespace];
    let operator = Operator::start_as(&plane, User::Operator, &arguments)?;
    let wanted = "cannot see whether an operator of another namespace looks after the same jobs";
    operator.says(wanted).await?;
    operator.says("caches are complete").await?;
    operator.kill()?;

    let list = json!({
        "apiGroups": ["apps"], "resources": ["deployments"], "resourceNames": OTHERS, "verbs": ["list"],
    });
    allow(&plane, &[list]).await?;
    // The server learns of rights by a watch of its own.
    let theirs: Api<Deployment> = Api::all(plane.client_as(User::Operator).await?);
    let only = ListParams::default().fields("metadata.name=mxnet-operator");
    until("the right to count", PATIENCE, || async {
        Ok(match theirs.list(&only).await {
            Ok(_) => Seen::Done(()),
            Err(error) => Seen::NotYet(error.to_string()),
        })
    })
    .await?;
    let log = refused(Operator::start_as(&plane, User::Operator, &[])?).await?;
    let wanted = format!("Deployment mxnet-operator in namespace {}", bench.namespace);
    ensure!(log.contains(&wanted), "{log}");
    Ok(())
}
