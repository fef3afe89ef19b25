//! Where the cluster is and how it is spoken to.

use std::iter;
use std::path::{Path, PathBuf};
use std::time::Duration;

use http::{HeaderValue, Request, Response, StatusCode, header};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::{self, Client as HttpClient};
use hyper_util::rt::TokioExecutor;
use kube::client::{Body, ClientBuilder, ConfigExt as _, DynBody};
use kube::config::{InClusterError, KubeConfigOptions, Kubeconfig, KubeconfigError};
use kube::{Client, Config};
use tower::util::{BoxService, MapErrLayer, MapFutureLayer, MapResponseLayer};
use tower::{BoxError, ServiceBuilder, ServiceExt as _};

use super::lead::{Connector, Gate};
use super::metrics::Metrics;
use super::throttle::Throttle;

/// When the server says "too many requests" without saying for how long.
const SHORT_PAUSE: Duration = Duration::from_secs(1);

/// How long bytes may be on their way, unheard of: about what is left of the shortest usual lease when
/// a term has ended.
#[cfg(target_os = "linux")]
const UNHEARD: Duration = Duration::from_millis(1500);

/// What we are in the server's audit log.
const USER_AGENT: &str = concat!("mxjob/", env!("CARGO_PKG_VERSION"));

/// Why there is no way to the cluster.
#[derive(Debug, thiserror::Error)]
pub(super) enum ClientError {
    /// A kubeconfig was named and cannot be used.
    #[error("{named_by} {}: {source}", path.display())]
    Kubeconfig {
        /// The flag or variable that names it.
        named_by: &'static str,
        /// The file.
        path: PathBuf,
        /// Why not.
        source: KubeconfigError,
    },
    /// Neither a kubeconfig nor a service account is there.
    #[error("no cluster: give --kubeconfig or set KUBECONFIG (in a pod: {0})")]
    Nowhere(InClusterError),
    /// The configuration asks for something that this program cannot do.
    #[error("client: {0}")]
    Build(kube::Error),
}

/// A request that came to nothing, where it was to go, and all the reasons that there are.
#[derive(Debug, thiserror::Error)]
#[error("cannot reach {server}: {why}")]
struct Unreachable {
    server: String,
    why: String,
}

impl Unreachable {
    /// What kube has to say itself stays as it is.
    fn name(server: &str, error: BoxError) -> BoxError {
        if error.is::<kube::Error>() {
            return error;
        }
        let causes = iter::successors(error.source(), |cause| cause.source());
        let why = causes.fold(error.to_string(), |why, cause| format!("{why}: {cause}"));
        let server = server.to_owned();
        Self { server, why }.into()
    }
}

type Guarded = BoxService<Request<Body>, Response<Box<DynBody>>, BoxError>;

/// Ways to the same cluster.
#[derive(Clone)]
pub(super) struct Clients {
    /// For what every operator does: it looks, and keeps the webhook known.
    pub(super) open: Client,
    /// For what only the leader does. Nothing is sent while it does not lead.
    pub(super) leaders: Client,
    /// For the lease itself: it waits for nobody, also when the server has too much to do.
    pub(super) lease: Client,
}

/// Clients for the cluster that the flag, `KUBECONFIG`, `USE_KUBE_CONFIG`, the pod's service account
/// or `~/.kube/config` names, in this order. `throttle` is paused when the server asks for it,
/// `metrics` count the requests, `identity` is who asks.
pub(super) async fn connect(
    flag: Option<&Path>,
    identity: &str,
    throttle: &Throttle,
    metrics: &Metrics,
    gate: &Gate,
) -> Result<Clients, ClientError> {
    let mut config = find(flag).await?;
    // Retries below would hide from the throttle that the server has too much to do.
    config.default_retry = false;
    let agent = user_agent(identity);
    config.headers.push((header::USER_AGENT, agent));
    let server = config.cluster_url.to_string();
    let address = MapErrLayer::new(move |error| Unreachable::name(&server, error));
    let (resting, throttle) = (throttle.clone(), throttle.clone());
    // Watches and events take no turns, and are not to come back early either.
    let rest = MapFutureLayer::new(move |answer| {
        let throttle = resting.clone();
        Box::pin(async move {
            throttle.rest().await;
            answer.await
        })
    });
    let pause = MapResponseLayer::new(move |response: Response<_>| {
        if response.status() == StatusCode::TOO_MANY_REQUESTS {
            throttle.pause(retry_after(&response).unwrap_or(SHORT_PAUSE));
        }
        response
    });
    let plain = || ClientBuilder::try_from(config.clone()).map_err(ClientError::Build);
    let open = plain()?
        .with_layer(&metrics.requests())
        .with_layer(&pause)
        .with_layer(&rest)
        .with_layer(&address);
    let lease = plain()?
        .with_layer(&metrics.requests())
        .with_layer(&address);
    let leaders = ClientBuilder::new(guarded(&config, gate)?, config.default_namespace.clone())
        .with_layer(&metrics.requests())
        .with_layer(&pause)
        .with_layer(&rest)
        .with_layer(&address)
        .with_layer(gate);
    Ok(Clients {
        open: open.build(),
        leaders: leaders.build(),
        lease: lease.build(),
    })
}

/// As kube's own, over connections that pass the gate.
fn guarded(config: &Config, gate: &Gate) -> Result<Guarded, ClientError> {
    let mut tcp = HttpConnector::new();
    tcp.enforce_http(false);
    tcp.set_connect_timeout(config.connect_timeout);
    // What the system holds for a server that cannot be reached is not to arrive much later.
    #[cfg(target_os = "linux")]
    tcp.set_tcp_user_timeout(Some(UNHEARD));
    let tls = config
        .rustls_https_connector_with_connector(Connector::new(tcp, gate.clone()))
        .map_err(ClientError::Build)?;
    let client: HttpClient<_, Body> = legacy::Builder::new(TokioExecutor::new()).build(tls);
    let boxed = |body: Incoming| -> Box<DynBody> { Box::new(body.map_err(BoxError::from)) };
    Ok(ServiceBuilder::new()
        .map_response(move |response: Response<Incoming>| response.map(boxed))
        .layer(config.base_uri_layer())
        .option_layer(config.auth_layer().map_err(ClientError::Build)?)
        .layer(config.extra_headers_layer().map_err(ClientError::Build)?)
        .map_err(BoxError::from)
        .service(client)
        .boxed())
}

/// Who asks, for the server's audit log: of several operators each has its own name.
fn user_agent(identity: &str) -> HeaderValue {
    let agent = HeaderValue::from_str(&format!("{USER_AGENT} ({identity})"));
    agent.unwrap_or(HeaderValue::from_static(USER_AGENT))
}

async fn find(flag: Option<&Path>) -> Result<Config, ClientError> {
    let variable = |name: &str| {
        std::env::var_os(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    if let Some(path) = flag {
        return from_file("--kubeconfig", path).await;
    }
    // kube reads KUBECONFIG by itself, as a list of files to merge.
    if let Some(path) = variable("KUBECONFIG") {
        let config = Config::from_kubeconfig(&KubeConfigOptions::default()).await;
        return config.map_err(|source| ClientError::Kubeconfig {
            named_by: "KUBECONFIG",
            path,
            source,
        });
    }
    if let Some(path) = variable("USE_KUBE_CONFIG") {
        return from_file("USE_KUBE_CONFIG", &path).await;
    }
    let nowhere = match Config::incluster() {
        Ok(config) => return Ok(config),
        Err(error) => error,
    };
    match variable("HOME")
        .map(|home| home.join(".kube/config"))
        .filter(|path| path.is_file())
    {
        Some(path) => from_file("kubeconfig", &path).await,
        None => Err(ClientError::Nowhere(nowhere)),
    }
}

async fn from_file(named_by: &'static str, path: &Path) -> Result<Config, ClientError> {
    let error = |source| ClientError::Kubeconfig {
        named_by,
        path: path.to_owned(),
        source,
    };
    let file = Kubeconfig::read_from(path).map_err(error)?;
    Config::from_custom_kubeconfig(file, &KubeConfigOptions::default())
        .await
        .map_err(error)
}

fn retry_after<B>(response: &Response<B>) -> Option<Duration> {
    let seconds = response
        .headers()
        .get(header::RETRY_AFTER)?
        .to_str()
        .ok()?
        .parse()
        .ok()?;
    Some(Duration::from_secs(seconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_asks_is_in_the_user_agent_whatever_the_machine_is_called() {
        let agent = user_agent("node-1_00ff");
        assert_eq!(agent, format!("{USER_AGENT} (node-1_00ff)"));
        assert_eq!(user_agent("two\nlines"), USER_AGENT);
    }

    #[test]
    fn retry_after_is_a_number_of_seconds() {
        let answer = |value: &str| {
            Response::builder()
                .header("retry-after", value)
                .body(())
                .unwrap()
        };
        assert_eq!(retry_after(&answer("3")), Some(Duration::from_secs(3)));
        assert_eq!(retry_after(&answer("Wed, 21 Oct 2015 07:28:00 GMT")), None);
        assert_eq!(retry_after(&Response::new(())), None);
    }

    #[tokio::test]
    async fn the_flag_that_names_a_file_which_is_not_there_is_said() {
        let error = find(Some(Path::new("nowhere"))).await.unwrap_err();
        let error = error.to_string();
        assert!(error.starts_with("--kubeconfig nowhere: "), "{error}");
    }
}
