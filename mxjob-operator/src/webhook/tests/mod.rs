//! The server and its certificate, seen by a client that checks what it is shown.

mod certificate;
mod cluster;
mod requests;
mod secrets;
mod steps;

use mxjob_core::{MxRole, ReplicaRole as _};
use serde_json::json;
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use super::address::Farewell;
use super::*;
use crate::controller::Why;

const HOST: &str = "127.0.0.1";

/// Gives back the objects as they are.
fn echo(table: &'static RoleTable, request: &Value) -> Value {
    json!({"kind": table.crd.kind, "objects": request["objects"]})
}

/// As long as certificates are good unless told otherwise.
const LIFETIME: Duration = Duration::from_hours(24 * 90);

/// One whose certificate, kept nowhere else, is that old.
pub(in crate::webhook) fn rotation(names: Vec<String>, age: Duration) -> Rotation {
    let pace = Pace { lifetime: LIFETIME };
    let mut rotation = Rotation::new(names, pace);
    let made = (SystemTime::now() - age, Instant::now());
    rotation.step_alone(made).unwrap();
    rotation.show(made);
    rotation
}

/// Where certificates are kept.
pub(in crate::webhook) fn place() -> Place {
    Place {
        namespace: "lab".to_owned(),
        name: "mxjob-webhook".to_owned(),
        read_only: false,
    }
}

fn here() -> Reach {
    let url = format!("https://{HOST}").parse().unwrap();
    Reach::choose(&url, false, "").unwrap()
}

const HOUR: Duration = Duration::from_hours(1);

/// It closes at once, and waits for answers as long as a test lasts.
const AT_ONCE: Farewell = Farewell {
    answers: HOUR,
    ..address::AT_ONCE
};

/// A server, and what is needed to talk to it.
struct Bench {
    address: SocketAddr,
    rotation: Rotation,
    reviews: Counter,
    stop: watch::Sender<Option<Why>>,
    answering: JoinHandle<bool>,
}

impl Bench {
    async fn start(review: Review) -> Self {
        Self::start_with(review, rotation(here().names(), Duration::ZERO)).await
    }

    async fn start_with(review: Review, rotation: Rotation) -> Self {
        Self::start_to_go(review, rotation, AT_ONCE).await
    }

    /// One that goes so when it is time to stop.
    async fn start_to_go(review: Review, rotation: Rotation, farewell: Farewell) -> Self {
        let (stop, stopping) = Stop::by_hand();
        let listener = TcpListener::bind((HOST, 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let reviews = Counter::default();
        let server = Server::new(MxRole::TABLE, review, reviews.clone(), rotation.served());
        let answering = tokio::spawn(server.unwrap().run(listener, stopping, farewell));
        Self {
            address,
            rotation,
            reviews,
            stop,
            answering,
        }
    }

    async fn plain(&self) -> TcpStream {
        TcpStream::connect(self.address).await.unwrap()
    }

    /// A connection of a client that trusts `bundle` and asks for `name`.
    async fn trusting(&self, bundle: &str, name: &str) -> std::io::Result<TlsStream<TcpStream>> {
        let mut roots = RootCertStore::empty();
        for certificate in CertificateDer::pem_slice_iter(bundle.as_bytes()) {
            roots.add(certificate.unwrap()).unwrap();
        }
        let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
        let config = config.with_safe_default_protocol_versions().unwrap();
        let config = config.with_root_certificates(roots).with_no_client_auth();
        let name = name.to_owned().try_into().unwrap();
        let connector = TlsConnector::from(Arc::new(config));
        connector.connect(name, self.plain().await).await
    }

    async fn connect(&self) -> TlsStream<TcpStream> {
        let bundle = self.rotation.authorities().join("\n");
        self.trusting(&bundle, HOST).await.unwrap()
    }

    /// Sends this on a connection of its own.
    async fn send(&self, request: &[u8]) -> Answer {
        let mut stream = self.connect().await;
        stream.write_all(request).await.unwrap();
        answer(&mut stream).await
    }

    /// A good review is answered well.
    async fn works(&self) {
        let said = self.send(&post("{\"objects\": [7]}")).await;
        assert_eq!(
            (said.code, said.json()["objects"][0].as_u64()),
            (200, Some(7))
        );
    }
}

fn post(body: &str) -> Vec<u8> {
    request("POST /convert", "application/json", body.len(), body)
}

fn request(line: &str, kind: &str, length: usize, body: &str) -> Vec<u8> {
    let head = format!(
        "{line} HTTP/1.1\r\nHost: x\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\r\n"
    );
    [head.as_bytes(), body.as_bytes()].concat()
}

#[derive(Debug)]
struct Answer {
    code: u16,
    head: String,
    body: Vec<u8>,
}

impl Answer {
    fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }
}

async fn answer(stream: &mut (impl AsyncRead + Unpin)) -> Answer {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.unwrap());
    }
    let head = String::from_utf8(head).unwrap().to_lowercase();
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length: "));
    let mut body = vec![0; length.unwrap().parse().unwrap()];
    stream.read_exact(&mut body).await.unwrap();
    let code = head.split(' ').nth(1).unwrap().parse().unwrap();
    Answer { code, head, body }
}

/// The server has closed the connection without a word.
async fn is_closed(stream: &mut (impl AsyncRead + Unpin)) -> bool {
    !matches!(stream.read(&mut [0]).await, Ok(1..))
}
