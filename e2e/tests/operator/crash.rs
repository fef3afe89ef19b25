//! The operator is killed, told to stop, started again.

use std::process::Command;
use std::time::{Duration, Instant};

use crate::bench::{Bench, Operator, PATIENCE, training};
use anyhow::{Context as _, Result, ensure};
use e2e::deadline::{Seen, until};
use e2e::kubelet::Behaviour;
use e2e::{ControlPlane, ScriptedKubelet, http};
use kube::api::ListParams;
use serde_json::json;

const WORKERS: u32 = 500;
/// With the scheduler.
const REPLICAS: usize = 501;

/// The most requests of a job that are under way when the server halts, and as many whose answers are not
/// in its log yet.
const UNDER_WAY: usize = 2 * 64;

/// Waits until the operator is in the middle of its work.
async fn some_pods(bench: &Bench, at_least: usize) -> Result<()> {
    until("the first pods", PATIENCE, || async {
        // No more of them: meanwhile others are made.
        let limit = u32::try_from(at_least)?;
        let some = bench.pods.list(&ListParams::default().limit(limit)).await?;
        Ok(some.items.len() >= at_least)
    })
    .await
}

// contract: 11.6
#[tokio::test]
async fn killed_in_mid_start_it_goes_on_where_it_was() -> Result<()> {
    let (bench, plane) = Bench::shared("killed").await?;
    let first = Operator::start(plane, &bench.namespace)?;
    first.says("caches are complete").await?;
    bench.create(&training("large", 0, WORKERS)).await?;
    some_pods(&bench, 10).await?;
    first.kill()?;
    let before = bench.pods.list(&ListParams::default()).await?.items;
    assert!(
        before.len() < REPLICAS,
        "killed too late: all pods are there"
    );

    let _second = Operator::start(plane, &bench.namespace)?;
    let after = bench.pods(REPLICAS).await?;
    let uids: Vec<_> = after.iter().map(|pod| &pod.metadata.uid).collect();
    assert!(before.iter().all(|pod| uids.contains(&&pod.metadata.uid)));
    let services = bench.services.list(&ListParams::default()).await?.items;
    assert_eq!(services.len(), REPLICAS);
    // The scheduler last: workers that run for 30 s longer are stopped.
    let kubelet = ScriptedKubelet::spawn(bench.client.clone(), &bench.namespace, |name, _| {
        if name.contains("scheduler") {
            return Behaviour::Run;
        }
        Behaviour::RunThenExit {
            after: Duration::from_secs(1),
            code: 0,
        }
    });
    until("the workers to end", PATIENCE, || async {
        let ended = ListParams::default().fields("status.phase=Succeeded");
        let ended = bench.pods.list(&ended).await?.items.len();
        Ok(if ended + 1 == REPLICAS {
            Seen::Done(())
        } else {
            Seen::NotYet(ended.to_string())
        })
    })
    .await?;
    kubelet.succeed("large-scheduler-0").await?;
    let status = bench.phase("large", "Succeeded").await?.status.unwrap();
    assert!(
        status
            .replica_statuses
            .values()
            .all(|role| role.restarts == 0),
        "{status:?}"
    );
    // Of what was under way when it was killed the audit log says that nobody took the answer.
    assert!(
        bench.writes(plane, "create", "pods")? <= REPLICAS,
        "no pod was made twice"
    );
    assert!(
        bench.writes(plane, "create", "services")? <= REPLICAS,
        "no service was made twice"
    );
    assert_eq!(bench.writes(plane, "delete", "pods")?, 0);
    Ok(())
}

// contract: 11.5
#[tokio::test]
async fn told_to_stop_in_mid_start_it_stops_in_good_order() -> Result<()> {
    let (bench, plane) = Bench::shared("told").await?;
    let mut operator = Operator::start(plane, &bench.namespace)?;
    operator.says("caches are complete").await?;
    bench.create(&training("large", 0, WORKERS)).await?;
    some_pods(&bench, 10).await?;
    // What is under way now stays so until the operator has been told.
    signal_apiserver(plane, "-STOP").await?;
    let answered =
        bench.writes(plane, "create", "pods")? + bench.writes(plane, "create", "services")?;
    operator.tell_to_stop()?;
    signal_apiserver(plane, "-CONT").await?;
    let start = Instant::now();
    let status = operator.end(Duration::from_secs(5)).await?;
    assert!(status.success(), "{status}");
    let made = there(&bench).await?;
    assert!(
        made.0 + made.1 <= answered + UNDER_WAY,
        "{answered} were made; it stopped {:?} later, with {made:?} pods and services",
        start.elapsed()
    );
    // It has waited for its answers: nothing of it is under way and comes later.
    until("an answer to every create", PATIENCE, || async {
        let answers = |resource| bench.writes(plane, "create", resource);
        let answered = (answers("pods")?, answers("services")?);
        Ok(if answered == made {
            Seen::Done(())
        } else {
            Seen::NotYet(format!("{answered:?} of {made:?}"))
        })
    })
    .await?;
    // Events are sent beside the work, and only for a while after its end.
    let mut requests = bench.requests_about(plane, "large")?;
    requests.retain(|event| event["objectRef"]["resource"] != json!("events"));
    let cut_off = requests
        .iter()
        .find(|event| event["responseStatus"]["code"] == json!(504));
    assert_eq!(cut_off, None, "it did not wait for an answer");
    assert_eq!(there(&bench).await?, made, "nothing comes after the end");
    Ok(())
}

/// Sends a signal to the apiserver.
async fn signal_apiserver(plane: &ControlPlane, signal: &str) -> Result<()> {
    let pids = plane.pids().await;
    let apiserver = pids.get(2).context("no apiserver")?.to_string();
    let status = Command::new("kill").args([signal, &apiserver]).status()?;
    ensure!(status.success(), "cannot send {signal}");
    Ok(())
}

/// How many pods and services there are.
async fn there(bench: &Bench) -> Result<(usize, usize)> {
    let all = ListParams::default();
    let (pods, services) = (bench.pods.list(&all), bench.services.list(&all));
    Ok((pods.await?.items.len(), services.await?.items.len()))
}

// contract: 11.5
#[tokio::test]
async fn idle_it_stops_at_once() -> Result<()> {
    let (bench, plane) = Bench::shared("idle").await?;
    let operator = Operator::start(plane, &bench.namespace)?;
    operator.says("caches are complete").await?;
    let status = operator.terminate(Duration::from_secs(1)).await?;
    assert!(status.success(), "{status}");
    Ok(())
}

#[tokio::test]
async fn an_outage_of_the_server_is_survived() -> Result<()> {
    let (bench, plane) = Bench::own("outage").await?;
    let operator = Operator::start(&plane, &bench.namespace)?;
    operator.says("caches are complete").await?;
    bench.create(&training("large", 0, WORKERS)).await?;
    some_pods(&bench, 10).await?;
    plane.stop_apiserver().await?;
    let before = bench.writes(&plane, "create", "pods")?;
    assert!(before < REPLICAS, "stopped too late: all pods are there");
    // Watches and creates have met the outage.
    operator.says("cannot watch, trying again").await?;
    operator.says(" refused namespace=").await?;
    plane.start_apiserver().await?;
    bench.pods(REPLICAS).await?;
    assert!(
        bench.writes(&plane, "create", "pods")? <= REPLICAS,
        "no pod was made twice"
    );
    assert_eq!(bench.writes(&plane, "delete", "pods")?, 0);
    Ok(())
}

// contract: 11.5, 11.9
#[tokio::test]
async fn a_server_that_hangs_holds_up_no_stop() -> Result<()> {
    let (bench, plane) = Bench::own("hangs").await?;
    let mut operator = Operator::start(&plane, &bench.namespace)?;
    operator.says("caches are complete").await?;
    let health = operator.address("health").await?;
    assert_eq!(http::get(health, "/readyz").await?.0, 200);
    bench.create(&training("large", 0, WORKERS)).await?;
    some_pods(&bench, 10).await?;
    signal_apiserver(&plane, "-STOP").await?;
    operator.tell_to_stop()?;
    let unready = until("the operator not to be ready", PATIENCE, || async {
        let (status, _, body) = http::get(health, "/readyz").await?;
        Ok((status, body.as_str()) == (503, "stopping"))
    })
    .await;
    let status = operator.end(Duration::from_secs(5)).await;
    signal_apiserver(&plane, "-CONT").await?;
    unready?;
    assert!(status?.success());

    let _second = Operator::start(&plane, &bench.namespace)?;
    bench.pods(REPLICAS).await?;
    Ok(())
}
