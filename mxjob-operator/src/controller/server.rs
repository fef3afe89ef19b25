//! What the operator answers itself: metrics, and whether it is alive and ready.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::extract::{ConnectInfo, State};
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use axum::routing::get;
use tokio::net::TcpListener;

use super::lead::Gate;
use super::metrics::{self, Metrics};
use super::shared::Shared;
use super::stop::Stop;
use crate::telemetry;

/// An address that cannot be listened on.
#[derive(Debug, thiserror::Error)]
#[error("{flag} {address}: {why}")]
pub(super) struct BindError {
    flag: &'static str,
    address: String,
    why: String,
}

/// What is wrong with the address, and what to do.
fn why(error: &io::Error) -> String {
    if error.kind() == io::ErrorKind::InvalidInput {
        return "must be host:port, :port for every interface, or 0 for none".to_owned();
    }
    format!("{error}: give another address, or 0 for none")
}

/// Whether an address is none: `0` or nothing.
pub(crate) fn is_nowhere(address: &str) -> bool {
    matches!(address, "" | "0")
}

/// Listens on `host:port` or `:port`, on every interface then; `None`: nowhere.
pub(super) async fn bind(
    flag: &'static str,
    address: &str,
) -> Result<Option<TcpListener>, BindError> {
    if is_nowhere(address) {
        return Ok(None);
    }
    let listener = match address.strip_prefix(':') {
        // A machine may have no IPv6.
        Some(port) => match TcpListener::bind(format!("[::]:{port}")).await {
            Err(error) if error.kind() != io::ErrorKind::AddrInUse => {
                TcpListener::bind(format!("0.0.0.0:{port}")).await
            }
            other => other,
        },
        None => TcpListener::bind(address).await,
    };
    let failed = |error| BindError {
        flag,
        address: address.to_owned(),
        why: why(&error),
    };
    listener.map(Some).map_err(failed)
}

/// What the answers are made of.
#[derive(Clone, Debug)]
pub(super) struct Answers {
    pub(super) metrics: Metrics,
    pub(super) shared: Arc<Shared>,
    /// Open while this operator leads.
    pub(super) gate: Gate,
    pub(super) stop: Stop,
}

impl Answers {
    /// Answers `/metrics` until the operator ends.
    pub(super) fn serve_metrics(&self, listener: Option<TcpListener>) {
        let routes = Router::new().route("/metrics", get(scrape));
        serve("metrics", listener, routes.with_state(self.clone()));
    }

    /// Answers `/healthz`, `/readyz` and `/log` until the operator ends.
    pub(super) fn serve_health(&self, listener: Option<TcpListener>) {
        let routes = Router::new()
            .route("/healthz", get(async || "ok"))
            .route("/readyz", get(ready))
            .route(
                "/log",
                get(async || telemetry::chosen() + "\n").put(choose_lines),
            );
        serve("health", listener, routes.with_state(self.clone()));
    }
}

/// In a task of its own. It ends with the runtime: nobody waits for a client that does not read.
fn serve(what: &'static str, listener: Option<TcpListener>, routes: Router) {
    let Some(listener) = listener else { return };
    match listener.local_addr() {
        Ok(address) => tracing::info!(%address, "serving {what}"),
        Err(error) => tracing::warn!(%error, "serving {what}, nobody knows where"),
    }
    let routes = routes.into_make_service_with_connect_info::<SocketAddr>();
    tokio::spawn(async move { axum::serve(listener, routes).await });
}

/// Which log lines there are is for those to say who are in the pod, as `kubectl port-forward` is.
async fn choose_lines(
    ConnectInfo(from): ConnectInfo<SocketAddr>,
    filter: String,
) -> (StatusCode, String) {
    if !from.ip().to_canonical().is_loopback() {
        let message = "only from this machine: kubectl port-forward is\n".to_owned();
        return (StatusCode::FORBIDDEN, message);
    }
    match telemetry::choose(&filter) {
        Ok(()) => (StatusCode::OK, telemetry::chosen() + "\n"),
        Err(why) => (StatusCode::BAD_REQUEST, why + "\n"),
    }
}

async fn scrape(State(answers): State<Answers>) -> impl IntoResponse {
    let (phases, synced) = {
        let world = answers.shared.world();
        (metrics::phases(world.jobs()), world.is_synced())
    };
    let leads = synced && answers.gate.is_open();
    match answers.metrics.scrape(&phases, leads) {
        Ok(text) => ([(header::CONTENT_TYPE, metrics::CONTENT_TYPE)], text).into_response(),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
    }
}

/// Ready once every cache is complete, whoever leads, and no more when it is time to stop. The
/// webhook's certificate is served before anything is watched.
async fn ready(State(answers): State<Answers>) -> impl IntoResponse {
    let synced = answers.shared.world().is_synced();
    match (answers.stop.is_due(), synced) {
        (true, _) => (StatusCode::SERVICE_UNAVAILABLE, "stopping"),
        (false, false) => (StatusCode::SERVICE_UNAVAILABLE, "caches are not complete"),
        (false, true) => (StatusCode::OK, "ok"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_address_without_a_port_is_told_what_is_missing() {
        for address in ["localhost", ":http", "127.0.0.1"] {
            let error = bind("--flag", address).await.unwrap_err().to_string();
            let expected = format!(
                "--flag {address}: must be host:port, :port for every interface, or 0 for none"
            );
            assert_eq!(error, expected);
        }
        let taken = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let taken = taken.local_addr().unwrap().to_string();
        let error = bind("--flag", &taken).await.unwrap_err().to_string();
        assert!(
            error.ends_with(": give another address, or 0 for none"),
            "{error}"
        );
        assert!(bind("--flag", "0").await.unwrap().is_none());
    }
}
