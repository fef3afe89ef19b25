//! The chart, kustomize and `mxjob rbac` install the same operator.

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::{Value, json};

use super::{NAMESPACE, chart, find, identity, kustomize, rbac};

/// An object without what says who made it.
fn bare(object: &Value) -> Value {
    let mut bare = object.clone();
    if let Some(meta) = bare["metadata"].as_object_mut() {
        meta.shift_remove("labels");
        meta.shift_remove("annotations");
    }
    bare
}

/// Whether it is a role of the people who make jobs, which is none of the operator's.
fn is_for_users(object: &Value) -> bool {
    let labels = object["metadata"]["labels"].as_object();
    let mut names = labels.into_iter().flat_map(|labels| labels.keys());
    names.any(|name| name.contains("/aggregate-to-"))
}

/// Where two values first differ. A number is one however it is written.
fn difference(one: &Value, other: &Value, path: &str) -> Option<String> {
    match (one, other) {
        (Value::Object(one), Value::Object(other)) => {
            let more = other.keys().find(|name| !one.contains_key(*name));
            let of_one = |(name, one): (&String, &Value)| {
                let other = other.get(name).unwrap_or(&Value::Null);
                difference(one, other, &format!("{path}/{name}"))
            };
            let more = more.map(|name| format!("{path}/{name}"));
            more.or_else(|| one.iter().find_map(of_one))
        }
        (Value::Array(one), Value::Array(other)) if one.len() == other.len() => {
            let both = one.iter().zip(other).enumerate();
            both.into_iter()
                .find_map(|(at, (one, other))| difference(one, other, &format!("{path}/{at}")))
        }
        (Value::Number(one), Value::Number(other)) if one.as_f64() == other.as_f64() => None,
        (one, other) if one == other => None,
        (one, other) => Some(format!("{path}: {one}, {other}")),
    }
}

// promise: P94
#[tokio::test]
async fn helm_and_kustomize_install_the_same() -> Result<()> {
    let older = json!({"apis": ["kubeflow.org", "fioravanzo.org", "mxnet.mlkube.io"]});
    for (folder, values) in [("base", json!({})), ("older", older)] {
        let (built, chart) = (kustomize(folder).await?, chart(&values).await?);
        ensure!(built.len() >= 10, "{}", built.len());
        for object in built.iter().filter(|object| object["kind"] != "Namespace") {
            let [kind, _, name] = identity(object);
            let theirs = find(&chart, &kind, &name).with_context(|| folder.to_owned())?;
            if let Some(place) = difference(&bare(object), &bare(theirs), "") {
                bail!("{folder}: {kind} {name} differs at {place}");
            }
        }
        // For who reads metrics, and the test.
        let more: Vec<_> = chart
            .iter()
            .map(identity)
            .filter(|one| !built.iter().any(|object| identity(object) == *one))
            .map(|[kind, _, name]| format!("{kind} {name}"))
            .collect();
        ensure!(
            more == ["Service mxjob-metrics", "Pod mxjob-test"],
            "{folder}: {more:?}"
        );
    }
    Ok(())
}

#[tokio::test]
async fn the_charts_roles_are_those_that_the_program_prints() -> Result<()> {
    let all = "kubeflow.org,fioravanzo.org,mxnet.mlkube.io";
    for (values, arguments) in [
        (json!({}), vec![]),
        (
            json!({"namespaces": ["team-b", "team-a"]}),
            vec!["--namespace", "team-b,team-a"],
        ),
        (
            json!({"namespaces": [NAMESPACE], "apis": ["mxnet.mlkube.io"], "crds": {"install": "operator"}}),
            vec![
                "--namespace",
                NAMESPACE,
                "--api",
                "mxnet.mlkube.io",
                "--install-crds",
            ],
        ),
        (
            json!({"apis": ["fioravanzo.org", "kubeflow.org", "mxnet.mlkube.io"], "crds": {"install": "operator"}}),
            vec!["--api", all, "--install-crds"],
        ),
    ] {
        let rights = |object: &Value| {
            let kind = object["kind"].as_str().unwrap_or_default();
            kind.contains("Role") && !is_for_users(object)
        };
        let mut chart: Vec<_> = chart(&values)
            .await?
            .iter()
            .filter(|one| rights(one))
            .map(bare)
            .collect();
        let mut printed: Vec<_> = rbac(&arguments)?.iter().map(bare).collect();
        chart.sort_by_key(identity);
        printed.sort_by_key(identity);
        ensure!(
            !printed.is_empty() && chart == printed,
            "{values}\n{chart:#?}\n{printed:#?}"
        );
    }
    Ok(())
}

#[tokio::test]
async fn the_lease_and_the_webhook_are_allowed_as_far_as_they_are_used() -> Result<()> {
    let values = json!({
        "namespaces": ["team-a"], "webhook": {"enabled": false},
        "leaderElection": {"enabled": false}, "replicas": 1, "rbac": {"clusterName": "second"},
    });
    let objects = chart(&values).await?;
    let rules = find(&objects, "ClusterRole", "second")?["rules"].as_array();
    let rules = rules.context("no rules")?;
    ensure!(
        rules.len() == 1
            && rules
                .iter()
                .all(|rule| rule["resources"] == json!(["deployments"])),
        "rights in the cluster for nothing: {rules:?}"
    );
    find(&objects, "ClusterRoleBinding", "second")?;
    ensure!(
        find(&objects, "Role", "mxjob-operator-own").is_err(),
        "a lease that nobody uses"
    );
    ensure!(find(&objects, "Service", "mxjob-webhook").is_err());
    let pod = &find(&objects, "Deployment", "mxjob-operator")?["spec"];
    ensure!(pod["strategy"] == json!({"type": "Recreate"}), "{pod}");
    let arguments = &pod["template"]["spec"]["containers"][0]["args"];
    let wanted = json!([
        "operator",
        "--api=kubeflow.org",
        "--log-format=json",
        "--namespace=team-a",
        "--webhook-bind-address=0",
        "--leader-elect=false",
    ]);
    ensure!(*arguments == wanted, "{arguments}");

    let objects = chart(&json!({"leaderElection": {"leaseName": "farm"}})).await?;
    let own = |objects: &[Value]| -> Result<Vec<Value>> {
        let rules = find(objects, "Role", "mxjob-operator-own")?["rules"].as_array();
        Ok(rules.context("no rules")?.clone())
    };
    let rules = own(&objects)?;
    let names: Vec<_> = rules.iter().map(|rule| &rule["resourceNames"]).collect();
    ensure!(
        names == [&json!(["mxjob-webhook"]), &json!(["farm"]), &Value::Null],
        "{rules:?}"
    );

    Ok(())
}

// contract: 11.25
#[tokio::test]
async fn what_cert_manager_writes_is_for_the_webhook_and_only_read() -> Result<()> {
    let by = |more: Value| {
        let mut values = json!({"webhook": {"certManager": {"enabled": true}}});
        values["webhook"]["certManager"]["issuerRef"] = more;
        values
    };
    let objects = chart(&by(json!({}))).await?;
    let role = &find(&objects, "Role", "mxjob-operator-own")?["rules"][0];
    let wanted = json!({
        "apiGroups": [""], "resources": ["secrets"], "resourceNames": ["mxjob-webhook"],
        "verbs": ["list", "watch"],
    });
    ensure!(*role == wanted, "{role}");
    let pod = &find(&objects, "Deployment", "mxjob-operator")?["spec"]["template"]["spec"];
    let arguments = &pod["containers"][0]["args"];
    let given = arguments.as_array().context("no arguments")?;
    ensure!(
        given.contains(&json!("--webhook-secret-read-only")),
        "{arguments}"
    );
    let spec = &find(&objects, "Certificate", "mxjob-webhook")?["spec"];
    let service = format!("mxjob-webhook.{NAMESPACE}.svc");
    let names = json!([service, format!("{service}.cluster.local")]);
    ensure!(spec["dnsNames"] == names, "{spec}");
    ensure!(spec["secretName"] == "mxjob-webhook", "{spec}");
    // Each issuer that is named is there, and has what it signs with.
    let ca = &find(&objects, "Certificate", "mxjob-webhook-ca")?["spec"];
    for (certificate, issuer) in [(spec, "mxjob-webhook"), (ca, "mxjob-webhook-ca")] {
        let given = &certificate["issuerRef"];
        ensure!(
            *given == json!({"name": issuer, "kind": "Issuer"}),
            "{given}"
        );
        find(&objects, "Issuer", issuer)?;
    }
    let issuer = &find(&objects, "Issuer", "mxjob-webhook")?["spec"];
    ensure!(issuer["ca"]["secretName"] == ca["secretName"], "{issuer}");

    let ours = json!({"name": "ours", "kind": "ClusterIssuer"});
    let objects = chart(&by(ours.clone())).await?;
    let spec = &find(&objects, "Certificate", "mxjob-webhook")?["spec"];
    ensure!(spec["issuerRef"] == ours, "{spec}");
    ensure!(objects.iter().all(|object| object["kind"] != "Issuer"));
    Ok(())
}
