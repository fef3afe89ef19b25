//! The API server has too much to do: for half a minute the operator hears nothing but 429.

use std::time::Duration;

use anyhow::{Result, ensure};
use e2e::ScriptedKubelet;
use e2e::proxy::{Cut, Fault, Proxy, Rule};
use tokio::time::Instant;

use crate::bench::{Bench, Operator, PATIENCE, training};
use crate::facts::{all_run, each_pod_once, lines, said_once, succeed};

const BUSY: Duration = Duration::from_secs(30);
const RETRY_AFTER: Duration = Duration::from_secs(1);
const FOLLOWED: [&str; 4] = ["mxjobs", "pods", "services", "configmaps"];

/// Each request is refused from now on, and no watch lasts.
fn overload(proxy: &Proxy) {
    proxy.add(Rule::all().fault(Fault::Before {
        code: 429,
        retry_after: Some(RETRY_AFTER.as_secs()),
    }));
    for resource in FOLLOWED {
        proxy.cut(resource, Cut::Clean);
    }
}

// contract: 11.35
#[tokio::test]
async fn it_waits_as_long_as_it_is_asked_to_and_misses_nothing() -> Result<()> {
    let (bench, plane) = Bench::shared("busy").await?;
    let proxy = Proxy::start(plane).await?;
    let arguments = ["--namespace", &bench.namespace, "--leader-elect=false"];
    let operator = Operator::start_by(&proxy, &arguments)?;
    let kubelet = ScriptedKubelet::run_all(bench.client.clone(), &bench.namespace);
    bench.create(&training("digits", 1, 2)).await?;
    bench.phase("digits", "Running").await?;

    let before = proxy.asked().len();
    overload(&proxy);
    succeed(&kubelet, "digits", 2).await?;
    bench.create(&training("other", 0, 1)).await?;
    tokio::time::sleep(BUSY).await;
    let asked = proxy.asked().split_off(before);
    proxy.mend();

    bench.phase("digits", "Succeeded").await?;
    all_run(&bench, "other", 2).await?;
    for job in ["digits", "other"] {
        each_pod_once(&bench, plane, job)?;
    }
    for resource in FOLLOWED {
        let lost = format!("cannot watch, trying again resource=\"{resource}\"");
        said_once(&operator, &lost)?;
    }
    // Of the others there are two watches each.
    for resource in ["mxjobs", "configmaps"] {
        let times = asked.iter().filter(|one| one.resource == resource);
        let times: Vec<_> = times.map(|one| one.at).collect();
        let mut waits = times.windows(2).filter_map(|two| match two {
            [one, next] => Some(next.duration_since(*one)),
            _ => None,
        });
        ensure!(times.len() > 3, "{times:?}");
        ensure!(
            waits.all(|wait| wait >= RETRY_AFTER),
            "{resource}: {times:?}"
        );
    }
    let unwritten = lines(&operator, " status not written namespace=")?;
    ensure!(unwritten.len() <= 1, "{unwritten:#?}");
    let errors = lines(&operator, " ERROR ")?;
    ensure!(errors.is_empty(), "{errors:#?}");
    Ok(())
}

// contract: 11.35
#[tokio::test]
async fn a_leader_that_cannot_renew_ends_and_the_next_goes_on_where_it_was() -> Result<()> {
    let (bench, plane) = Bench::shared("busy-lease").await?;
    let proxy = Proxy::start(plane).await?;
    let start = || Operator::start_rival(&proxy.kubeconfig(), &bench.namespace, &[]);
    let mut operator = start()?;
    let kubelet = ScriptedKubelet::run_all(bench.client.clone(), &bench.namespace);
    bench.create(&training("digits", 1, 2)).await?;
    bench.phase("digits", "Running").await?;

    let begin = Instant::now();
    overload(&proxy);
    succeed(&kubelet, "digits", 2).await?;
    bench.create(&training("other", 0, 1)).await?;
    let status = operator.end(PATIENCE).await?;
    ensure!(status.code() == Some(1), "{status}");
    said_once(&operator, "cannot renew the lease, trying again")?;
    // As the kubelet does.
    let next = start()?;
    tokio::time::sleep_until(begin + BUSY).await;
    said_once(&next, "cannot look for other operators, trying again")?;
    proxy.mend();
    next.says("this operator leads").await?;

    bench.phase("digits", "Succeeded").await?;
    all_run(&bench, "other", 2).await?;
    for job in ["digits", "other"] {
        each_pod_once(&bench, plane, job)?;
    }
    Ok(())
}
