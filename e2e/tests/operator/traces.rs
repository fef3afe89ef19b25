//! A collector of OpenTelemetry gets what the operator did, and one that is away costs nothing.

use std::convert::Infallible;
use std::fs;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt as _;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use e2e::deadline::{Seen, until};
use e2e::{ControlPlane, ports};
use http::{Request, Response};
use http_body_util::{BodyExt as _, Empty};
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue};
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, Span};
use prost::Message as _;
use tempfile::TempDir;
use tokio::net::TcpListener;

use crate::bench::{Bench, Operator, PATIENCE, training};

/// A collector; what it got.
#[derive(Clone, Default)]
struct Collector(Arc<Mutex<Vec<ResourceSpans>>>);

impl Collector {
    async fn start() -> Result<(Self, SocketAddr)> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let address = listener.local_addr()?;
        let collector = Self::default();
        let mine = collector.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let mine = mine.clone();
                let service = service_fn(move |request| mine.clone().take(request));
                tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
            }
        });
        Ok((collector, address))
    }

    async fn take(self, request: Request<Incoming>) -> Result<Response<Empty<Bytes>>, Infallible> {
        let right = request.uri().path() == "/v1/traces";
        let body = request.into_body().collect().await;
        let bytes = body
            .map(http_body_util::Collected::to_bytes)
            .unwrap_or_default();
        if let Ok(batch) = ExportTraceServiceRequest::decode(bytes)
            && right
        {
            let mut got = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            got.extend(batch.resource_spans);
        }
        Ok(Response::new(Empty::new()))
    }

    fn spans(&self) -> Vec<Span> {
        let got = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let scopes = got.iter().flat_map(|one| &one.scope_spans);
        scopes.flat_map(|scope| scope.spans.clone()).collect()
    }

    fn services(&self) -> Vec<String> {
        let got = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let resources = got.iter().filter_map(|one| one.resource.as_ref());
        let names = resources.map(|resource| text(&resource.attributes, "service.name"));
        names.collect()
    }
}

fn text(attributes: &[KeyValue], key: &str) -> String {
    let found = attributes.iter().find(|one| one.key == key);
    match found.and_then(|one| one.value.as_ref()) {
        Some(AnyValue {
            value: Some(Value::StringValue(text)),
        }) => text.clone(),
        other => format!("{other:?}"),
    }
}

/// An operator with these variables.
fn start(plane: &ControlPlane, namespace: &str, variables: &str) -> Result<(Operator, TempDir)> {
    let folder = tempfile::tempdir()?;
    let script = folder.path().join("mxjob");
    let program = env!("CARGO_BIN_EXE_e2e-mxjob");
    let text = format!("#!/bin/sh\nexport {variables}\nexec '{program}' \"$@\"\n");
    fs::write(&script, text)?;
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755))?;
    let arguments = ["--namespace", namespace];
    let operator = Operator::start_program(&script.to_string_lossy(), plane, &arguments)?;
    Ok((operator, folder))
}

/// What the span is a part of.
fn above<'a>(spans: &'a [Span], span: &Span) -> Option<&'a Span> {
    spans.iter().find(|one| one.span_id == span.parent_span_id)
}

// contract: 11.30
#[tokio::test]
async fn a_collector_gets_each_look_with_its_waits_and_its_requests() -> Result<()> {
    let (bench, plane) = Bench::shared("traces").await?;
    let (collector, address) = Collector::start().await?;
    let variables =
        format!("OTEL_EXPORTER_OTLP_ENDPOINT=http://{address} OTEL_BSP_SCHEDULE_DELAY=100");
    let (operator, _folder) = start(plane, &bench.namespace, &variables)?;
    bench.create(&training("digits", 1, 2)).await?;
    bench.pods(4).await?;
    let is = |span: &Span, name: &str| span.name == name;
    let what = "the spans of four pods";
    let spans = until(what, PATIENCE, || async {
        let spans = collector.spans();
        let pods = spans.iter().filter(|span| is(span, "create pods")).count();
        // A look is sent when it has ended, after its requests.
        let names = ["create pods", "create services", "turn"];
        let has_look = |name: &&str| {
            let span = spans.iter().find(|span| is(span, name));
            span.is_some_and(|span| above(&spans, span).is_some())
        };
        Ok(if pods >= 4 && names.iter().all(has_look) {
            Seen::Done(spans)
        } else {
            let names: Vec<_> = spans.iter().map(|span| span.name.clone()).collect();
            Seen::NotYet(names.join(", "))
        })
    })
    .await?;
    for name in ["create pods", "create services", "turn"] {
        let span = spans.iter().find(|span| is(span, name)).context(name)?;
        let look = above(&spans, span).with_context(|| format!("{name} is alone"))?;
        ensure!(is(look, "reconcile"), "{look:?}");
        ensure!(text(&look.attributes, "job") == "digits", "{look:?}");
        ensure!(
            text(&look.attributes, "namespace") == bench.namespace,
            "{look:?}"
        );
        ensure!(look.trace_id == span.trace_id, "{span:?}");
    }
    let services = collector.services();
    ensure!(services.iter().all(|name| name == "mxjob"), "{services:?}");
    // Of its log it says as much as without.
    let log = operator.log()?;
    ensure!(!log.contains("reconcile{"), "{log}");
    Ok(())
}

// contract: 11.30
#[tokio::test]
async fn the_service_is_called_as_the_environment_says() -> Result<()> {
    let (bench, plane) = Bench::shared("traces-named").await?;
    for name in [
        "OTEL_SERVICE_NAME=lab",
        "OTEL_RESOURCE_ATTRIBUTES=team=vision,service.name=lab",
    ] {
        let (collector, address) = Collector::start().await?;
        let variables = format!(
            "OTEL_EXPORTER_OTLP_ENDPOINT=http://{address} OTEL_BSP_SCHEDULE_DELAY=100 {name}"
        );
        let _operator = start(plane, &bench.namespace, &variables)?;
        let services = until("a span", PATIENCE, || async {
            let services = collector.services();
            Ok(if services.is_empty() {
                Seen::NotYet("none".to_owned())
            } else {
                Seen::Done(services)
            })
        })
        .await?;
        ensure!(
            services.iter().all(|one| one == "lab"),
            "{name}: {services:?}"
        );
    }
    Ok(())
}

// contract: 11.30
#[tokio::test]
async fn a_collector_that_is_away_is_missed_once_and_holds_up_nothing() -> Result<()> {
    let (bench, plane) = Bench::shared("no-collector").await?;
    let port = ports::free()?;
    let variables =
        format!("OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:{port} OTEL_BSP_SCHEDULE_DELAY=100");
    let (mut operator, _folder) = start(plane, &bench.namespace, &variables)?;
    bench.create(&training("first", 1, 1)).await?;
    operator.says("traces cannot be sent").await?;
    bench.create(&training("second", 1, 1)).await?;
    bench.pods(6).await?;
    operator.tell_to_stop()?;
    let status = operator.end(Duration::from_secs(5)).await?;
    ensure!(status.success(), "{status}");
    let log = operator.log()?;
    ensure!(log.matches("traces cannot be sent").count() == 1, "{log}");
    Ok(())
}

// contract: 11.30
#[tokio::test]
async fn a_collector_that_has_no_address_is_told() -> Result<()> {
    let (bench, plane) = Bench::shared("odd-collector").await?;
    let variables = "OTEL_EXPORTER_OTLP_ENDPOINT='not an address'";
    let (operator, _folder) = start(plane, &bench.namespace, variables)?;
    operator.says("no traces are sent").await?;
    bench.create(&training("digits", 1, 1)).await?;
    bench.pods(3).await.map(drop)
}
