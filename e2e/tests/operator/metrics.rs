//! What Prometheus and the kubelet read of the operator.

use std::collections::BTreeMap;
use std::net::{SocketAddr, TcpListener};
use std::time::Duration;

use crate::bench::{Bench, Operator, PATIENCE, training, with};
use anyhow::{Context, Result, ensure};
use e2e::deadline::{self, Seen};
use e2e::{ControlPlane, ScriptedKubelet, http};
use kube::ResourceExt;
use kube::api::DeleteParams;
use serde_json::json;

/// What a scrape says: the value of each series.
#[derive(Debug)]
pub(crate) struct Scrape {
    series: BTreeMap<String, f64>,
    text: String,
}

impl Scrape {
    async fn of(address: SocketAddr) -> Result<Self> {
        let (status, head, text) = http::get(address, "/metrics").await?;
        ensure!(status == 200, "{head}");
        ensure!(
            head.to_ascii_lowercase()
                .contains("content-type: application/openmetrics-text; version=1.0.0")
        );
        Self::parse(text)
    }

    /// Reads OpenMetrics as Prometheus does: every series belongs to a family that was described.
    fn parse(text: String) -> Result<Self> {
        let body = text.strip_suffix("# EOF\n").context("the end is missing")?;
        let mut families: BTreeMap<&str, &str> = BTreeMap::new();
        let mut series = BTreeMap::new();
        for line in body.lines() {
            if let Some(described) = line.strip_prefix("# TYPE ") {
                let (family, kind) = described.split_once(' ').context("no type")?;
                ensure!(families.insert(family, kind).is_none(), "{family} twice");
            } else if !line.starts_with("# HELP ") {
                let (key, value) = line.rsplit_once(' ').context("no value")?;
                let name = key.split('{').next().unwrap_or_default();
                let fits = families.iter().any(|(family, kind)| {
                    let suffixes: &[_] = match *kind {
                        "counter" => &["_total"],
                        "histogram" => &["_bucket", "_sum", "_count"],
                        _ => &[""],
                    };
                    let rest = name.strip_prefix(family);
                    rest.is_some_and(|rest| suffixes.contains(&rest))
                });
                ensure!(fits, "{name} is not described");
                let twice = series.insert(key.to_owned(), value.parse()?);
                ensure!(twice.is_none(), "{key} twice");
            }
        }
        Ok(Self { series, text })
    }

    pub(crate) fn value(&self, key: &str) -> Option<f64> {
        self.series.get(key).copied()
    }

    /// Created, deleted, successful, failed, restarted.
    fn facts(&self, bench: &Bench) -> [Option<f64>; 5] {
        ["created", "deleted", "successful", "failed", "restarted"].map(|fact| {
            self.value(&format!(
                r#"training_operator_jobs_{fact}_total{{job_namespace="{}",framework="mxnet"}}"#,
                bench.namespace
            ))
        })
    }

    fn requests(&self, verb: &str, resource: &str, code: u16) -> Option<f64> {
        self.value(&format!(
            r#"mxjob_api_requests_total{{verb="{verb}",resource="{resource}",code="{code}"}}"#
        ))
    }

    /// The phases that jobs are in.
    fn phases(&self) -> Vec<(&str, f64)> {
        let mut phases = Vec::new();
        for (key, count) in &self.series {
            let phase = key.strip_prefix(r#"mxjob_jobs{phase=""#);
            if let (Some(phase), true) = (phase, *count > 0.0) {
                phases.push((phase.trim_end_matches("\"}"), *count));
            }
        }
        phases
    }
}

/// Waits for a scrape of which that is true.
pub(crate) async fn scraped(
    address: SocketAddr,
    what: &str,
    is_so: impl Fn(&Scrape) -> bool,
) -> Result<Scrape> {
    deadline::until(what, PATIENCE, || async {
        let scrape = Scrape::of(address).await?;
        Ok(if is_so(&scrape) {
            Seen::Done(scrape)
        } else {
            Seen::NotYet(scrape.text)
        })
    })
    .await
}

/// Five jobs: one that succeeds, one that fails, one that loses a replica, one that starts over, and
/// one, last, that is deleted.
async fn live(bench: &Bench, kubelet: &ScriptedKubelet) -> Result<()> {
    let retried = json!({"runPolicy": {"backoffLimit": 5}});
    let mut replaces = with(training("earth", 0, 1), retried);
    replaces["spec"]["mxReplicaSpecs"]["Worker"]["restartPolicy"] = json!("ExitCode");
    let policy = json!({"failurePolicy": {"maxRestarts": 3}});
    for job in [
        training("mercury", 0, 1),
        training("venus", 0, 1),
        replaces,
        with(training("mars", 0, 1), policy),
    ] {
        bench.create(&job).await?;
        bench
            .phase(
                &job["metadata"]["name"].to_string().replace('"', ""),
                "Running",
            )
            .await?;
    }
    for pod in ["mercury-worker-0", "mercury-scheduler-0"] {
        kubelet.succeed(pod).await?;
    }
    bench.phase("mercury", "Succeeded").await?;
    kubelet.fail("venus-worker-0", 1).await?;
    bench.phase("venus", "Failed").await?;
    replace(bench, kubelet).await?;
    kubelet.fail("mars-worker-0", 1).await?;
    bench.restarted("mars", 1).await?;
    bench.phase("mars", "Running").await?;

    bench.create(&training("pluto", 0, 1)).await?;
    bench.phase("pluto", "Running").await?;
    bench.jobs.delete("pluto", &DeleteParams::default()).await?;
    Ok(())
}

/// The job that loses a replica does so, and has it again.
async fn replace(bench: &Bench, kubelet: &ScriptedKubelet) -> Result<()> {
    let worker = "earth-worker-0";
    let before = bench.pods.get(worker).await?.uid();
    kubelet.fail(worker, 137).await?;
    deadline::until("another pod", PATIENCE, || async {
        let pod = bench.pods.get_opt(worker).await?;
        Ok(pod.is_some_and(|pod| pod.uid() != before))
    })
    .await
}

// contract: 11.7, 11.8
#[tokio::test]
async fn each_fact_is_counted_once_also_when_the_operator_starts_again() -> Result<()> {
    let (bench, plane) = Bench::shared("metrics").await?;
    let operator = Operator::start(plane, &bench.namespace)?;
    let kubelet = ScriptedKubelet::run_all(bench.client.clone(), &bench.namespace);
    let metrics = operator.address("metrics").await?;
    live(&bench, &kubelet).await?;

    let deleted = |scrape: &Scrape| scrape.facts(&bench)[1] == Some(1.0);
    let scrape = scraped(metrics, "the deleted job to be counted", deleted).await?;
    let facts = [5.0, 1.0, 1.0, 1.0, 2.0].map(Some);
    assert_eq!(scrape.facts(&bench), facts, "{}", scrape.text);
    let phases = [("Failed", 1.0), ("Running", 2.0), ("Succeeded", 1.0)];
    assert_eq!(scrape.phases(), phases);
    // Two a job, one replaced, two of the job that started over.
    assert_eq!(scrape.value("mxjob_pods_created_total"), Some(13.0));
    assert_eq!(scrape.requests("create", "pods", 201), Some(13.0));
    assert_eq!(bench.writes(plane, "create", "pods")?, 13);
    assert_eq!(
        scrape.value("mxjob_job_start_latency_seconds_count"),
        Some(5.0)
    );
    let latency = scrape.value("mxjob_job_start_latency_seconds_sum");
    assert!(
        latency.is_some_and(|sum| sum > 0.0 && sum < 60.0),
        "{latency:?}"
    );
    let looks = scrape.value("mxjob_reconcile_duration_seconds_count");
    assert!(looks >= Some(20.0), "{looks:?}");
    assert_eq!(scrape.value("mxjob_leader"), Some(1.0));
    // Of its own, and of those that an older operator has left.
    assert_eq!(scrape.requests("watch", "pods", 200), Some(2.0));
    for name in ["mercury", "venus", "earth", "mars", "pluto"] {
        assert!(!scrape.text.contains(name), "{name} in {}", scrape.text);
    }

    operator.kill()?;
    let operator = Operator::start(plane, &bench.namespace)?;
    let metrics = operator.address("metrics").await?;
    let all_looked_at =
        |scrape: &Scrape| scrape.value("mxjob_reconcile_duration_seconds_count") >= Some(4.0);
    let scrape = scraped(metrics, "every job to be looked at", all_looked_at).await?;
    assert_eq!(scrape.facts(&bench), [Some(0.0); 5], "{}", scrape.text);
    assert_eq!(scrape.phases(), phases);
    assert_eq!(scrape.value("mxjob_pods_created_total"), Some(0.0));
    assert_eq!(
        scrape.value("mxjob_job_start_latency_seconds_count"),
        Some(0.0)
    );

    replace(&bench, &kubelet).await?;
    let restarted = |scrape: &Scrape| scrape.value("mxjob_pods_created_total") == Some(1.0);
    let scrape = scraped(metrics, "the replica to be replaced", restarted).await?;
    let facts = [0.0, 0.0, 0.0, 0.0, 1.0].map(Some);
    assert_eq!(scrape.facts(&bench), facts, "{}", scrape.text);
    Ok(())
}

// contract: 11.5, 11.9
#[tokio::test]
async fn it_is_ready_with_the_caches_and_stops_with_clients_connected() -> Result<()> {
    // A control plane of its own: one without the CRD.
    let plane = ControlPlane::start().await?;
    let bench = Bench::new(&plane, "ready").await?;
    let operator = Operator::start(&plane, &bench.namespace)?;
    operator
        .says("mxjob crds --api kubeflow.org | kubectl apply")
        .await?;
    let health = operator.address("health").await?;
    assert_eq!(http::get(health, "/healthz").await?.0, 200);
    let (status, _, body) = http::get(health, "/readyz").await?;
    assert_eq!((status, body.as_str()), (503, "caches are not complete"));
    let metrics = operator.address("metrics").await?;
    assert_eq!(Scrape::of(metrics).await?.value("mxjob_leader"), Some(0.0));

    plane
        .install_crds(&[mxjob_core::schema::crd(
            <mxjob_core::MxRole as mxjob_core::ReplicaRole>::TABLE,
        )])
        .await?;
    deadline::until("the operator to be ready", PATIENCE, || async {
        Ok(http::get(health, "/readyz").await?.0 == 200)
    })
    .await?;
    assert_eq!(http::get(health, "/metrics").await?.0, 404);
    assert_eq!(http::get(metrics, "/healthz").await?.0, 404);

    let _idle = [
        tokio::net::TcpStream::connect(health).await?,
        tokio::net::TcpStream::connect(metrics).await?,
    ];
    let status = operator.terminate(Duration::from_secs(5)).await?;
    assert!(status.success(), "{status}");
    assert!(http::get(health, "/healthz").await.is_err());
    Ok(())
}

// contract: 11.26
#[tokio::test]
async fn other_log_lines_are_asked_for_while_it_runs() -> Result<()> {
    let (bench, plane) = Bench::shared("log").await?;
    let operator = Operator::start(plane, &bench.namespace)?;
    let health = operator.address("health").await?;
    let (_, _, usual) = http::get(health, "/log").await?;
    let put = async |filter: &str| http::ask(health, "PUT", "/log", filter).await;
    let lines = || Ok::<_, anyhow::Error>(operator.log()?.matches(" DEBUG ").count());
    assert_eq!(lines()?, 0);
    let (status, _, now) = put("debug").await?;
    ensure!((status, now.contains("debug")) == (200, true), "{now}");
    bench.create(&training("told", 0, 1)).await?;
    operator.says(" DEBUG ").await?;

    let (status, _, why) = put("mxjob_operator=loud").await?;
    ensure!(
        (status, why.contains("mxjob_operator=loud")) == (400, true),
        "{why}"
    );
    assert_eq!(http::get(health, "/log").await?.2, now);
    assert_eq!(put("").await?.2, usual);
    let before = lines()?;
    bench.create(&training("untold", 0, 1)).await?;
    bench.pods(4).await?;
    assert_eq!(lines()?, before);
    Ok(())
}

// contract: 11.10
#[tokio::test]
async fn an_address_that_is_taken_is_named_and_0_means_none() -> Result<()> {
    let (bench, plane) = Bench::shared("address").await?;
    let taken = TcpListener::bind("127.0.0.1:0")?;
    let address = taken.local_addr()?.to_string();
    for flag in ["--metrics-bind-address", "--health-probe-bind-address"] {
        let arguments = ["--namespace", &bench.namespace, flag, &address];
        let mut operator = Operator::start_with(plane, &arguments)?;
        operator
            .says(&format!("{flag} {address}: Address already in use"))
            .await?;
        assert_eq!(operator.end(PATIENCE).await?.code(), Some(1));
    }
    let none = [
        "--metrics-bind-address",
        "0",
        "--health-probe-bind-address",
        "",
    ];
    let arguments = [&["--namespace", bench.namespace.as_str()], &none[..]].concat();
    let operator = Operator::start_with(plane, &arguments)?;
    operator.says("caches are complete").await?;
    assert!(!operator.log()?.contains("serving"), "{}", operator.log()?);
    Ok(())
}
