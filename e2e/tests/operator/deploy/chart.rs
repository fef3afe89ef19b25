//! What the chart is, by itself.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{NAMESPACE, chart, find, folder, helm, printed};

/// Values for all that the chart can do.
pub(super) fn everything() -> Value {
    json!({
        "image": {"repository": "example.com/mxjob", "digest": format!("sha256:{}", "0".repeat(64)), "pullPolicy": "Always"},
        "imagePullSecrets": [{"name": "images"}],
        "apis": ["kubeflow.org", "fioravanzo.org", "mxnet.mlkube.io"],
        "namespaces": ["team-a", "team-b"],
        "crds": {"install": "chart", "keep": false},
        "replicas": 3,
        "leaderElection": {"enabled": true, "leaseName": "farm", "leaseDuration": "10s"},
        "webhook": {"certManager": {"enabled": true, "issuerRef": {"name": "ours", "kind": "ClusterIssuer"}}},
        "forceTakeover": true,
        "controllerConfig": {"accelerators": {"nvidia.com/gpu": {
            "volumes": [{"name": "libraries", "hostPath": "/home/nvidia", "mountPath": "/usr/local/nvidia"}],
        }}},
        "log": {"format": "text", "level": "mxjob_operator=debug"},
        "extraArgs": ["--webhook-url="],
        "extraEnv": [{"name": "TZ", "value": "UTC"}],
        "resources": {"requests": {"cpu": "1", "memory": "1Gi"}},
        "serviceAccount": {"annotations": {"example.com/team": "a"}},
        "rbac": {"users": true},
        "podAnnotations": {"example.com/a": "b"},
        "podLabels": {"example.com/c": "d"},
        "nodeSelector": {"kubernetes.io/os": "linux"},
        "tolerations": [{"key": "system", "operator": "Exists"}],
        "affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [
            {"weight": 1, "preference": {"matchExpressions": [{"key": "system", "operator": "Exists"}]}},
        ]}},
        "topologySpreadConstraints": [
            {"maxSkew": 1, "topologyKey": "topology.kubernetes.io/zone", "whenUnsatisfiable": "ScheduleAnyway"},
        ],
        "priorityClassName": "system-cluster-critical",
        "terminationGracePeriodSeconds": 30,
        "podDisruptionBudget": {"maxUnavailable": "50%"},
        "networkPolicy": {"enabled": true, "apiServer": ["10.0.0.1/32", "fd00::1/128"], "metricsNamespace": "monitoring"},
        "metrics": {
            "service": true,
            "serviceMonitor": {"enabled": true, "labels": {"release": "prometheus"}, "interval": "15s"},
            "alerts": {"enabled": true, "labels": {"release": "prometheus"}},
            "dashboard": {"enabled": true, "labels": {"folder": "jobs"}},
        },
        "test": {"image": "example.com/busybox:1", "pullPolicy": "Never"},
    })
}

/// The metrics that a text speaks of.
fn metrics(text: &str) -> BTreeSet<&str> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let named =
        words.filter(|word| word.starts_with("mxjob_") || word.starts_with("training_operator_"));
    named.map(|word| word.trim_end_matches("_bucket")).collect()
}

/// What the dashboard among these objects asks for.
pub(super) fn queries(objects: &[Value]) -> Result<Vec<String>> {
    let dashboard = find(objects, "ConfigMap", "mxjob-dashboard")?;
    let text = dashboard["data"]["mxjob.json"].as_str();
    let dashboard: Value = serde_json::from_str(text.context("no dashboard")?)?;
    let panels = dashboard["panels"].as_array().context("no panels")?;
    let targets = panels
        .iter()
        .filter_map(|panel| panel["targets"].as_array());
    let queries = targets.flatten().map(|target| target["expr"].as_str());
    queries
        .map(|query| Ok(query.context("no expression")?.to_owned()))
        .collect()
}

#[tokio::test]
async fn what_is_watched_is_what_the_operator_tells() -> Result<()> {
    let operations = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/operate.md");
    let operations = fs::read_to_string(operations)?;
    let told: BTreeSet<_> = operations
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split('`').next())
        .collect();
    let objects = chart(&everything()).await?;
    let rule = find(&objects, "PrometheusRule", "mxjob-operator")?;
    let alerts = rule["spec"]["groups"][0]["rules"]
        .as_array()
        .context("no rules")?;
    for alert in alerts {
        let text = alert["expr"].as_str().context("no expression")?;
        let named = metrics(text);
        // The API server tells of failed conversions, of all operators.
        let is_ours = alert["alert"] != "MXJobConversionsFail";
        ensure!(
            named.is_empty() != is_ours && named.is_subset(&told),
            "{named:?}"
        );
        ensure!(
            text.contains(&format!("namespace=\"{NAMESPACE}\"")) == is_ours,
            "{text}"
        );
        let annotations = &alert["annotations"];
        ensure!(annotations["summary"].is_string() && annotations["description"].is_string());
    }
    let dashboard = find(&objects, "ConfigMap", "mxjob-dashboard")?;
    let text = dashboard["data"]["mxjob.json"].as_str();
    let text = text.context("no dashboard")?;
    for query in queries(&objects)? {
        let named = metrics(&query);
        ensure!(!named.is_empty() && named.is_subset(&told), "{named:?}");
    }
    // Every metric but that of the process itself is somewhere.
    let shown = metrics(text);
    let told: BTreeSet<_> = told.iter().flat_map(|name| metrics(name)).collect();
    ensure!(
        shown == told,
        "{:?}",
        shown.symmetric_difference(&told).collect::<Vec<_>>()
    );
    let monitor = find(&objects, "ServiceMonitor", "mxjob-operator")?;
    let service = find(&objects, "Service", "mxjob-metrics")?;
    let wanted = monitor["spec"]["selector"]["matchLabels"]
        .as_object()
        .context("no labels")?;
    for (name, value) in wanted {
        ensure!(service["metadata"]["labels"][name] == *value, "{service}");
    }
    ensure!(service["spec"]["ports"][0]["name"] == monitor["spec"]["endpoints"][0]["port"]);
    Ok(())
}

// promise: P95
#[tokio::test]
async fn it_passes_helms_own_rules_with_and_without_all_that_it_can() -> Result<()> {
    let given = TempDir::new()?;
    let chart = folder("helm/mxjob").display().to_string();
    for (name, values) in [
        ("default", json!({})),
        ("everything", everything()),
        ("namespaced", json!({"namespaces": ["team-a"]})),
        ("nothing", nothing()),
    ] {
        let file = given.path().join(name);
        fs::write(&file, values.to_string())?;
        let file = file.display().to_string();
        let output = helm(&["lint", "--strict", &chart, "--values", &file]).await?;
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        ensure!(
            output.status.success() && said.contains("0 chart(s) failed"),
            "{name}: {said}"
        );
        ensure!(!said.contains("[WARNING]"), "{name}: {said}");
    }
    Ok(())
}

/// Values without all that can be left out.
pub(super) fn nothing() -> Value {
    json!({
        "crds": {"install": "nobody"},
        "replicas": 1,
        "leaderElection": {"enabled": false},
        "webhook": {"enabled": false},
        "resources": {},
        "serviceAccount": {"create": false},
        "rbac": {"create": false},
        "podDisruptionBudget": {"enabled": false},
        "networkPolicy": {"enabled": true},
        "metrics": {"service": false},
    })
}

#[tokio::test]
async fn its_version_is_the_programs() -> Result<()> {
    let version = env!("CARGO_PKG_VERSION");
    for chart in ["mxjob", "mxjob-train"] {
        let text = fs::read_to_string(folder("helm").join(chart).join("Chart.yaml"))?;
        let chart: Value = serde_saphyr::from_str(&text)?;
        ensure!(
            chart["version"] == version && chart["appVersion"] == version,
            "{text}"
        );
    }
    let text = fs::read_to_string(folder("kustomize/base/kustomization.yaml"))?;
    let base: Value = serde_saphyr::from_str(&text)?;
    ensure!(base["images"][0]["newTag"] == version, "{text}");
    Ok(())
}

#[tokio::test]
async fn its_package_has_everything_in_it() -> Result<()> {
    let place = TempDir::new()?;
    let (chart, place) = (
        folder("helm/mxjob").display().to_string(),
        place.path().display().to_string(),
    );
    printed(&helm(&["package", &chart, "--destination", &place]).await?)?;
    let package = format!("{place}/mxjob-{}.tgz", env!("CARGO_PKG_VERSION"));
    let from = async |chart: &str| -> Result<String> {
        printed(&helm(&["template", "mxjob", chart, "--namespace", "lab"]).await?)
    };
    ensure!(
        from(&chart).await? == from(&package).await?,
        "another chart"
    );
    // The server keeps what was installed in a Secret, which may have 1 MiB.
    let size = fs::metadata(&package)?.len();
    ensure!(size < 300_000, "{size} bytes");
    Ok(())
}
