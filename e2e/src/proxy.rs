//! A way to the apiserver on which things go wrong as a test wants it: plain HTTP on loopback.
//!
//! ```no_run
//! # async fn example(plane: &e2e::ControlPlane) -> anyhow::Result<()> {
//! use e2e::proxy::{Fault, Proxy, Rule};
//! let proxy = Proxy::start(plane).await?;
//! proxy.add(Rule::on("create", "pods").times(1).fault(Fault::After(500)));
//! // … start a program with `proxy.kubeconfig()` …
//! # Ok(()) }
//! ```

mod request;
mod rule;
mod stream;

use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use anyhow::{Context, Result};
use http::{HeaderMap, HeaderValue, Request, Response, StatusCode, header};
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use kube::client::Body;
use kube::config::{Config, KubeConfigOptions, Kubeconfig};
use kube::{Client, core::Status};
use serde_json::json;
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::sync::broadcast;
use tokio::task::{JoinHandle, JoinSet};

use crate::ControlPlane;

pub use self::request::Asked;
pub use self::rule::{Fault, Rule};
pub use self::stream::Cut;

type Answer = Response<stream::Bodies>;

/// The way. Dropped, it is gone.
#[derive(Debug)]
pub struct Proxy {
    folder: TempDir,
    address: SocketAddr,
    line: Line,
    /// `None` while away.
    serving: Option<JoinHandle<()>>,
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.leave();
    }
}

/// What connections share.
#[derive(Clone, Debug)]
struct Line {
    upstream: Upstream,
    rules: Arc<Mutex<Vec<Rule>>>,
    asked: Arc<Mutex<Vec<Asked>>>,
    cuts: broadcast::Sender<(String, Cut)>,
}

#[derive(Clone)]
struct Upstream(Client);

impl std::fmt::Debug for Upstream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Upstream")
    }
}

impl Proxy {
    /// Opens a way to `plane`, with all rights.
    pub async fn start(plane: &ControlPlane) -> Result<Self> {
        Self::start_as(&plane.kubeconfig()).await
    }

    /// Opens a way to where that kubeconfig file leads, with its rights.
    pub async fn start_as(kubeconfig: &Path) -> Result<Self> {
        let file = Kubeconfig::read_from(kubeconfig)?;
        let options = KubeConfigOptions::default();
        let mut config = Config::from_custom_kubeconfig(file, &options).await?;
        // Who asks is to see what the server answers.
        config.default_retry = false;
        let mut proxy = Self {
            folder: tempfile::tempdir()?,
            address: (Ipv4Addr::LOCALHOST, 0).into(),
            line: Line {
                upstream: Upstream(Client::try_from(config)?),
                rules: Arc::default(),
                asked: Arc::default(),
                cuts: broadcast::Sender::new(16),
            },
            serving: None,
        };
        proxy.come_back().await?;
        let server = format!("http://{}", proxy.address);
        let kubeconfig = json!({
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "e2e", "cluster": {"server": server}}],
            "contexts": [{"name": "e2e", "context": {"cluster": "e2e", "user": ""}}],
            "current-context": "e2e",
        });
        std::fs::write(proxy.kubeconfig(), kubeconfig.to_string())?;
        Ok(proxy)
    }

    /// A kubeconfig file for who is to take this way.
    pub fn kubeconfig(&self) -> PathBuf {
        self.folder.path().join("kubeconfig")
    }

    /// From now on this goes wrong.
    pub fn add(&self, rule: Rule) {
        lock(&self.line.rules).push(rule);
    }

    /// From now on nothing goes wrong.
    pub fn mend(&self) {
        lock(&self.line.rules).clear();
    }

    /// All requests so far, in the order in which they came.
    pub fn asked(&self) -> Vec<Asked> {
        lock(&self.line.asked).clone()
    }

    /// Ends or silences all watches of that resource, in that manner.
    pub fn cut(&self, resource: &str, cut: Cut) {
        // An error says that nobody watches anything.
        let _ = self.line.cuts.send((resource.to_owned(), cut));
    }

    /// Breaks all connections and refuses new ones.
    pub fn leave(&mut self) {
        if let Some(serving) = self.serving.take() {
            serving.abort();
        }
    }

    /// Takes connections again, at the same address.
    pub async fn come_back(&mut self) -> Result<()> {
        let listener = TcpListener::bind(self.address).await;
        let listener = listener.with_context(|| format!("cannot listen on {}", self.address))?;
        self.address = listener.local_addr()?;
        self.serving = Some(tokio::spawn(serve(listener, self.line.clone())));
        Ok(())
    }
}

async fn serve(listener: TcpListener, line: Line) {
    // Aborted with this task.
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                let Ok((stream, _)) = accepted else { continue };
                let line = line.clone();
                connections.spawn(async move {
                    let service = service_fn(|request| line.answer(request));
                    let connection = http1::Builder::new().serve_connection(TokioIo::new(stream), service);
                    // The client sees what went wrong.
                    let _ = connection.await;
                });
            }
            Some(_) = connections.join_next() => {}
        }
    }
}

impl Line {
    async fn answer(&self, request: Request<Incoming>) -> Result<Answer, kube::Error> {
        let (parts, body) = request.into_parts();
        let body = body.collect().await.map_err(kube::Error::HyperError)?;
        let body = body.to_bytes();
        let asked = Asked::of(&parts, &body, Instant::now());
        let (resource, is_watch) = (asked.resource.clone(), asked.verb == "watch");
        let fault = rule::first(&mut lock(&self.rules), &asked);
        lock(&self.asked).push(asked);
        match fault {
            Some(Fault::Before { code, retry_after }) => return Ok(refusal(code, retry_after)),
            Some(Fault::Delay(time)) => tokio::time::sleep(time).await,
            Some(Fault::After(_)) | None => {}
        }
        let cuts = self.cuts.subscribe();
        let mut forwarded = Request::from_parts(parts, Body::from(body.to_vec()));
        forwarded.headers_mut().remove(header::AUTHORIZATION);
        forwarded.headers_mut().remove(header::HOST);
        of_the_connection(forwarded.headers_mut());
        let answer = self.upstream.0.send(forwarded).await?;
        if let Some(Fault::After(code)) = fault {
            return Ok(refusal(code, None));
        }
        let (mut parts, body) = answer.into_parts();
        of_the_connection(&mut parts.headers);
        let body = if is_watch {
            stream::until_cut(body, resource, cuts)
        } else {
            stream::whole(body)
        };
        Ok(Response::from_parts(parts, body))
    }
}

/// Takes away what is about the connection and not about the message.
fn of_the_connection(headers: &mut HeaderMap) {
    for name in [
        header::CONNECTION,
        header::CONTENT_LENGTH,
        header::TRANSFER_ENCODING,
    ] {
        headers.remove(name);
    }
}

/// As the apiserver refuses.
fn refusal(code: u16, retry_after: Option<u64>) -> Answer {
    let reason = match code {
        404 => "NotFound",
        409 => "Conflict",
        429 => "TooManyRequests",
        500 => "InternalError",
        _ => "Unknown",
    };
    let status = Status::failure("the way to the server is bad", reason).with_code(code);
    let mut status = serde_json::to_value(status).unwrap_or_default();
    if let Some(fields) = status.as_object_mut() {
        fields.insert("kind".to_owned(), json!("Status"));
        fields.insert("apiVersion".to_owned(), json!("v1"));
    }
    let body = Full::new(Bytes::from(status.to_string()));
    let mut answer = Response::new(
        body.map_err(|never: Infallible| match never {})
            .boxed_unsync(),
    );
    *answer.status_mut() = StatusCode::from_u16(code).unwrap_or_default();
    let headers = answer.headers_mut();
    headers.insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("application/json"),
    );
    if let Some(seconds) = retry_after {
        headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    answer
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
