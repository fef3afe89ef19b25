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
mod lead;
mod limit;
mod log;
mod metrics;
mod queue;
mod raw;
mod reconcile;
mod recorder;
mod server;
mod shared;
mod shelf;
mod standby;
mod stop;
mod stranger;
mod takeover;
mod throttle;
mod unsaid;
mod watch;
mod words;
mod world;
mod write;

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use futures::future;
use kube::Client;
use mxjob_core::accelerators::Accelerators;
use mxjob_core::{RoleTable, conversion};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

pub(crate) use args::{LogFormat, OperatorArgs};
pub(crate) use stop::{Stop, Why};

pub(crate) use args::{namespace, object_name};
pub(crate) use server::is_nowhere;
pub(crate) use shelf::Version;
pub(crate) use words::{failure, watch_failure};

use crate::manifest::ConfigError;
use crate::telemetry;
use crate::webhook::{self, IdentityError, Place, Pointer, Reach, Settings, Webhook};
use client::{ClientError, Clients};
use cluster::Cluster;
use home::Home;
use lead::{Gate, Leadership, Loss};
use metrics::Metrics;
use reconcile::Operator;
use recorder::Recorder;
use server::{Answers, BindError};
use shared::Shared;
use throttle::Throttle;
use world::World;

/// For events that are still to be sent when the operator stops.
const LAST_WORDS: Duration = Duration::from_secs(1);
/// How long an operator that is to bring the definitions waits to learn whether it leads.
const FIRST_LOOK: Duration = Duration::from_secs(2);
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
    /// Another operator may look after the jobs by now.
    #[error(
        "this operator has lost the lease, {0}: it looks after no job any more, and begins anew when it is started again"
    )]
    Lost(Loss),
}

/// Runs the operator until SIGTERM or SIGINT: 0 then, 1 when it cannot work at all or has lost the
/// lead.
pub(crate) fn run(args: &OperatorArgs, apis: &[&'static RoleTable]) -> ExitCode {
    telemetry::start(args.log_format);
    let wanted = |table: &&&'static RoleTable| args.api.iter().any(|one| one == table.crd.group);
    let apis: Vec<_> = apis.iter().filter(wanted).copied().collect();
    let code = block_on(args, &apis).unwrap_or_else(|error| {
        tracing::error!("{error}");
        ExitCode::FAILURE
    });
    telemetry::end();
    code
}

fn block_on(args: &OperatorArgs, apis: &[&'static RoleTable]) -> Result<ExitCode, OperatorError> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    let result = runtime.block_on(operate(args, apis));
    runtime.shutdown_timeout(SHUTDOWN);
    result
}

async fn operate(
    args: &OperatorArgs,
    apis: &[&'static RoleTable],
) -> Result<ExitCode, OperatorError> {
    let (ends, stop) = Stop::on_signals()?;
    let accelerators = Arc::new(args.config.load()?);
    let shared = Arc::new(Shared::new(World::new(apis, &args.namespace)));
    let metrics = Metrics::new(apis);
    let gate = Gate::shut();
    serve(args, &metrics, &shared, &gate, &stop).await?;
    let home = Home::find(args.own_namespace.as_deref());
    let hook = Hook::bind(args, apis).await?;
    let throttle = Throttle::default();
    let me = lead::identity(&recorder::instance());
    let flag = args.kubeconfig.as_deref();
    let clients = client::connect(flag, &me, &throttle, &metrics, &gate).await?;
    tokio::select! {
        checked = takeover::check(&clients.open, apis, &args.namespace, &home, args.force_takeover) => checked?,
        () = stop.due() => return Ok(ExitCode::SUCCESS),
    }
    tracing::info!(version = env!("CARGO_PKG_VERSION"), identity = %me, apis = ?args.api, namespaces = ?args.namespace, "mxjob operator starts");
    let started = hook.map(|hook| hook.start(args, &home, &metrics, &clients.open, &stop));
    let started = future::OptionFuture::from(started).await.transpose()?;
    let (webhook, answering) = started.unzip();
    let leadership = stand(args, &clients, &home, me, &gate);
    let installer = Installer {
        client: &clients.leaders,
        apis: if args.install_crds { apis } else { &[] },
        pointer: webhook.as_ref().map(Webhook::pointer),
    };
    let work = Work {
        shared,
        throttle,
        metrics,
        accelerators,
        stop,
    };
    let outcome = work.run(&clients, &leadership, installer, webhook).await;
    let all_answered = outcome.as_ref().copied().unwrap_or(true);
    leadership.give_back(all_answered).await;
    let lost = match outcome {
        Err(error @ OperatorError::Lost(_)) => {
            tracing::error!("{error}");
            ends.send_if_modified(|why| why.is_none() && why.replace(Why::Fails).is_none());
            true
        }
        outcome => outcome.map(|_| false)?,
    };
    // The next one leads already.
    if let Some(answering) = answering
        && !answering.await.unwrap_or(true)
    {
        tracing::warn!("not every conversion was answered");
    }
    tracing::info!("mxjob operator has stopped");
    Ok(ExitCode::from(u8::from(lost)))
}

/// Stands for election, if there is to be one.
fn stand(
    args: &OperatorArgs,
    clients: &Clients,
    home: &Home,
    me: String,
    gate: &Gate,
) -> Leadership {
    let election = &args.election;
    if !election.leader_elect {
        return Leadership::unopposed(gate);
    }
    let place = (home.namespace.as_str(), election.lease_name.as_str());
    let (client, gate) = (clients.lease.clone(), gate.clone());
    Leadership::stand(client, place, election.lease_duration, me, gate)
}

/// What looks after jobs takes.
struct Work {
    shared: Arc<Shared>,
    throttle: Throttle,
    metrics: Metrics,
    accelerators: Arc<Accelerators>,
    stop: Stop,
}

impl Work {
    /// Until it is time to stop. Whether all that was sent is answered by then.
    async fn run(
        self,
        clients: &Clients,
        leadership: &Leadership,
        mut installer: Installer<'_>,
        webhook: Option<Webhook>,
    ) -> Result<bool, OperatorError> {
        if !installer.apis.is_empty() {
            // Who leads brings them before it looks for them.
            let _ = tokio::time::timeout(FIRST_LOOK, leadership.settles()).await;
            if leadership.leads() && !installer.run(leadership, &self.stop).await? {
                return Ok(false);
            }
        }
        watch::start(&clients.open, &self.shared);
        if let Some(webhook) = webhook {
            webhook.keep(&clients.open);
        }
        self.look_after_jobs(clients, leadership, installer).await
    }

    /// Stands by, and leads when its time comes.
    async fn look_after_jobs(
        self,
        clients: &Clients,
        leadership: &Leadership,
        mut installer: Installer<'_>,
    ) -> Result<bool, OperatorError> {
        let stood = standby::stand_by(&self.shared, leadership, &self.stop).await;
        if !stood.map_err(OperatorError::Lost)? {
            return Ok(true);
        }
        if !installer.run(leadership, &self.stop).await? {
            return Ok(false);
        }
        let client = clients.leaders.clone();
        let (recorder, last_words) = Recorder::start(client.clone(), self.throttle.clone());
        let stop = self.stop.clone();
        let operator = Operator {
            cluster: Cluster::new(client, self.throttle),
            shared: self.shared,
            recorder,
            metrics: self.metrics,
            accelerators: self.accelerators,
            stop: self.stop,
        };
        let work = async {
            let all_answered = dispatch::dispatch(&operator).await;
            drop(operator);
            let all_said = tokio::time::timeout(LAST_WORDS, last_words).await.is_ok();
            if !all_said {
                tracing::warn!("not every event was sent");
            }
            // An event that comes late harms nobody.
            all_answered
        };
        tokio::select! {
            all_answered = work => Ok(all_answered),
            loss = leadership.ends() => {
                if stop.is_due() {
                    tracing::warn!("the lease was lost before the last request was answered: {loss}");
                    return Ok(false);
                }
                Err(OperatorError::Lost(loss))
            }
        }
    }
}

/// Creates or updates the definitions, once.
struct Installer<'a> {
    client: &'a Client,
    /// Those that are still to be installed.
    apis: &'a [&'static RoleTable],
    pointer: Option<Pointer>,
}

impl Installer<'_> {
    /// Does it, if it is still to be done; whether the operator is to go on.
    async fn run(&mut self, leadership: &Leadership, stop: &Stop) -> Result<bool, OperatorError> {
        tokio::select! {
            installed = self.install() => installed.map(|()| true).map_err(Into::into),
            loss = leadership.ends() => Err(OperatorError::Lost(loss)),
            () = stop.due() => Ok(false),
        }
    }

    async fn install(&mut self) -> Result<(), crd::CrdError> {
        for table in std::mem::take(&mut self.apis) {
            let pointer = self.pointer.as_ref();
            let pointer = pointer.filter(|_| webhook::is_needed(table));
            crd::install(self.client, table, pointer).await?;
        }
        Ok(())
    }
}

/// Answers on the addresses that were asked for.
async fn serve(
    args: &OperatorArgs,
    metrics: &Metrics,
    shared: &Arc<Shared>,
    gate: &Gate,
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
        gate: gate.clone(),
        stop: stop.clone(),
    };
    answers.serve_metrics(for_metrics);
    answers.serve_health(for_health);
    Ok(())
}

/// The address on which jobs are converted.
struct Hook {
    table: &'static RoleTable,
    listener: TcpListener,
}

impl Hook {
    /// Takes the address that was asked for, if there is anything to convert.
    async fn bind(
        args: &OperatorArgs,
        apis: &[&'static RoleTable],
    ) -> Result<Option<Self>, BindError> {
        // Only one of them has more than one version.
        let Some(table) = apis.iter().find(|table| webhook::is_needed(table)) else {
            return Ok(None);
        };
        let listener = server::bind("--webhook-bind-address", &args.webhook_bind_address).await?;
        Ok(listener.map(|listener| Self { table, listener }))
    }

    /// Converts there.
    async fn start(
        self,
        args: &OperatorArgs,
        home: &Home,
        metrics: &Metrics,
        client: &Client,
        stop: &Stop,
    ) -> Result<(Webhook, JoinHandle<bool>), IdentityError> {
        let settings = Settings {
            table: self.table,
            reach: Reach::choose(&args.webhook_url, home.in_pod, &home.namespace),
            place: Place {
                namespace: home.namespace.clone(),
                name: args.certificate.secret.clone(),
                read_only: args.certificate.read_only,
            },
            lifetime: args.certificate.lifetime,
            review: conversion::review,
            reviews: metrics.reviews(),
        };
        Webhook::start(settings, client, self.listener, stop).await
    }
}
