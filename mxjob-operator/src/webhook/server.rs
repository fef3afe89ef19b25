//! Answers ConversionReviews over HTTPS.

use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, FromRequest as _, Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::middleware::map_response;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use mxjob_core::RoleTable;
use prometheus_client::metrics::counter::Counter;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until, timeout, timeout_at};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;

use super::Review;
use super::address::{Farewell, PATH};
use super::identity::{IdentityError, Served};
use crate::controller::{Stop, Why};

/// The apiserver sends a whole list at once: 1,000 jobs of 50 KB are 50 MB, and a list that does not
/// fit cannot be read at all. More than that in one list is a case for pages.
pub(super) const LONGEST_BODY: usize = 128 << 20;
/// As the apiserver gives a handshake.
const HANDSHAKE: Duration = Duration::from_secs(10);
/// The apiserver gives the whole conversion so long.
const BODY: Duration = Duration::from_secs(30);
/// Also how long a connection may rest. The apiserver closes one after 90 s; were it closed here
/// first, that could happen just when it is used again, and the request would fail.
const HEADERS: Duration = Duration::from_mins(2);
/// After an accept that failed for want of file descriptors.
const BREATH: Duration = Duration::from_secs(1);
/// How every TLS connection begins.
const TLS_HANDSHAKE: u8 = 0x16;

type Refusal = (StatusCode, String);

/// Answers on one address.
#[derive(Clone)]
pub(super) struct Server {
    tls: TlsAcceptor,
    routes: Router,
}

/// What an answer takes.
#[derive(Clone, Debug)]
struct Converter {
    table: &'static RoleTable,
    review: Review,
    reviews: Counter,
    /// A review needs many times its length in memory, and a processor to itself.
    turns: Arc<Semaphore>,
}

impl Server {
    pub(super) fn new(
        table: &'static RoleTable,
        review: Review,
        reviews: Counter,
        served: Arc<Served>,
    ) -> Result<Self, IdentityError> {
        let tls = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_cert_resolver(served);
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let converter = Converter {
            table,
            review,
            reviews,
            turns: Arc::new(Semaphore::new(processors)),
        };
        let routes = Router::new()
            .route(PATH, post(convert))
            .method_not_allowed_fallback(async || {
                let text = format!("{PATH} takes POST alone\n");
                (StatusCode::METHOD_NOT_ALLOWED, text)
            })
            .fallback(async || (StatusCode::NOT_FOUND, format!("there is {PATH} alone\n")))
            .layer(DefaultBodyLimit::max(LONGEST_BODY))
            .with_state(converter);
        Ok(Self {
            tls: TlsAcceptor::from(Arc::new(tls)),
            routes,
        })
    }

    /// Until it is time to stop and the last answer is given; whether all were. From when it is time an
    /// answer is the last of its connection, so that clients go elsewhere.
    pub(super) async fn run(
        mut self,
        listener: TcpListener,
        stop: Stop,
        farewell: Farewell,
    ) -> bool {
        let is_last = stop.clone();
        let (comes, came) = watch::channel(Instant::now());
        let heard = comes.clone();
        let last = move |mut answer: Response| {
            if is_last.is_due() {
                heard.send_replace(Instant::now());
                let close = HeaderValue::from_static("close");
                answer.headers_mut().insert(header::CONNECTION, close);
            }
            async { answer }
        };
        self.routes = self.routes.layer(map_response(last));
        match listener.local_addr() {
            Ok(address) => tracing::info!(%address, "webhook listening"),
            Err(error) => tracing::warn!(%error, "webhook listening, nobody knows where"),
        }
        let (silence, silent) = Stop::by_hand();
        let mut connections = JoinSet::new();
        let mut known = pin!(stop.known(farewell.unnoticed));
        loop {
            tokio::select! {
                () = known.as_mut() => break,
                stream = next(&listener) => {
                    connections.spawn(self.clone().attend(stream, farewell.new, silent.clone()));
                }
                Some(_) = connections.join_next() => {}
            }
        }
        comes.send_replace(Instant::now());
        let latest = Instant::now() + farewell.open;
        loop {
            let closes = latest.min(*came.borrow() + farewell.quiet);
            // Who is there already is let in before it closes.
            if let Ok(stream) = timeout_at(closes, next(&listener)).await {
                comes.send_replace(Instant::now());
                connections.spawn(self.clone().attend(stream, farewell.new, silent.clone()));
            } else if latest.min(*came.borrow() + farewell.quiet) <= Instant::now() {
                break;
            }
        }
        drop(listener);
        let mut over = pin!(async { while connections.join_next().await.is_some() {} });
        if timeout(farewell.silence, over.as_mut()).await.is_ok() {
            return true;
        }
        silence.send_replace(Some(Why::Told));
        timeout(farewell.answers, over).await.is_ok()
    }

    async fn attend(self, stream: TcpStream, new: Duration, silent: Stop) {
        let was_new = Instant::now() + new;
        let mut cut = pin!(async {
            silent.due().await;
            sleep_until(was_new).await;
        });
        let mut first = [0];
        let spoken = tokio::select! {
            biased;
            spoken = timeout(HANDSHAKE, stream.peek(&mut first)) => spoken,
            () = cut.as_mut() => return,
        };
        if let Ok(Ok(1)) = spoken
            && first != [TLS_HANDSHAKE]
        {
            return converse(stream, plainly(), cut).await;
        }
        // Of nothing at all the handshake says that it is the end.
        let greeted = match spoken {
            Ok(_) => tokio::select! {
                greeted = timeout(HANDSHAKE, self.tls.accept(stream)) => greeted,
                () = cut.as_mut() => return,
            },
            Err(too_slow) => Err(too_slow),
        };
        match greeted {
            Ok(Ok(stream)) => converse(stream, self.routes, cut).await,
            Ok(Err(error)) => tracing::debug!(%error, "a client of the webhook has gone"),
            Err(_) => tracing::debug!("a client of the webhook was too slow"),
        }
    }
}

/// The next client.
async fn next(listener: &TcpListener) -> TcpStream {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => return stream,
            Err(error) if is_of_the_client(&error) => {}
            Err(error) => {
                tracing::warn!(%error, "the webhook cannot accept connections");
                tokio::time::sleep(BREATH).await;
            }
        }
    }
}

fn is_of_the_client(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionRefused
            | io::ErrorKind::ConnectionReset
    )
}

/// What a client is told that does not encrypt.
fn plainly() -> Router {
    Router::new().fallback(async || {
        (
            StatusCode::BAD_REQUEST,
            [(header::CONNECTION, "close")],
            "this address speaks HTTPS only\n",
        )
    })
}

/// HTTP/1.1 on a connection, until it ends or, after the answer that is being given, it is cut.
async fn converse<S>(stream: S, routes: Router, cut: impl Future<Output = ()>)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(HEADERS);
    let connection = http.serve_connection(TokioIo::new(stream), TowerToHyperService::new(routes));
    let mut connection = pin!(connection);
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = cut => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection to the webhook has ended");
    }
}

async fn convert(
    State(converter): State<Converter>,
    request: Request,
) -> Result<impl IntoResponse, Refusal> {
    if !is_json(request.headers()) {
        let text = "a ConversionReview is sent as application/json\n".to_owned();
        return Err((StatusCode::UNSUPPORTED_MEDIA_TYPE, text));
    }
    let late = |_| {
        let text = format!("the body did not come within {} s\n", BODY.as_secs());
        (StatusCode::REQUEST_TIMEOUT, text)
    };
    let body = timeout(BODY, Bytes::from_request(request, &())).await;
    let body = body.map_err(late)?.map_err(|rejection| {
        let mut text = format!("{}\n", rejection.body_text());
        if rejection.status() == StatusCode::PAYLOAD_TOO_LARGE {
            text = format!("the body is of more than {LONGEST_BODY} bytes: list in pages\n");
        }
        (rejection.status(), text)
    })?;
    let answer = converter.answer(body).await?;
    Ok(([(header::CONTENT_TYPE, "application/json")], answer))
}

fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE);
    let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default();
    kind.trim().eq_ignore_ascii_case("application/json")
}

impl Converter {
    async fn answer(self, body: Bytes) -> Result<Vec<u8>, Refusal> {
        let broken = |error: String| {
            tracing::error!("a conversion has broken: {error}");
            let text = "the conversion has broken: see the operator's log\n".to_owned();
            (StatusCode::INTERNAL_SERVER_ERROR, text)
        };
        let turn = self.turns.acquire_owned().await;
        let work = tokio::task::spawn_blocking(move || {
            let request = serde_json::from_slice(&body).map_err(|error| {
                let text = format!("the body is not a ConversionReview in JSON: {error}\n");
                (StatusCode::BAD_REQUEST, text)
            })?;
            drop(body);
            let answer = serde_json::to_vec(&(self.review)(self.table, &request));
            self.reviews.inc();
            drop(turn);
            answer.map_err(|error| broken(error.to_string()))
        });
        work.await.map_err(|error| broken(error.to_string()))?
    }
}
