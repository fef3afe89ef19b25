//! Where the cluster is and how it is spoken to.

use std::iter;
use std::path::{Path, PathBuf};
use std::time::Duration;

use http::{HeaderValue, Response, StatusCode, header};
use kube::client::ClientBuilder;
use kube::config::{InClusterError, KubeConfigOptions, Kubeconfig, KubeconfigError};
use kube::{Client, Config};
use tower::BoxError;
use tower::util::{MapErrLayer, MapFutureLayer, MapResponseLayer};

use super::metrics::Metrics;
use super::throttle::Throttle;

/// When the server says "too many requests" without saying for how long.
const SHORT_PAUSE: Duration = Duration::from_secs(1);

/// Who we are in the server's audit log.
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

/// A client for the cluster that the flag, `KUBECONFIG`, `USE_KUBE_CONFIG`, the pod's service account
/// or `~/.kube/config` names, in this order. `throttle` is paused when the server asks for it,
/// `metrics` count the requests.
pub(super) async fn connect(
    flag: Option<&Path>,
    throttle: &Throttle,
    metrics: &Metrics,
) -> Result<Client, ClientError> {
    let mut config = find(flag).await?;
    // Retries below would hide from the throttle that the server has too much to do.
    config.default_retry = false;
    config
        .headers
        .push((header::USER_AGENT, HeaderValue::from_static(USER_AGENT)));
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
    Ok(ClientBuilder::try_from(config)
        .map_err(ClientError::Build)?
        .with_layer(&metrics.requests())
        .with_layer(&pause)
        .with_layer(&rest)
        .with_layer(&address)
        .build())
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
