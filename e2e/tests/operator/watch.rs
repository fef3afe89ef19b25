//! Watches that break.

use crate::bench::{Bench, Operator, PATIENCE, training, with};
use crate::facts::{all_run, lines, made, succeed, told_once};
use anyhow::{Context as _, Result, ensure};
use e2e::ScriptedKubelet;
use e2e::deadline::until;
use e2e::proxy::{Cut, Proxy};
use serde_json::json;

/// What is watched, and by how many watches: pods and services of older operators have their own.
const FOLLOWED: [(&str, usize); 4] = [
    ("mxjobs", 1),
    ("pods", 2),
    ("services", 2),
    ("configmaps", 1),
];

/// Ends the watches of that resource and waits until the operator watches again.
async fn cut(proxy: &Proxy, resource: &str, count: usize, how: Cut) -> Result<()> {
    let watches = || {
        let asked = proxy.asked();
        let watches = asked
            .iter()
            .filter(|asked| asked.verb == "watch" && asked.resource == resource);
        watches.count()
    };
    let what = format!("a watch of {resource}");
    until(&what, PATIENCE, || async { Ok(watches() >= count) }).await?;
    let before = watches();
    proxy.cut(resource, how);
    until(
        &format!("another watch of {resource}"),
        PATIENCE,
        || async { Ok(watches() >= before + count) },
    )
    .await
}

/// A life in which every watch breaks before every event; how often the log says `text`.
async fn survives(prefix: &str, how: Cut, text: &str) -> Result<usize> {
    let (bench, plane) = Bench::shared(prefix).await?;
    let proxy = Proxy::start(plane).await?;
    let operator = Operator::start_through(&proxy, &bench.namespace)?;
    operator.says("caches are complete").await?;
    let kubelet = ScriptedKubelet::run_all(bench.client.clone(), &bench.namespace);
    let cut_all = async || {
        let cuts = FOLLOWED.map(|(resource, count)| cut(&proxy, resource, count, how));
        futures::future::try_join_all(cuts).await
    };
    cut_all().await?;
    let policy = json!({"failurePolicy": {"maxRestarts": 3}});
    bench
        .create(&with(training("digits", 1, 1), policy))
        .await?;
    all_run(&bench, "digits", 3).await?;
    bench.phase("digits", "Running").await?;
    cut_all().await?;
    // While the watch of pods is away.
    proxy.cut("pods", how);
    kubelet.fail("digits-worker-0", 1).await?;
    bench.restarted("digits", 1).await?;
    bench.phase("digits", "Running").await?;
    all_run(&bench, "digits", 3).await?;
    succeed(&kubelet, "digits", 1).await?;
    let status = bench.phase("digits", "Succeeded").await?.status;
    let status = status.context("no status")?;
    assert_eq!(
        (status.restarts, status.counted_restarts),
        (Some(1), Some(1))
    );
    let made = made(&bench, plane)?;
    ensure!(
        made.len() == 3 && made.values().all(|times| *times == 2),
        "one in each life: {made:?}"
    );
    told_once(&bench).await?;
    Ok(lines(&operator, text)?.len())
}

#[tokio::test]
async fn a_watch_that_ends_is_begun_again_without_a_word() -> Result<()> {
    let said = survives("ends", Cut::Clean, "watch").await?;
    assert_eq!(said, 0, "servers end watches every few minutes");
    Ok(())
}

#[tokio::test]
async fn a_watch_that_breaks_in_mid_line_is_begun_again_and_said_once() -> Result<()> {
    let said = survives("breaks", Cut::HalfLine, " WARN ").await?;
    // Twice six, and pods once more.
    assert_eq!(said, 14);
    Ok(())
}

#[tokio::test]
async fn a_watch_that_is_too_old_is_replaced_by_a_list_and_said_once() -> Result<()> {
    let said = survives("gone", Cut::Gone, "the watch was too old").await?;
    assert_eq!(said, 14);
    Ok(())
}
