//! The values of the chart: described, and refused when they are wrong.

use std::collections::BTreeSet;
use std::fs;

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{folder, helm};

/// Values that are wrong, and what is said of them.
fn wrong() -> Vec<(Value, &'static str)> {
    vec![
        (
            json!({"replicas": "two"}),
            "at '/replicas': got string, want integer",
        ),
        (
            json!({"replicas": -1}),
            "at '/replicas': minimum: got -1, want 0",
        ),
        (
            json!({"apis": ["tfjobs.kubeflow.org"]}),
            "at '/apis/0': value must be one of 'kubeflow.org', 'fioravanzo.org', 'mxnet.mlkube.io'",
        ),
        (json!({"apis": []}), "at '/apis': minItems: got 0, want 1"),
        (
            json!({"apis": ["kubeflow.org", "kubeflow.org"]}),
            "at '/apis': items at 0 and 1 are equal",
        ),
        (
            json!({"namespaces": ["Team A"]}),
            "at '/namespaces/0': 'Team A' does not match pattern",
        ),
        (
            json!({"namespaces": "team-a"}),
            "at '/namespaces': got string, want array",
        ),
        (
            json!({"imag": {"tag": "x"}}),
            "additional properties 'imag' not allowed",
        ),
        (
            json!({"image": {"tagg": "x"}}),
            "at '/image': additional properties 'tagg' not allowed",
        ),
        (
            json!({"image": {"repository": ""}}),
            "at '/image/repository': minLength: got 0, want 1",
        ),
        (
            json!({"image": {"digest": "sha256:1"}}),
            "at '/image/digest': 'sha256:1' does not match pattern",
        ),
        (
            json!({"image": {"pullPolicy": "Sometimes"}}),
            "at '/image/pullPolicy': value must be one of",
        ),
        (
            json!({"crds": {"install": true}}),
            "at '/crds/install': value must be one of 'chart', 'operator', 'nobody'",
        ),
        (
            json!({"leaderElection": {"leaseDuration": "1s"}}),
            "at '/leaderElection/leaseDuration': '1s' does not match",
        ),
        (
            json!({"leaderElection": {"leaseName": "My Lease"}}),
            "at '/leaderElection/leaseName': 'My Lease' does not",
        ),
        (
            json!({"log": {"format": "xml"}}),
            "at '/log/format': value must be one of 'text', 'json'",
        ),
        (
            json!({"networkPolicy": {"apiServer": ["10.0.0.1"]}}),
            "at '/networkPolicy/apiServer/0': '10.0.0.1' does not",
        ),
        (
            json!({"networkPolicy": {"metricsNamespace": "A"}}),
            "at '/networkPolicy/metricsNamespace'",
        ),
        (
            json!({"podDisruptionBudget": {"maxUnavailable": "half"}}),
            "at '/podDisruptionBudget/maxUnavailable'",
        ),
        (
            json!({"terminationGracePeriodSeconds": 0}),
            "minimum: got 0, want 1",
        ),
        (
            json!({"leaderElection": {"enabled": false}}),
            "replicas is 2 and leaderElection.enabled is false: two operators without an election undo what each other \
             does; set replicas to 1, or leaderElection.enabled to true",
        ),
        (
            json!({"webhook": {"certManager": {"issuerRef": {"name": 1}}}}),
            "at '/webhook/certManager/issuerRef/name': got number, want string",
        ),
        (
            json!({"webhook": {"enabled": false, "certManager": {"enabled": true}}}),
            "webhook.certManager.enabled is true and webhook.enabled is false",
        ),
        (
            json!({"networkPolicy": {"enabled": true}, "metrics": {"serviceMonitor": {"enabled": true}}}),
            "networkPolicy.metricsNamespace is empty: Prometheus could not come to the operator",
        ),
        (
            json!({"metrics": {"service": false, "serviceMonitor": {"enabled": true}}}),
            "metrics.serviceMonitor.enabled is true and metrics.service is false",
        ),
    ]
}

#[tokio::test]
async fn what_the_schema_refuses_is_refused_in_clear_words() -> Result<()> {
    let given = TempDir::new()?;
    let file = given.path().join("values.json");
    let (chart, path) = (
        folder("helm/mxjob").display().to_string(),
        file.display().to_string(),
    );
    for (values, wanted) in wrong() {
        fs::write(&file, values.to_string())?;
        let output = helm(&["template", "mxjob", &chart, "--values", &path]).await?;
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(
            !output.status.success() && said.contains(wanted),
            "{values}: {said}"
        );
    }
    Ok(())
}

/// The names of all values of a schema, and those of them that nothing is said of.
fn walk(
    schema: &Value,
    all: &Value,
    path: &str,
    names: &mut BTreeSet<String>,
    mute: &mut Vec<String>,
) {
    for (name, of_it) in schema["properties"].as_object().into_iter().flatten() {
        let path = format!("{path}/{name}");
        let reference = of_it["$ref"]
            .as_str()
            .and_then(|text| text.rsplit('/').next());
        let of_it = reference.map_or(of_it, |name| &all["definitions"][name]);
        if of_it["description"].as_str().is_none_or(str::is_empty) && of_it["enum"].is_null() {
            mute.push(path.clone());
        }
        names.insert(path.clone());
        walk(of_it, all, &path, names, mute);
    }
}

/// The names of all values that there are.
fn given(values: &Value, path: &str, names: &mut BTreeSet<String>) {
    for (name, value) in values.as_object().into_iter().flatten() {
        let path = format!("{path}/{name}");
        given(value, &path, names);
        names.insert(path);
    }
}

#[test]
fn every_value_is_described_and_has_a_default() -> Result<()> {
    let schema = fs::read_to_string(folder("helm/mxjob/values.schema.json"))?;
    let schema: Value = serde_json::from_str(&schema)?;
    let (mut names, mut mute) = (BTreeSet::new(), Vec::new());
    walk(&schema, &schema, "", &mut names, &mut mute);
    ensure!(mute.is_empty(), "nothing is said of {mute:?}");

    let text = fs::read_to_string(folder("helm/mxjob/values.yaml"))?;
    let mut defaults = BTreeSet::new();
    given(&serde_saphyr::from_str(&text)?, "", &mut defaults);
    // `global` is Helm's; these are texts by name, or whole parts of a pod.
    let open = ["/global", "/metrics/dashboard/labels/grafana_dashboard"];
    names.remove("/global");
    defaults.retain(|name| !open.contains(&name.as_str()) && !name.starts_with("/resources/"));
    names.retain(|name| !name.starts_with("/imagePullSecrets/"));
    ensure!(
        names == defaults,
        "{:?}",
        names.symmetric_difference(&defaults).collect::<Vec<_>>()
    );

    // Of each block of the file something is said before or in it.
    let blocks = text.split("\n\n");
    let mute: Vec<_> = blocks.filter(|block| !block.contains("# ")).collect();
    ensure!(
        mute == ["podDisruptionBudget:\n  enabled: true\n  maxUnavailable: 1"] || mute.is_empty(),
        "{mute:?}"
    );
    text.lines().next().context("empty")?;
    Ok(())
}
