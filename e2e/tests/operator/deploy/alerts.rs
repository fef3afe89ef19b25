//! When the chart's alerts fire, by Prometheus' own word.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use e2e::binaries::{self, Program};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::chart::{everything, queries};
use super::{NAMESPACE, chart, find, printed};

/// A story, half a minute from one value to the next, and what it makes of an alert.
struct Case {
    alert: &'static str,
    /// Metrics with labels, and their values as `promtool` writes them.
    series: &'static [(&'static str, &'static str)],
    /// When it does not fire.
    quiet: &'static [&'static str],
    /// When it does, and for whom.
    fires: Option<(&'static str, &'static [(&'static str, &'static str)])>,
}

const NOBODY: &str = "MXJobNobodyLeads";
const TWO: &str = "MXJobTwoLead";
const REQUESTS: &str = "MXJobRequestsRefused";
const OBJECTS: &str = "MXJobObjectsRefused";
const CONVERSIONS: &str = "MXJobConversionsFail";
const BUSY: &str = "MXJobServerBusy";
const LATE: &str = "MXJobStartsLate";
const FAIL: &str = "MXJobsFail";

/// Of the operator, whose namespace the test puts in.
const A: &str = "mxjob_leader{@,pod=\"a\"}";
const B: &str = "mxjob_leader{@,pod=\"b\"}";
const PODS_REFUSED: &str =
    "mxjob_api_requests_total{@,verb=\"patch\",resource=\"pods\",code=\"403\"}";
const PODS_NOT_MADE: &str =
    "mxjob_api_requests_total{@,verb=\"create\",resource=\"pods\",code=\"403\"}";
const TOO_MANY: &str = "mxjob_api_requests_total{@,verb=\"create\",resource=\"pods\",code=\"429\"}";
/// Of the API server, for all namespaces.
const NOT_CONVERTED: &str = "apiserver_crd_conversion_webhook_duration_seconds_count{\
    crd_name=\"mxjobs.kubeflow.org\",from_version=\"kubeflow.org/v1\",to_version=\"kubeflow.org/v1beta1\",\
    succeeded=\"false\"}";
const FOREIGN: &str = "apiserver_crd_conversion_webhook_duration_seconds_count{\
    crd_name=\"others.example.com\",from_version=\"v1\",to_version=\"v2\",succeeded=\"false\"}";
const WITHIN_MINUTE: &str = "mxjob_job_start_latency_seconds_bucket{@,le=\"51.2\"}";
const WITHIN_TWO: &str = "mxjob_job_start_latency_seconds_bucket{@,le=\"102.4\"}";
const EVER: &str = "mxjob_job_start_latency_seconds_bucket{@,le=\"+Inf\"}";
const FAILED: &str = "training_operator_jobs_failed_total{@,job_namespace=\"lab\"}";
const SUCCEEDED: &str = "training_operator_jobs_successful_total{@,job_namespace=\"lab\"}";

const CASES: [Case; 20] = [
    // The last leader goes, and the next takes half a minute, or never comes.
    Case {
        alert: NOBODY,
        series: &[(A, "1x9 0x9"), (B, "0x10 1x8")],
        quiet: &["5m", "6m", "9m"],
        fires: None,
    },
    Case {
        alert: NOBODY,
        series: &[(A, "1x9 0x9"), (B, "0x20")],
        quiet: &["5m"],
        fires: Some(("6m", &[])),
    },
    // None is there, or none that is asked for its metrics.
    Case {
        alert: NOBODY,
        series: &[("mxjob_leader{namespace=\"elsewhere\"}", "1x9")],
        quiet: &["30s"],
        fires: Some(("1m30s", &[])),
    },
    Case {
        alert: TWO,
        series: &[
            (A, "1x9"),
            (B, "0x4 1x4"),
            ("mxjob_leader{namespace=\"elsewhere\"}", "1x9"),
        ],
        quiet: &["2m"],
        fires: Some(("4m", &[])),
    },
    // A rolling update: the next one leads before Prometheus knows that the old one is gone.
    Case {
        alert: TWO,
        series: &[(A, "1x5 stale _x9"), (B, "0x4 1x9")],
        quiet: &["3m", "4m", "5m"],
        fires: None,
    },
    Case {
        alert: REQUESTS,
        series: &[(PODS_REFUSED, "0+6x40")],
        quiet: &["9m"],
        fires: Some((
            "15m",
            &[("verb", "patch"), ("resource", "pods"), ("code", "403")],
        )),
    },
    // Now and then one is refused; an hour ago all were; of creations another alert speaks.
    Case {
        alert: REQUESTS,
        series: &[(PODS_REFUSED, "0+1x60")],
        quiet: &["12m", "30m"],
        fires: None,
    },
    Case {
        alert: REQUESTS,
        series: &[(PODS_REFUSED, "0+6x10 60x100")],
        quiet: &["12m", "50m"],
        fires: None,
    },
    Case {
        alert: REQUESTS,
        series: &[(PODS_NOT_MADE, "0+6x100")],
        quiet: &["12m", "40m"],
        fires: None,
    },
    Case {
        alert: OBJECTS,
        series: &[(PODS_NOT_MADE, "0+6x100")],
        quiet: &["29m"],
        fires: Some(("35m", &[("resource", "pods"), ("code", "403")])),
    },
    // A quota that is full for a while.
    Case {
        alert: OBJECTS,
        series: &[(PODS_NOT_MADE, "0+6x40 240x60")],
        quiet: &["15m", "32m", "40m"],
        fires: None,
    },
    Case {
        alert: CONVERSIONS,
        series: &[(NOT_CONVERTED, "0x4 0+1x30")],
        quiet: &["4m"],
        fires: Some((
            "12m",
            &[
                ("crd_name", "mxjobs.kubeflow.org"),
                ("from_version", "kubeflow.org/v1"),
                ("to_version", "kubeflow.org/v1beta1"),
            ],
        )),
    },
    // One was not, while an operator was started; another vendor's.
    Case {
        alert: CONVERSIONS,
        series: &[(NOT_CONVERTED, "_x4 1x40"), (FOREIGN, "0+1x40")],
        quiet: &["4m", "8m", "12m", "18m"],
        fires: None,
    },
    Case {
        alert: BUSY,
        series: &[(TOO_MANY, "0+60x60")],
        quiet: &["14m"],
        fires: Some(("20m", &[])),
    },
    Case {
        alert: BUSY,
        series: &[(TOO_MANY, "0+15x60")],
        quiet: &["17m", "29m"],
        fires: None,
    },
    // Of 20 a minute two wait longer, or none.
    Case {
        alert: LATE,
        series: &[
            (WITHIN_MINUTE, "0+9x80"),
            (WITHIN_TWO, "0+10x80"),
            (EVER, "0+10x80"),
        ],
        quiet: &["14m"],
        fires: Some(("32m", &[])),
    },
    Case {
        alert: LATE,
        series: &[
            (WITHIN_MINUTE, "0+10x80"),
            (WITHIN_TWO, "0+10x80"),
            (EVER, "0+10x80"),
        ],
        quiet: &["14m", "32m"],
        fires: None,
    },
    // Twelve have failed and two have not, or none; two have, and that is few.
    Case {
        alert: FAIL,
        series: &[(FAILED, "0+1x12 12x200"), (SUCCEEDED, "0 1 2 2x200")],
        quiet: &["2m", "2h"],
        fires: Some(("20m", &[("job_namespace", "lab")])),
    },
    Case {
        alert: FAIL,
        series: &[(FAILED, "0+1x12 12x200")],
        quiet: &["2m", "2h"],
        fires: Some(("20m", &[("job_namespace", "lab")])),
    },
    Case {
        alert: FAIL,
        series: &[(FAILED, "0 1 2 2x100")],
        quiet: &["20m", "40m"],
        fires: None,
    },
];

/// The groups of rules of all that the chart can do.
fn groups(objects: &[Value]) -> Result<Value> {
    let rule = find(objects, "PrometheusRule", "mxjob-operator")?;
    Ok(rule["spec"]["groups"].clone())
}

/// As `promtool test rules` reads it.
fn story(case: &Case, rules: &[Value]) -> Result<Value> {
    let rule = rules.iter().find(|rule| rule["alert"] == case.alert);
    let rule = rule.with_context(|| format!("no alert {}", case.alert))?;
    let own = format!("namespace=\"{NAMESPACE}\"");
    let series = |(series, values): &(&str, &str)| json!({"series": series.replace('@', &own), "values": values});
    let quiet = |at: &&str| json!({"eval_time": at, "alertname": case.alert, "exp_alerts": []});
    let mut looks: Vec<_> = case.quiet.iter().map(quiet).collect();
    if let Some((at, labels)) = case.fires {
        let mut annotations = rule["annotations"].clone();
        for text in annotations
            .as_object_mut()
            .context("no annotations")?
            .values_mut()
        {
            let filled = labels.iter().fold(
                text.as_str().unwrap_or_default().to_owned(),
                |text, (name, value)| text.replace(&format!("{{{{ $labels.{name} }}}}"), value),
            );
            *text = filled.into();
        }
        let mut shown = rule["labels"].clone();
        for (name, value) in labels {
            shown[name] = json!(value);
        }
        looks.push(
            json!({"eval_time": at, "alertname": case.alert, "exp_alerts": [
                {"exp_labels": shown, "exp_annotations": annotations},
            ]}),
        );
    }
    Ok(json!({
        "interval": "30s",
        "input_series": case.series.iter().map(series).collect::<Vec<_>>(),
        "alert_rule_test": looks,
    }))
}

async fn promtool(place: &Path, arguments: &[&str]) -> Result<String> {
    let program = tokio::task::spawn_blocking(|| binaries::find(Program::Promtool)).await??;
    let output = Command::new(program)
        .args(arguments)
        .current_dir(place)
        .output()?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    printed(&output).with_context(|| said)
}

#[tokio::test]
async fn each_fires_when_it_should_and_not_before() -> Result<()> {
    let groups = groups(&chart(&everything()).await?)?;
    let rules = groups[0]["rules"].as_array().context("no rules")?;
    for rule in rules {
        let cases = || CASES.iter().filter(|case| rule["alert"] == case.alert);
        ensure!(cases().any(|case| case.fires.is_some()), "{rule}");
        ensure!(cases().any(|case| case.fires.is_none()), "{rule}");
    }
    let tests = CASES.iter().map(|case| story(case, rules));
    let tests = json!({
        "rule_files": ["rules"],
        "evaluation_interval": "30s",
        "tests": tests.collect::<Result<Vec<_>>>()?,
    });
    let place = TempDir::new()?;
    fs::write(place.path().join("tests"), tests.to_string())?;
    let rules = json!({"groups": groups}).to_string();
    fs::write(place.path().join("rules"), rules)?;
    promtool(
        place.path(),
        &["check", "rules", "--lint=all", "--lint-fatal", "rules"],
    )
    .await?;
    promtool(place.path(), &["test", "rules", "tests"]).await?;
    Ok(())
}

#[tokio::test]
async fn prometheus_can_read_what_the_dashboard_asks() -> Result<()> {
    let queries = queries(&chart(&everything()).await?)?;
    // Grafana says before how long it asks for.
    let rule = |(at, query): (usize, &String)| {
        let query = query.replace("$__rate_interval", "1m");
        json!({"record": format!("panel:{at}"), "expr": query})
    };
    let rules: Vec<_> = queries.iter().enumerate().map(rule).collect();
    let rules = json!({"groups": [{"name": "dashboard", "rules": rules}]});
    let place = TempDir::new()?;
    fs::write(place.path().join("rules"), rules.to_string())?;
    promtool(place.path(), &["check", "rules", "rules"]).await?;
    Ok(())
}
