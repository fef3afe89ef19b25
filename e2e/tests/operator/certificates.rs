//! The webhook's certificate, which operators share by a Secret, while jobs are read at an older version.
//! Five rotations by default, each of which has the API server read its definitions anew; more by
//! `MXJOB_ROTATIONS=100`.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use e2e::deadline::{Seen, until};
use e2e::{ControlPlane, http, ports};
use k8s_openapi::api::core::v1::Secret;
use kube::api::{Api, DeleteParams, Patch, PatchParams};
use rcgen::{CertificateParams, KeyPair, date_time_ymd};
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio::time::{interval, sleep};

use crate::bench::{Bench, Operator, PATIENCE, at, converts, training};
use crate::facts::said_once;

const SECRET: &str = "mxjob-webhook";
const RATE: u32 = 20;

/// Takes a connection to one of several operators, in turns, as a Service does.
async fn front(behind: [SocketAddr; 2]) -> Result<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    tokio::spawn(async move {
        let mut turns = behind.into_iter().cycle();
        while let Ok((mut theirs, _)) = listener.accept().await {
            let next = turns.next();
            tokio::spawn(async move {
                if let Some(next) = next
                    && let Ok(mut ours) = TcpStream::connect(next).await
                {
                    // Either side ends it as it likes.
                    let _ = tokio::io::copy_bidirectional(&mut theirs, &mut ours).await;
                }
            });
        }
    });
    Ok(address)
}

/// Two operators behind one address, and a job.
struct Pair {
    bench: Bench,
    operators: [Operator; 2],
    secrets: Api<Secret>,
    _plane: ControlPlane,
}

impl Pair {
    async fn start(prefix: &str, lifetime: &str) -> Result<Self> {
        // A control plane of its own: who converts is of all namespaces.
        let (bench, plane) = Bench::own(prefix).await?;
        let addresses = [ports::free()?, ports::free()?];
        let addresses = addresses.map(|port| SocketAddr::from(([127, 0, 0, 1], port)));
        let url = format!("https://{}", front(addresses).await?);
        let start = |address: SocketAddr| {
            let address = address.to_string();
            let arguments = [
                ["--webhook-bind-address", &address],
                ["--webhook-url", &url],
                ["--webhook-certificate-lifetime", lifetime],
            ];
            Operator::start_beside(
                &plane.kubeconfig(),
                &bench.namespace,
                arguments.as_flattened(),
            )
        };
        // Both at once: one of them makes the certificate.
        let operators = [start(addresses[0])?, start(addresses[1])?];
        for operator in &operators {
            operator.says("caches are complete").await?;
        }
        bench.create(&training("digits", 1, 1)).await?;
        converts(&bench.client, &bench.namespace).await?;
        let secrets = Api::namespaced(bench.client.clone(), &bench.namespace);
        Ok(Self {
            bench,
            operators,
            secrets,
            _plane: plane,
        })
    }

    /// What is kept, each part in base64.
    async fn kept(&self) -> Result<Value> {
        let secret = self.secrets.get_opt(SECRET).await?;
        Ok(secret.map_or(Value::Null, |secret| json!(secret.data)))
    }

    /// Waits until this is kept.
    async fn keeps(&self, what: &str, wanted: impl Fn(&Value) -> bool) -> Result<Value> {
        until(what, PATIENCE, || async {
            let kept = self.kept().await?;
            Ok(if wanted(&kept) {
                Seen::Done(kept)
            } else {
                let names = kept.as_object().map(|kept| kept.keys().cloned().collect());
                let names: Vec<String> = names.unwrap_or_default();
                Seen::NotYet(names.join(" "))
            })
        })
        .await
    }

    async fn change(&self, change: &Value) -> Result<()> {
        let how = PatchParams::default();
        self.secrets
            .patch(SECRET, &how, &Patch::Merge(change))
            .await?;
        Ok(())
    }
}

/// Somebody who reads the job at an older version all the time.
pub(crate) struct Reader {
    reads: Arc<Mutex<(u32, Vec<String>)>>,
    task: JoinHandle<()>,
}

impl Reader {
    pub(crate) fn start(bench: &Bench) -> Self {
        let jobs = at(&bench.client, &bench.namespace, "v1beta1");
        let reads: Arc<Mutex<(u32, Vec<String>)>> = Arc::default();
        let counted = reads.clone();
        let task = tokio::spawn(async move {
            let mut turns = interval(Duration::from_secs(1) / RATE);
            loop {
                turns.tick().await;
                let (jobs, counted) = (jobs.clone(), counted.clone());
                tokio::spawn(async move {
                    let read = jobs.get("digits").await;
                    let mut counted = counted.lock().unwrap_or_else(PoisonError::into_inner);
                    counted.0 += 1;
                    counted.1.extend(read.err().map(|error| error.to_string()));
                });
            }
        });
        Self { reads, task }
    }

    /// How many reads there were; an error if one has failed.
    pub(crate) async fn stop(self) -> Result<u32> {
        self.task.abort();
        sleep(Duration::from_secs(1)).await;
        let reads = self.reads.lock().unwrap_or_else(PoisonError::into_inner);
        ensure!(reads.1.is_empty(), "of {}: {:#?}", reads.0, reads.1);
        Ok(reads.0)
    }
}

/// How many conversions an operator was asked for.
async fn conversions(operator: &Operator) -> Result<u32> {
    let (_, _, metrics) = http::get(operator.address("metrics").await?, "/metrics").await?;
    let mut lines = metrics.lines();
    let count = lines.find_map(|line| line.strip_prefix("mxjob_conversion_reviews_total "));
    Ok(count.context("no such metric")?.parse()?)
}

// contract: 11.23
#[tokio::test]
async fn rotations_fail_no_conversion() -> Result<()> {
    let rotations = std::env::var("MXJOB_ROTATIONS").ok();
    let rotations: u32 = rotations.map_or(Ok(5), |text| text.parse())?;
    let pair = Pair::start("rotations", "60s").await?;
    let reader = Reader::start(&pair.bench);
    let mut seen = BTreeSet::new();
    let renew = json!({"metadata": {"annotations": {"mxjob.kubeflow.org/renew": ""}}});
    for _ in 0..rotations {
        let whole = |kept: &Value| kept["tls.crt"].is_string() && kept["next-tls.crt"].is_null();
        let before = pair.keeps("a certificate", whole).await?["tls.crt"].clone();
        seen.insert(before.to_string());
        pair.change(&renew).await?;
        let other = |kept: &Value| whole(kept) && kept["tls.crt"] != before;
        seen.insert(pair.keeps("the next", other).await?["tls.crt"].to_string());
    }
    let reads = reader.stop().await?;
    ensure!(seen.len() > usize::try_from(rotations)?, "{}", seen.len());
    ensure!(reads > rotations, "{reads}");
    for operator in &pair.operators {
        let log = operator.log()?;
        let shown = log.matches("the webhook shows another certificate").count();
        // One that is slower than the other may pass some over.
        ensure!(shown >= usize::try_from(rotations / 2)?, "{shown}: {log}");
        ensure!(!log.contains("is of no use"), "{log}");
        ensure!(conversions(operator).await? > rotations / 2);
    }
    Ok(())
}

/// A certificate of long ago, with its key, as its own CA.
fn expired() -> Result<Value> {
    let mut params = CertificateParams::new(["127.0.0.1".to_owned()])?;
    params.not_before = date_time_ymd(2020, 1, 1);
    params.not_after = date_time_ymd(2021, 1, 1);
    let key = KeyPair::generate()?;
    let certificate = params.self_signed(&key)?.pem();
    let key = key.serialize_pem();
    Ok(json!({"stringData": {"ca.crt": certificate, "tls.crt": certificate, "tls.key": key}}))
}

// contract: 11.24
#[tokio::test]
async fn a_secret_heals_and_no_conversion_fails_meanwhile() -> Result<()> {
    let pair = Pair::start("heals", "200s").await?;
    let good = pair.kept().await?;
    ensure!(good["tls.crt"].is_string() && good["next-tls.crt"].is_null());
    let reader = Reader::start(&pair.bench);
    let rubbish = json!({"stringData": {"tls.crt": "rubbish"}});
    for (what, change) in [
        ("half-written", json!({"data": {"tls.key": null}})),
        ("no PEM", rubbish),
        ("expired", expired()?),
        ("emptied", json!({"data": null})),
        ("deleted", Value::Null),
    ] {
        if change.is_null() {
            pair.secrets
                .delete(SECRET, &DeleteParams::default())
                .await?;
        } else {
            pair.change(&change).await?;
        }
        let what = format!("{what}: the same certificate again");
        pair.keeps(&what, |kept| *kept == good).await?;
    }

    // Somebody else's.
    pair.secrets
        .delete(SECRET, &DeleteParams::default())
        .await?;
    pair.keeps("the same again", |kept| *kept == good).await?;
    let foreign = json!({"metadata": {"labels": null}, "stringData": {"tls.crt": "somebody's", "password": "1"}});
    pair.change(&foreign).await?;
    for operator in &pair.operators {
        operator
            .says("tls.crt is not PEM of what it should be, and it is somebody else's, so it is not written")
            .await?;
    }
    let theirs = pair.secrets.get(SECRET).await?.metadata.resource_version;
    sleep(Duration::from_secs(6)).await;
    for operator in &pair.operators {
        said_once(operator, "and it is somebody else's")?;
    }
    let now = pair.secrets.get(SECRET).await?.metadata.resource_version;
    ensure!(theirs == now, "it was written");
    pair.secrets
        .delete(SECRET, &DeleteParams::default())
        .await?;
    pair.keeps("the same again", |kept| *kept == good).await?;
    ensure!(reader.stop().await? > 0);
    Ok(())
}
