//! The operator is killed after every single write of a job's life, and another one takes over.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::bench::{Bench, Operator, PATIENCE, training, with};
use anyhow::{Context as _, Result, ensure};
use e2e::deadline::until;
use e2e::{ControlPlane, ScriptedKubelet};
use futures::{StreamExt as _, TryStreamExt as _};
use kube::ResourceExt as _;
use kube::api::ListParams;
use serde_json::{Value, json};

/// Lives at the same time, each with an operator of its own.
const SIDE_BY_SIDE: usize = 6;

/// The audit log from some moment on.
struct Tail {
    file: File,
    rest: String,
}

impl Tail {
    fn of(plane: &ControlPlane) -> Result<Self> {
        let mut file = File::open(plane.folder().join("audit.log"))?;
        file.seek(SeekFrom::End(0))?;
        Ok(Self {
            file,
            rest: String::new(),
        })
    }

    /// How many writes of an operator in the namespace came since the last look.
    fn writes(&mut self, namespace: &str) -> Result<usize> {
        let mut bytes = Vec::new();
        self.file.read_to_end(&mut bytes)?;
        self.rest.push_str(&String::from_utf8_lossy(&bytes));
        let end = self.rest.rfind('\n').map_or(0, |end| end + 1);
        let complete: String = self.rest.drain(..end).collect();
        let lines = complete.lines().filter(|line| line.contains(namespace));
        let events = lines
            .map(serde_json::from_str)
            .collect::<Result<Vec<Value>, _>>()?;
        let is_write = |event: &&Value| {
            let agent = event["userAgent"].as_str().unwrap_or_default();
            agent.starts_with("mxjob/")
                && event["objectRef"]["namespace"] == namespace
                && ["create", "patch", "update", "delete"]
                    .iter()
                    .any(|verb| event["verb"] == *verb)
        };
        Ok(events.iter().filter(is_write).count())
    }
}

/// A job of 1 + 2 + 2 replicas whose second worker fails once, driven to its end.
async fn life(bench: &Bench) -> Result<()> {
    let kubelet = ScriptedKubelet::run_all(bench.client.clone(), &bench.namespace);
    let policy = json!({"failurePolicy": {"maxRestarts": 3}});
    bench
        .create(&with(training("digits", 2, 2), policy))
        .await?;
    bench.phase("digits", "Running").await?;
    kubelet.fail("digits-worker-1", 1).await?;
    bench.restarted("digits", 1).await?;
    until("five pods of the second life", PATIENCE, || async {
        let pods = bench.pods.list(&ListParams::default()).await?.items;
        let second = pods.iter().filter(|pod| {
            let attempt = pod.annotations().get("mxjob.kubeflow.org/attempt");
            attempt.is_some_and(|attempt| attempt.starts_with("1."))
        });
        let run = second.filter(|pod| {
            let status = pod.status.as_ref();
            status.and_then(|status| status.phase.as_deref()) == Some("Running")
        });
        Ok(run.count() == 5)
    })
    .await?;
    for pod in ["worker-0", "worker-1", "scheduler-0"] {
        kubelet.succeed(&format!("digits-{pod}")).await?;
    }
    let status = bench
        .phase("digits", "Succeeded")
        .await?
        .status
        .unwrap_or_default();
    ensure!(
        (status.restarts, status.counted_restarts) == (Some(1), Some(1)),
        "one restart of the job, counted: {status:?}"
    );
    // The servers still ran: they are cleaned up, and the services.
    bench.pods(3).await?;
    until("no services", PATIENCE, || async {
        Ok(bench
            .services
            .list(&ListParams::default())
            .await?
            .items
            .is_empty())
    })
    .await
}

/// A life in which the operator is killed after its write number `kill_after`; how many writes there
/// were before that, or in all.
async fn run(plane: &'static ControlPlane, kill_after: usize) -> Result<usize> {
    let bench = Bench::new(plane, &format!("restarts-{kill_after}")).await?;
    let mut tail = Tail::of(plane)?;
    let over = AtomicBool::new(false);
    let watch = async {
        let mut operator = Operator::start(plane, &bench.namespace)?;
        let mut writes = 0;
        let mut killed = false;
        while !over.load(Ordering::Relaxed) {
            writes += tail.writes(&bench.namespace)?;
            if writes >= kill_after && !killed {
                operator.kill()?;
                operator = Operator::start(plane, &bench.namespace)?;
                killed = true;
            }
            // Looks for the next write; nothing hangs on how often.
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        drop(operator);
        Ok::<_, anyhow::Error>(writes)
    };
    let live = async {
        let result = life(&bench).await;
        over.store(true, Ordering::Relaxed);
        result
    };
    let (writes, lived) = tokio::join!(watch, live);
    lived.with_context(|| format!("killed after write {kill_after}"))?;
    one_pod_a_life(&bench, plane).with_context(|| format!("killed after write {kill_after}"))?;
    writes
}

/// No pod was made twice in one life: of each name there were two, one in each life.
fn one_pod_a_life(bench: &Bench, plane: &ControlPlane) -> Result<()> {
    let mut made = BTreeMap::<String, usize>::new();
    for event in plane.audit_log(&bench.namespace)? {
        let (object, code) = (
            &event["objectRef"],
            event["responseStatus"]["code"].as_u64(),
        );
        if object["namespace"] == *bench.namespace
            && object["resource"] == "pods"
            && object["subresource"].is_null()
            && event["verb"] == "create"
            && code.is_some_and(|code| code < 300)
        {
            *made
                .entry(object["name"].as_str().unwrap_or_default().to_owned())
                .or_default() += 1;
        }
    }
    ensure!(
        made.len() == 5 && made.values().all(|times| *times <= 2),
        "{made:?}"
    );
    Ok(())
}

// contract: 11.6
// defect: D10
#[tokio::test]
async fn a_job_ends_as_declared_whichever_write_was_the_last_of_its_operator() -> Result<()> {
    let (_, plane) = Bench::shared("restarts").await?;
    let all = run(plane, usize::MAX).await?;
    println!("{all} writes in an undisturbed life");
    ensure!(all > 25, "{all}");
    let lives = futures::stream::iter(1..=all).map(|write| run(plane, write));
    let _writes: Vec<usize> = lives.buffer_unordered(SIDE_BY_SIDE).try_collect().await?;
    Ok(())
}
