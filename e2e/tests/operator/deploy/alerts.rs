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
    crd_name=\"mxjobs.kubeflow.org\",from_version=\"v1\",to_version=\"v1beta1\",\
    succeeded=\"false\"}";
const FOREIGN: &str = "apiserver_crd_conversion_webhook_duration_seconds_count{\
    crd_name=\"others.example.com\",from_version=\"v1\",to_version=\"v2\",succeeded=\"false\"}";
const WITHIN_MINUTE: &str = "mxjob_job_start_latency_seconds_bucket{@,le=\"60.0\"}";
const WITHIN_TWO: &str = "mxjob_job_start_latency_seconds_bucket{@,le=\"120.0\"}";
const EVER: &str = "mxjob_job_start_latency_seconds_bucket{@,le=\"+Inf\"}";
const DEFINITION_REFUSED: &str = "mxjob_api_requests_total{@,verb=\"patch\",resource=\"customresourcedefinitions\",code=\"403\"}";
const UNWELL: &str = "mxjob_api_requests_total{@,verb=\"patch\",resource=\"pods\",code=\"503\"}";
const FAILED: &str = "training_operator_jobs_failed_total{@,job_namespace=\"lab\"}";
const FAILED_BESIDE: &str = "training_operator_jobs_failed_total{@,job_namespace=\"other\"}";
const SUCCEEDED_BESIDE: &str = "training_operator_jobs_successful_total{@,job_namespace=\"other\"}";
const SUCCEEDED: &str = "training_operator_jobs_successful_total{@,job_namespace=\"lab\"}";

const CASES: [Case; 24] = [
    // The last leader goes, and the next takes two minutes, or never comes.
    Case {
        alert: NOBODY,
        series: &[(A, "1x9 0x9"), (B, "0x13 1x8")],
        quiet: &["6m30s", "7m", "9m"],
        fires: None,
    },
    Case {
        alert: NOBODY,
        series: &[(A, "1x9 0x9"), (B, "0x20")],
        quiet: &["7m30s"],
        fires: Some(("8m", &[])),
    },
    // None is there, or none that is asked for its metrics.
    Case {
        alert: NOBODY,
        series: &[("mxjob_leader{namespace=\"elsewhere\"}", "1x9")],
        quiet: &["2m30s"],
        fires: Some(("3m", &[])),
    },
    Case {
        alert: TWO,
        series: &[(A, "1x19"), (B, "0x4 1x14")],
        quiet: &["2m", "5m"],
        fires: Some(("5m30s", &[])),
    },
    // A rolling update: the next one leads, and two minutes go by until Prometheus forgets the old one.
    Case {
        alert: TWO,
        series: &[(A, "1x9 stale _x19"), (B, "0x5 1x24")],
        quiet: &["4m30s", "5m", "6m", "8m"],
        fires: None,
    },
    // Another installation; one that is read twice.
    Case {
        alert: TWO,
        series: &[
            (A, "1x19"),
            ("mxjob_leader{@,pod=\"a\",job=\"pods\"}", "1x19"),
            ("mxjob_leader{namespace=\"elsewhere\"}", "1x19"),
        ],
        quiet: &["8m"],
        fires: None,
    },
    // A follower tries every ten seconds, what points the definition every minute.
    Case {
        alert: REQUESTS,
        series: &[(PODS_REFUSED, "0+3x60")],
        quiet: &["10m"],
        fires: Some((
            "15m",
            &[("verb", "patch"), ("resource", "pods"), ("code", "403")],
        )),
    },
    Case {
        alert: REQUESTS,
        series: &[(
            DEFINITION_REFUSED,
            "0 0 1 1 2 2 3 3 4 4 5 5 6 6 7 7 8 8 9 9 10 10 11 11 12 12 13 13 14 14 15 15 16 16 17 17 18 18 19 19 20 20",
        )],
        quiet: &["10m"],
        fires: Some((
            "20m",
            &[
                ("verb", "patch"),
                ("resource", "customresourcedefinitions"),
                ("code", "403"),
            ],
        )),
    },
    // Five are refused; the API server is unwell for five minutes; of creations another alert speaks.
    Case {
        alert: REQUESTS,
        series: &[(PODS_REFUSED, "0+1x5 5x60")],
        quiet: &["3m", "12m", "14m", "30m"],
        fires: None,
    },
    Case {
        alert: REQUESTS,
        series: &[(UNWELL, "0+6x10 60x100")],
        quiet: &["6m30s", "9m", "12m"],
        fires: None,
    },
    Case {
        alert: REQUESTS,
        series: &[(PODS_NOT_MADE, "0+6x100")],
        quiet: &["15m", "40m"],
        fires: None,
    },
    Case {
        alert: OBJECTS,
        series: &[(PODS_NOT_MADE, "0+1x100")],
        quiet: &["30m"],
        fires: Some(("36m", &[("resource", "pods"), ("code", "403")])),
    },
    // A quota that is full for ten minutes.
    Case {
        alert: OBJECTS,
        series: &[(PODS_NOT_MADE, "0+6x20 120x80")],
        quiet: &["15m", "24m", "32m", "40m"],
        fires: None,
    },
    Case {
        alert: CONVERSIONS,
        series: &[(NOT_CONVERTED, "0x4 0+1x40")],
        quiet: &["4m", "12m"],
        fires: Some((
            "14m",
            &[
                ("crd_name", "mxjobs.kubeflow.org"),
                ("from_version", "v1"),
                ("to_version", "v1beta1"),
            ],
        )),
    },
    // None was for a minute and a half, while an operator was started; another vendor's.
    Case {
        alert: CONVERSIONS,
        series: &[(NOT_CONVERTED, "3x4 4 5 6 6x40"), (FOREIGN, "0+1x40")],
        quiet: &["3m30s", "6m30s", "8m", "12m", "18m"],
        fires: None,
    },
    // Two, and then a rest of half a minute.
    Case {
        alert: BUSY,
        series: &[(TOO_MANY, "0+2x60")],
        quiet: &["15m"],
        fires: Some(("20m", &[])),
    },
    // The start of a large job.
    Case {
        alert: BUSY,
        series: &[(TOO_MANY, "0+60x10 600x60")],
        quiet: &["9m", "15m", "20m"],
        fires: None,
    },
    // Of 20 a minute two wait longer than a minute, or none.
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
    // Twelve have failed; two have not, or ten; in the namespace beside it none has.
    Case {
        alert: FAIL,
        series: &[
            (FAILED, "0+1x12 12x200"),
            (SUCCEEDED, "0 1 2 2x200"),
            (FAILED_BESIDE, "0x200"),
            (SUCCEEDED_BESIDE, "0x200"),
        ],
        quiet: &["4m", "2h"],
        fires: Some(("20m", &[("job_namespace", "lab")])),
    },
    Case {
        alert: FAIL,
        series: &[(FAILED, "0+1x12 12x200"), (SUCCEEDED, "0+1x10 10x200")],
        quiet: &["10m", "20m", "40m"],
        fires: None,
    },
    // All at once, before Prometheus has asked for the first time.
    Case {
        alert: FAIL,
        series: &[(FAILED, "_x4 20x400"), (SUCCEEDED, "_x4 0x400")],
        quiet: &["6m", "70m"],
        fires: Some(("8m", &[("job_namespace", "lab")])),
    },
    // The day before.
    Case {
        alert: FAIL,
        series: &[(FAILED, "20x400"), (SUCCEEDED, "0x400")],
        quiet: &["70m", "3h"],
        fires: None,
    },
    Case {
        alert: FAIL,
        series: &[(FAILED, "0 1 2 2x100"), (SUCCEEDED, "0x100")],
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
