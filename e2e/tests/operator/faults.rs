//! Requests that go wrong on their way: conflicts, overload, errors before and after the write.

use std::time::{Duration, Instant};

use crate::bench::{Bench, Operator, PATIENCE, training, with};
use crate::facts::{all_run, lines, made, said_once, succeed, told_once};
use anyhow::{Context as _, Result, ensure};
use e2e::deadline::{Seen, until};
use e2e::proxy::{Asked, Fault, Proxy, Rule};
use e2e::{ControlPlane, ScriptedKubelet};
use futures::{StreamExt as _, TryStreamExt as _};
use kube::api::{Patch, PatchParams};
use serde_json::json;

/// Lives at the same time, each with a way to the server of its own.
const SIDE_BY_SIDE: usize = 3;
/// Requests in a row that go wrong.
const TIMES: usize = 3;
const RETRY_AFTER: Duration = Duration::from_secs(2);

/// What the operator writes in a life, and what it says when that goes wrong.
const WRITES: [(&str, &str, &str); 5] = [
    ("create", "services", " refused namespace="),
    ("create", "pods", " refused namespace="),
    ("delete", "pods", " refused namespace="),
    ("patch", "mxjobs/status", " status not written namespace="),
    ("create", "events", " event not sent, trying again "),
];

/// A job whose worker fails once, driven to its end.
async fn life(bench: &Bench, plane: &ControlPlane) -> Result<()> {
    let kubelet = ScriptedKubelet::run_all(bench.client.clone(), &bench.namespace);
    let policy = json!({"failurePolicy": {"maxRestarts": 3}});
    bench
        .create(&with(training("digits", 1, 1), policy))
        .await?;
    all_run(bench, "digits", 3).await?;
    bench.phase("digits", "Running").await?;
    kubelet.fail("digits-worker-0", 1).await?;
    bench.restarted("digits", 1).await?;
    bench.phase("digits", "Running").await?;
    all_run(bench, "digits", 3).await?;
    succeed(&kubelet, "digits", 1).await?;
    let status = bench.phase("digits", "Succeeded").await?.status;
    let status = status.context("no status")?;
    let restarts = (status.restarts, status.counted_restarts);
    ensure!(restarts == (Some(1), Some(1)), "{restarts:?}");
    // Of what took effect before it went wrong the audit log knows too.
    let made = made(bench, plane)?;
    ensure!(
        made.len() == 3 && made.values().all(|times| *times == 2),
        "one in each life: {made:?}"
    );
    told_once(bench).await
}

/// A life in which that write goes wrong some times in a row; all requests of it.
async fn survives(
    plane: &ControlPlane,
    (verb, resource): (&'static str, &'static str),
    fault: Fault,
    says: &str,
) -> Result<Vec<Asked>> {
    let bench = Bench::new(plane, "fault").await?;
    let proxy = Proxy::start(plane).await?;
    proxy.add(Rule::on(verb, resource).times(TIMES).fault(fault));
    let operator = Operator::start_through(&proxy, &bench.namespace)?;
    let lived = async {
        life(&bench, plane).await?;
        let said = lines(&operator, says)?;
        // Of writes that take effect the next is another one, and goes wrong in its own right.
        let each = resource == "mxjobs/status" && fault == Fault::After(500);
        let most = if each { TIMES } else { 1 };
        ensure!((1..=most).contains(&said.len()), "{}", operator.log()?);
        ensure!(
            lines(&operator, " ERROR ")?.is_empty(),
            "{}",
            operator.log()?
        );
        Ok(())
    };
    let context = || format!("{fault:?} on {verb} {resource}");
    lived.await.with_context(context)?;
    Ok(proxy.asked())
}

/// One life for every kind of write.
async fn all_survive(fault: Fault, conflict: Option<&str>) -> Result<Vec<Vec<Asked>>> {
    let (_, plane) = Bench::shared("faults").await?;
    let lives = futures::stream::iter(WRITES).map(|(verb, resource, says)| {
        let other = conflict.filter(|_| resource == "mxjobs/status");
        survives(plane, (verb, resource), fault, other.unwrap_or(says))
    });
    lives.buffered(SIDE_BY_SIDE).try_collect().await
}

// defect: D13
#[tokio::test]
async fn conflicts_are_tried_again() -> Result<()> {
    let conflict = Fault::Before {
        code: 409,
        retry_after: None,
    };
    all_survive(conflict, Some(" the job has changed meanwhile namespace=")).await?;
    Ok(())
}

// defect: D13
#[tokio::test]
async fn errors_before_the_write_are_tried_again() -> Result<()> {
    let error = Fault::Before {
        code: 500,
        retry_after: None,
    };
    all_survive(error, None).await?;
    Ok(())
}

#[tokio::test]
async fn of_errors_after_the_write_nothing_is_done_twice_and_nothing_is_lost() -> Result<()> {
    all_survive(Fault::After(500), None).await?;
    Ok(())
}

#[tokio::test]
async fn a_server_that_asks_for_a_pause_gets_it() -> Result<()> {
    let overload = Fault::Before {
        code: 429,
        retry_after: Some(RETRY_AFTER.as_secs()),
    };
    let lives = all_survive(overload, None).await?;
    for (life, (verb, resource, _)) in lives.iter().zip(WRITES) {
        let is_struck = |asked: &&Asked| asked.verb == verb && asked.resource == resource;
        let struck: Vec<_> = life.iter().filter(is_struck).take(TIMES).collect();
        ensure!(struck.len() == TIMES, "{verb} {resource}: {struck:?}");
        for asked in struck {
            // The lease waits for nobody.
            let others = life.iter().filter(|other| other.resource != "leases");
            let later = others.filter(|other| other.at > asked.at);
            let waits = |other: &Asked| other.at.duration_since(asked.at);
            let same = |other: &&Asked| is_struck(other) && other.name == asked.name;
            let again = later.clone().find(same).map(waits);
            ensure!(again.is_none_or(|wait| wait >= RETRY_AFTER), "{again:?}");
            // What was under way when the answer came does not count.
            let early = later
                .clone()
                .find(|other| (RETRY_AFTER / 2..RETRY_AFTER).contains(&waits(other)));
            ensure!(early.is_none(), "{asked:?}, and {early:?}");
        }
    }
    Ok(())
}

#[tokio::test]
async fn a_status_that_may_wait_is_tried_again_after_growing_waits() -> Result<()> {
    let (bench, plane) = Bench::shared("patient").await?;
    let proxy = Proxy::start(plane).await?;
    let operator = Operator::start_through(&proxy, &bench.namespace)?;
    let _kubelet = ScriptedKubelet::run_all(bench.client.clone(), &bench.namespace);
    bench.create(&training("digits", 1, 1)).await?;
    let ready = async |ready: &str| {
        until(&format!("{ready} to be ready"), PATIENCE, || async {
            Ok(crate::facts::status_field(&bench, "digits", "/ready").await? == ready)
        })
        .await
    };
    ready("3/3").await?;
    proxy.add(Rule::on("patch", "mxjobs/status").times(4));
    let before = proxy.asked().len();
    let unready = json!({"status": {"conditions": [{"type": "Ready", "status": "False"}]}});
    let (how, unready) = (PatchParams::default(), Patch::Strategic(unready));
    bench
        .pods
        .patch_status("digits-server-0", &how, &unready)
        .await?;
    ready("2/3").await?;
    let asked = proxy.asked();
    let later = asked.iter().skip(before);
    let patches: Vec<_> = later
        .filter(|one| one.resource == "mxjobs/status")
        .collect();
    let gaps: Vec<_> = patches
        .windows(2)
        .filter_map(|pair| Some(pair.last()?.at.duration_since(pair.first()?.at)))
        .collect();
    // 0.5, 1, 2, 4 s, less a quarter at most, and each time what debounces them.
    ensure!(gaps.len() == 4, "{gaps:?}");
    ensure!(gaps.last() >= Some(&Duration::from_secs(3)), "{gaps:?}");
    said_once(&operator, " status not written namespace=")
}

/// Another job lives while the first cannot start.
async fn another_lives(prefix: &str, fault: Fault, times: usize) -> Result<()> {
    let (bench, plane) = Bench::shared(prefix).await?;
    let proxy = Proxy::start(plane).await?;
    let operator = Operator::start_through(&proxy, &bench.namespace)?;
    operator.says("caches are complete").await?;
    let rule = Rule::on("create", "pods").named("digits-");
    proxy.add(rule.times(times).fault(fault));
    let kubelet = ScriptedKubelet::run_all(bench.client.clone(), &bench.namespace);
    bench.create(&training("digits", 1, 1)).await?;
    bench.create(&training("other", 1, 1)).await?;
    all_run(&bench, "other", 3).await?;
    succeed(&kubelet, "other", 1).await?;
    bench.phase("other", "Succeeded").await?;
    let made = made(&bench, plane)?;
    ensure!(
        !made.keys().any(|name| name.starts_with("digits-")),
        "{made:?}"
    );

    all_run(&bench, "digits", 3).await?;
    succeed(&kubelet, "digits", 1).await?;
    bench.phase("digits", "Succeeded").await?;
    for job in ["digits", "other"] {
        crate::facts::each_pod_once(&bench, plane, job)?;
    }
    if fault != Fault::Delay(SLOW) {
        said_once(&operator, " refused namespace=")?;
    }
    Ok(())
}

const SLOW: Duration = Duration::from_secs(8);

#[tokio::test]
async fn a_job_that_is_refused_holds_up_no_other() -> Result<()> {
    let error = Fault::Before {
        code: 500,
        retry_after: None,
    };
    // Three pods in each of five looks, with waits of 0.5, 1, 2, 4, 8 s after them.
    another_lives("held-up", error, 15).await
}

#[tokio::test]
async fn a_job_whose_requests_are_slow_holds_up_no_other() -> Result<()> {
    another_lives("slow", Fault::Delay(SLOW), 3).await
}

// contract: 11.31
#[tokio::test]
async fn edits_that_come_between_make_the_wait_after_a_failure_no_longer() -> Result<()> {
    let (bench, plane) = Bench::shared("between").await?;
    let proxy = Proxy::start(plane).await?;
    let refused = |code| {
        let fault = Fault::Before {
            code,
            retry_after: None,
        };
        Rule::on("patch", "mxjobs/status")
            .named("digits")
            .fault(fault)
    };
    let operator = Operator::start_through(&proxy, &bench.namespace)?;
    operator.says("caches are complete").await?;
    // A wait after eight failures in a row is half a minute to a minute.
    proxy.add(refused(409).times(7));
    bench.create(&training("digits", 0, 1)).await?;
    let met = || {
        let asked = proxy.asked();
        let ours = |asked: &&Asked| asked.resource == "mxjobs/status" && asked.name == "digits";
        asked.iter().filter(ours).count()
    };
    for round in 1..=7 {
        until("another conflict", PATIENCE, || async {
            Ok(if met() >= round {
                Seen::Done(())
            } else {
                Seen::NotYet(met().to_string())
            })
        })
        .await?;
        // The news that follows a conflict.
        if round == 7 {
            proxy.add(refused(500).times(1));
        }
        let note = json!({"metadata": {"annotations": {"round": round.to_string()}}});
        let plain = PatchParams::default();
        bench
            .jobs
            .patch("digits", &plain, &Patch::Merge(note))
            .await?;
    }
    let start = Instant::now();
    bench.phase("digits", "Created").await?;
    let waited = start.elapsed();
    ensure!(waited < Duration::from_secs(15), "{waited:?}");
    Ok(())
}
