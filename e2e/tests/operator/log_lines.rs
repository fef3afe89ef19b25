//! The operator's log, as a program reads it.

use std::collections::BTreeSet;

use anyhow::{Context as _, Result, ensure};
use e2e::ScriptedKubelet;
use e2e::deadline::{Seen, until};
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

use crate::bench::{Bench, Operator, PATIENCE, training, with};
use crate::metrics::scraped;

fn lines(operator: &Operator) -> Result<Vec<Value>> {
    let log = operator.log()?;
    // The last one may not be whole yet.
    let (whole, _) = log.rsplit_once('\n').unwrap_or_default();
    let parse = |line: &str| serde_json::from_str(line).with_context(|| line.to_owned());
    whole.lines().map(parse).collect()
}

/// The first line of which that is true.
async fn line(operator: &Operator, what: &str, is_it: impl Fn(&Value) -> bool) -> Result<Value> {
    until(what, PATIENCE, || async {
        let lines = lines(operator)?;
        Ok(match lines.iter().find(|line| is_it(line)) {
            Some(line) => Seen::Done(line.clone()),
            None => Seen::NotYet(operator.log()?),
        })
    })
    .await
}

/// What the lines of that message are about; each once.
fn about(lines: &[Value], message: &str, fields: &[&str]) -> Result<BTreeSet<String>> {
    let mut found = BTreeSet::new();
    for line in lines.iter().filter(|line| line["message"] == message) {
        ensure!(line["level"] == "INFO", "{line}");
        ensure!(
            line["job"] == "digits" && line["namespace"].is_string(),
            "{line}"
        );
        let words = fields.iter().map(|field| match &line[*field] {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        });
        let words = words.collect::<Vec<_>>().join(" ");
        ensure!(found.insert(words), "twice: {line}");
    }
    Ok(found)
}

// contract: 11.27
#[tokio::test]
async fn each_deed_is_a_line_with_its_replica_and_a_look_at_nothing_new_is_none() -> Result<()> {
    let (bench, plane) = Bench::shared("lines").await?;
    let arguments = ["--namespace", &bench.namespace, "--log-format", "json"];
    let operator = Operator::start_with(plane, &arguments)?;
    let address = |line: &Value| line["message"] == "serving metrics";
    let metrics = line(&operator, "an address", address).await?["address"].clone();
    let metrics = metrics.as_str().context("no address")?.parse()?;
    let kubelet = ScriptedKubelet::run_all(bench.client.clone(), &bench.namespace);
    let policy = json!({"failurePolicy": {"maxRestarts": 1}});
    bench
        .create(&with(training("digits", 0, 2), policy))
        .await?;
    bench.phase("digits", "Running").await?;
    kubelet.fail("digits-worker-1", 1).await?;
    bench.restarted("digits", 1).await?;
    bench.phase("digits", "Running").await?;
    for pod in ["digits-worker-0", "digits-worker-1", "digits-scheduler-0"] {
        kubelet.succeed(pod).await?;
    }
    bench.phase("digits", "Succeeded").await?;
    // The services go at the end, after it was told.
    let said = until("the end", PATIENCE, || async {
        let said = lines(&operator)?;
        let gone = said
            .iter()
            .filter(|line| line["message"] == "delete service");
        Ok(if gone.count() == 3 {
            Seen::Done(said)
        } else {
            Seen::NotYet(operator.log()?)
        })
    })
    .await?;
    let told = said.iter().filter(|line| line["phase"] == "Succeeded");
    ensure!(told.count() == 1, "{said:?}");
    let replicas = ["Scheduler 0", "Worker 0", "Worker 1"];
    let named = |attempts: &[&str]| -> BTreeSet<String> {
        let of = |attempt: &&str| {
            let attempt = attempt.to_string();
            replicas.map(|replica| {
                let object = replica.to_lowercase().replace(' ', "-");
                format!("{replica}{attempt} digits-{object}")
            })
        };
        attempts.iter().flat_map(of).collect()
    };
    let created = about(&said, "create pod", &["role", "index", "attempt", "object"])?;
    ensure!(created == named(&[" 0.0", " 1.0"]), "{created:?}");
    for deed in ["create service", "delete pod", "delete service"] {
        let done = about(&said, deed, &["role", "index", "object"])?;
        ensure!(done == named(&[""]), "{deed}: {done:?}");
    }

    let looks = |count: f64| {
        let series = "mxjob_reconcile_duration_seconds_count";
        scraped(metrics, "looks", move |scrape| {
            scrape.value(series) >= Some(count)
        })
    };
    let before = looks(1.0)
        .await?
        .value("mxjob_reconcile_duration_seconds_count");
    for count in 1..=3 {
        let label = json!({"metadata": {"labels": {"seen": count.to_string()}}});
        let label = Patch::Merge(&label);
        bench
            .jobs
            .patch("digits", &PatchParams::default(), &label)
            .await?;
        looks(before.unwrap_or_default() + f64::from(count)).await?;
    }
    let after = lines(&operator)?;
    ensure!(after == said, "{:?}", after.get(said.len()..));
    Ok(())
}
