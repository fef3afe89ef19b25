//! Counts the client's requests, by what they ask for and what they are answered with. Whatever a
//! path or a server may say, there are only so many series.

use std::sync::Arc;
use std::task::{Context, Poll};

use futures::FutureExt as _;
use futures::future::BoxFuture;
use http::{Method, Request, Response, StatusCode};
use mxjob_core::RoleTable;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use tower::{Layer, Service};
use tracing::field::Empty;
use tracing::{Instrument as _, Span};

/// What a resource is called that the operator has no business with.
const OTHER: &str = "other";
/// The code of a request that nobody has answered, or nobody has waited for.
const UNANSWERED: &str = "none";

/// Resources that are asked for besides the jobs.
const RESOURCES: [&str; 9] = [
    "configmaps",
    "customresourcedefinitions",
    "deployments",
    "events",
    "jobs",
    "leases",
    "pods",
    "secrets",
    "services",
];

type Requests = Family<[(&'static str, String); 3], Counter>;

/// Counts the requests that pass.
#[derive(Clone, Debug)]
pub(in crate::controller) struct RequestLayer {
    apis: Arc<[&'static RoleTable]>,
    requests: Requests,
}

impl RequestLayer {
    pub(super) fn new(apis: Arc<[&'static RoleTable]>, requests: Requests) -> Self {
        Self { apis, requests }
    }

    fn record<B>(&self, request: &Request<B>) -> Record {
        let asked = Asked::of(
            request.method(),
            request.uri().path(),
            request.uri().query(),
        );
        Record {
            requests: self.requests.clone(),
            verb: asked.verb,
            resource: asked.resource(&self.apis),
            code: UNANSWERED.to_owned(),
        }
    }
}

impl<S> Layer<S> for RequestLayer {
    type Service = Counting<S>;

    fn layer(&self, inner: S) -> Counting<S> {
        Counting {
            layer: self.clone(),
            inner,
        }
    }
}

/// A client whose requests are counted.
#[derive(Clone, Debug)]
pub(in crate::controller) struct Counting<S> {
    layer: RequestLayer,
    inner: S,
}

impl<S, B, C> Service<Request<B>> for Counting<S>
where
    S: Service<Request<B>, Response = Response<C>>,
    S::Future: Send + 'static,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = BoxFuture<'static, Result<S::Response, S::Error>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let mut record = self.layer.record(&request);
        let span = record.span(request.uri().path());
        let answer = span.in_scope(|| self.inner.call(request));
        async move {
            let answer = answer.await;
            match &answer {
                Ok(response) => record.answered(response.status()),
                Err(_) => failed(),
            }
            drop(record);
            answer
        }
        .instrument(span)
        .boxed()
    }
}

/// One request. It counts when it is over, also when nobody waits for it any more.
#[derive(Debug)]
struct Record {
    requests: Requests,
    verb: &'static str,
    resource: String,
    code: String,
}

impl Record {
    /// In the words that OpenTelemetry has for them.
    fn span(&self, path: &str) -> Span {
        let (verb, resource) = (self.verb, &self.resource);
        tracing::debug_span!(
            "request",
            otel.name = format!("{verb} {resource}"),
            otel.kind = "client",
            url.path = path,
            http.response.status_code = Empty,
            otel.status_code = Empty,
        )
    }

    fn answered(&mut self, status: StatusCode) {
        self.code = code(status.as_u16());
        Span::current().record("http.response.status_code", status.as_u16());
        if status.is_client_error() || status.is_server_error() {
            failed();
        }
    }
}

/// Of the span that is entered.
fn failed() {
    Span::current().record("otel.status_code", "ERROR");
}

impl Drop for Record {
    fn drop(&mut self) {
        let labels = [
            ("verb", self.verb.to_owned()),
            ("resource", std::mem::take(&mut self.resource)),
            ("code", std::mem::take(&mut self.code)),
        ];
        self.requests.get_or_create(&labels).inc();
    }
}

/// Codes that HTTP knows; a server may answer others.
fn code(status: u16) -> String {
    match status {
        100..=599 => status.to_string(),
        _ => OTHER.to_owned(),
    }
}

/// What a request asks for, as the API server names it.
#[derive(Debug, PartialEq, Eq)]
struct Asked<'a> {
    verb: &'static str,
    resource: &'a str,
    subresource: Option<&'a str>,
}

impl<'a> Asked<'a> {
    fn of(method: &Method, path: &'a str, query: Option<&str>) -> Self {
        let parts: Vec<_> = path.split('/').filter(|part| !part.is_empty()).collect();
        let rest = match parts.as_slice() {
            ["api", _, rest @ ..] | ["apis", _, _, rest @ ..] => rest,
            _ => &[],
        };
        let rest = match rest {
            ["namespaces", _, rest @ ..] if !rest.is_empty() => rest,
            rest => rest,
        };
        let mut rest = rest.iter().copied();
        let (resource, name, subresource) = (rest.next(), rest.next(), rest.next());
        let watches = query.is_some_and(|query| {
            query
                .split('&')
                .any(|pair| matches!(pair, "watch=true" | "watch=1"))
        });
        let verb = match (method.as_str(), name) {
            ("GET", Some(_)) => "get",
            ("GET", None) if watches => "watch",
            ("GET", None) => "list",
            ("POST", _) => "create",
            ("PUT", _) => "update",
            ("PATCH", _) => "patch",
            ("DELETE", Some(_)) => "delete",
            ("DELETE", None) => "deletecollection",
            _ => OTHER,
        };
        Self {
            verb,
            resource: resource.unwrap_or_default(),
            subresource,
        }
    }

    /// `pods` or `mxjobs/status`; what is unknown is `other`.
    fn resource(&self, apis: &[&'static RoleTable]) -> String {
        let mut jobs = apis.iter().map(|table| table.crd.plural);
        let jobs = jobs.find(|one| *one == self.resource);
        let mut others = RESOURCES.into_iter();
        let known = jobs.or_else(|| others.find(|one| *one == self.resource));
        match (known, self.subresource) {
            (Some(known), None) => known.to_owned(),
            (Some(known), Some("status")) if jobs.is_some() => format!("{known}/status"),
            _ => OTHER.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::future;

    use mxjob_core::{MxRole, ReplicaRole as _};
    use tower::{ServiceExt as _, service_fn};

    use super::*;

    fn asked(method: &str, uri: &str) -> (&'static str, String) {
        let uri: http::Uri = uri.parse().unwrap();
        let method = Method::from_bytes(method.as_bytes()).unwrap();
        let asked = Asked::of(&method, uri.path(), uri.query());
        (asked.verb, asked.resource(&[MxRole::TABLE]))
    }

    #[test]
    fn a_request_is_named_as_the_server_names_it() {
        for (method, uri, verb, resource) in [
            (
                "GET",
                "/api/v1/pods?labelSelector=a&limit=500",
                "list",
                "pods",
            ),
            (
                "GET",
                "/api/v1/pods?&watch=true&timeoutSeconds=290",
                "watch",
                "pods",
            ),
            ("GET", "/api/v1/namespaces/lab/pods", "list", "pods"),
            ("GET", "/api/v1/namespaces/lab/pods/a", "get", "pods"),
            (
                "POST",
                "/api/v1/namespaces/lab/services?",
                "create",
                "services",
            ),
            (
                "DELETE",
                "/api/v1/namespaces/lab/configmaps/a",
                "delete",
                "configmaps",
            ),
            (
                "DELETE",
                "/api/v1/namespaces/lab/pods",
                "deletecollection",
                "pods",
            ),
            (
                "POST",
                "/apis/events.k8s.io/v1/namespaces/lab/events",
                "create",
                "events",
            ),
            (
                "PATCH",
                "/apis/kubeflow.org/v1/namespaces/lab/mxjobs/a/status",
                "patch",
                "mxjobs/status",
            ),
            (
                "DELETE",
                "/apis/kubeflow.org/v1/namespaces/lab/mxjobs/a",
                "delete",
                "mxjobs",
            ),
            (
                "PUT",
                "/apis/coordination.k8s.io/v1/namespaces/lab/leases/a",
                "update",
                "leases",
            ),
            (
                "PATCH",
                "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/mxjobs.kubeflow.org",
                "patch",
                "customresourcedefinitions",
            ),
        ] {
            assert_eq!(
                asked(method, uri),
                (verb, resource.to_owned()),
                "{method} {uri}"
            );
        }
    }

    // contract: 11.8
    #[test]
    fn what_is_unknown_is_other() {
        for uri in [
            "/",
            "/version",
            "/api/v1/namespaces/lab",
            "/api/v1/namespaces",
            "/api/v1/nodes",
            "/api/v1/namespaces/lab/pods/a/exec",
            "/apis/kubeflow.org/v1/namespaces/lab/tfjobs",
            "/apis/kubeflow.org/v1/namespaces/pods/my-job/pods",
        ] {
            assert_eq!(asked("GET", uri).1, OTHER, "{uri}");
        }
        assert_eq!(asked("BREW", "/api/v1/namespaces/lab/pods").0, OTHER);
        assert_eq!((code(999), code(429)), (OTHER.to_owned(), "429".to_owned()));
    }

    fn layer() -> RequestLayer {
        RequestLayer::new([MxRole::TABLE].into(), Family::default())
    }

    fn counted(layer: &RequestLayer, code: &str) -> u64 {
        let labels = [
            ("verb", "list".to_owned()),
            ("resource", "pods".to_owned()),
            ("code", code.to_owned()),
        ];
        layer.requests.get_or_create(&labels).get()
    }

    fn request() -> Request<()> {
        Request::get("/api/v1/pods").body(()).unwrap()
    }

    #[tokio::test]
    async fn an_answer_counts_once_under_its_code() {
        let layer = layer();
        let service = layer.layer(service_fn(|_| async {
            let mut response = Response::new(());
            *response.status_mut() = StatusCode::CONFLICT;
            Ok::<_, Infallible>(response)
        }));
        service.oneshot(request()).await.unwrap();
        assert_eq!(
            (counted(&layer, "409"), counted(&layer, UNANSWERED)),
            (1, 0)
        );
    }

    #[tokio::test]
    async fn a_request_without_an_answer_counts_too() {
        let layer = layer();
        let broken = layer.layer(service_fn(|_| async { Err::<Response<()>, _>("reset") }));
        broken.oneshot(request()).await.unwrap_err();
        assert_eq!(counted(&layer, UNANSWERED), 1);

        let silent = layer.layer(service_fn(|_| {
            future::pending::<Result<Response<()>, Infallible>>()
        }));
        let mut given_up = Box::pin(silent.oneshot(request()));
        assert!((&mut given_up).now_or_never().is_none());
        drop(given_up);
        assert_eq!(counted(&layer, UNANSWERED), 2);
    }
}
