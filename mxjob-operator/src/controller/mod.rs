//! `mxjob operator`: the planner against Kubernetes.
//!
//! Nothing is decided here. Watches keep small views of jobs and of what is made for them; whatever changes
//! puts its job into a queue; a worker asks the planner about the job and carries out the answer.

mod args;
mod backoff;
mod children;
mod client;
mod cluster;
mod crd;
mod dispatch;
mod execute;
mod home;
mod key;
mod limit;
mod metrics;
mod queue;
mod raw;
mod reconcile;
mod recorder;
mod server;
mod shared;
mod shelf;
mod stop;
mod stranger;
mod takeover;
mod throttle;
mod unsaid;
mod watch;
mod world;
mod write;

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use futures::future;
use kube::Client;
use mxjob_core::{RoleTable, conversion};

pub(crate) use args::{LogFormat, OperatorArgs};
pub(crate) use stop::Stop;

pub(crate) use args::namespace;

use crate::manifest::ConfigError;
use crate::telemetry;
use crate::webhook::{self, IdentityError, Reach, Webhook};
use client::ClientError;
use cluster::Cluster;
use home::Home;
use metrics::Metrics;
use reconcile::Operator;
use recorder::Recorder;
use server::{Answers, BindError};
use shared::Shared;
use throttle::Throttle;
use world::World;

/// For events that are still to be sent when the operator stops.
const LAST_WORDS: Duration = Duration::from_secs(1);
/// For connections and watches, which nobody waits for.
const SHUTDOWN: Duration = Duration::from_millis(100);

/// Why the operator cannot work.
#[derive(Debug, thiserror::Error)]
enum OperatorError {
    /// The system gives no threads or signals.
    #[error("cannot start: {0}")]
    Start(#[from] std::io::Error),
    /// An address is taken, or not this machine's.
    #[error(transparent)]
    Bind(#[from] BindError),
    /// The configuration file cannot be used.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// There is no way to a cluster.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// The webhook cannot show who it is.
    #[error(transparent)]
    Identity(#[from] IdentityError),
    /// Somebody else looks after the jobs.
    #[error(transparent)]
    Rivals(#[from] takeover::Rivals),
    /// The CustomResourceDefinition was to be installed and could not be.
    #[error(transparent)]
    Crd(#[from] crd::CrdError),
}

/// Runs the operator until SIGTERM or SIGINT: 0 then, 1 when it cannot work at all.
pub(crate) fn run(args: &OperatorArgs, apis: &[&'static RoleTable]) -> ExitCode {
    telemetry::start(args.log_format);
    let wanted = |table: &&&'static RoleTable| args.api.iter().any(|one| one == table.crd.group);
    let apis: Vec<_> = apis.iter().filter(wanted).copied().collect();
    match block_on(args, &apis) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tracing::error!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn block_on(args: &OperatorArgs, apis: &[&'static RoleTable]) -> Result<(), OperatorError> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    let result = runtime.block_on(operate(args, apis));
    runtime.shutdown_timeout(SHUTDOWN);
    result
}

async fn operate(args: &OperatorArgs, apis: &[&'static RoleTable]) -> Result<(), OperatorError> {
    let stop = Stop::on_signals()?;
    let accelerators = Arc::new(args.config.load()?);
    let shared = Arc::new(Shared::new(World::new(apis, &args.namespace)));
    let metrics = Metrics::new(apis);
    serve(args, &metrics, &shared, &stop).await?;
    let webhook = hook(args, apis, &metrics, &stop).await?;
    let throttle = Throttle::default();
    let client = client::connect(args.kubeconfig.as_deref(), &throttle, &metrics).await?;
    tokio::select! {
        ready = prepare(args, &client, apis, webhook.as_ref()) => ready?,
        () = stop.due() => return Ok(()),
    }
    let (recorder, last_words) = Recorder::start(client.clone(), throttle.clone());
    tracing::info!(version = env!("CARGO_PKG_VERSION"), apis = ?args.api, namespaces = ?args.namespace, "mxjob operator starts");
    watch::start(&client, &shared);
    let answering = webhook.map(|webhook| webhook.keep(&client));
    let cluster = Cluster::new(client, throttle);
    let operator = Operator {
        cluster,
        shared,
        recorder,
        metrics,
        accelerators,
        stop,
    };
    dispatch::dispatch(&operator).await;
    drop(operator);
    let answered = future::OptionFuture::from(answering);
    let rest = future::join(last_words, answered);
    if tokio::time::timeout(LAST_WORDS, rest).await.is_err() {
        tracing::warn!("not every event was sent, or not every conversion answered");
    }
    tracing::info!("mxjob operator has stopped");
    Ok(())
}

/// What comes before the first look at a job.
async fn prepare(
    args: &OperatorArgs,
    client: &Client,
    apis: &[&'static RoleTable],
    webhook: Option<&Webhook>,
) -> Result<(), OperatorError> {
    takeover::check(client, apis, &args.namespace, args.force_takeover).await?;
    if args.install_crds {
        install(client, apis, webhook).await?;
    }
    Ok(())
}

/// Creates or updates the definitions of all APIs.
async fn install(
    client: &Client,
    apis: &[&'static RoleTable],
    webhook: Option<&Webhook>,
) -> Result<(), crd::CrdError> {
    for table in apis {
        let webhook = webhook.filter(|_| webhook::is_needed(table));
        crd::install(client, table, webhook).await?;
    }
    Ok(())
}

/// Answers on the addresses that were asked for.
async fn serve(
    args: &OperatorArgs,
    metrics: &Metrics,
    shared: &Arc<Shared>,
    stop: &Stop,
) -> Result<(), BindError> {
    let for_metrics = server::bind("--metrics-bind-address", &args.metrics_bind_address).await?;
    let for_health = server::bind(
        "--health-probe-bind-address",
        &args.health_probe_bind_address,
    )
    .await?;
    let answers = Answers {
        metrics: metrics.clone(),
        shared: shared.clone(),
        stop: stop.clone(),
    };
    answers.serve_metrics(for_metrics);
    answers.serve_health(for_health);
    Ok(())
}

/// Converts on the address that was asked for, if there is anything to convert.
async fn hook(
    args: &OperatorArgs,
    apis: &[&'static RoleTable],
    metrics: &Metrics,
    stop: &Stop,
) -> Result<Option<Webhook>, OperatorError> {
    // Only one of them has more than one version.
    let Some(table) = apis.iter().find(|table| webhook::is_needed(table)) else {
        return Ok(None);
    };
    let listener = server::bind("--webhook-bind-address", &args.webhook_bind_address).await?;
    let Some(listener) = listener else {
        return Ok(None);
    };
    let home = Home::find(args.own_namespace.as_deref());
    let reach = Reach::choose(&args.webhook_url, home.in_pod, &home.namespace);
    let review = conversion::review;
    let webhook = Webhook::start(table, reach, listener, review, metrics.reviews(), stop)?;
    Ok(Some(webhook))
}
