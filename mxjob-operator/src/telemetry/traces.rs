//! Spans for a collector of OpenTelemetry, over OTLP. Where it is and what it gets is said by the variables
//! that the OpenTelemetry specification names.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use opentelemetry::trace::TracerProvider as _;
use opentelemetry_otlp::ExporterBuildError;
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::trace::{SdkTracerProvider, SpanData, SpanExporter};
use tracing::{Level, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::registry::LookupSpan;

/// Either of them names a collector.
const COLLECTOR: [&str; 2] = [
    "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
    "OTEL_EXPORTER_OTLP_ENDPOINT",
];
/// What the service is called, unless the environment says otherwise.
const NAME: &str = "mxjob";
/// What the last spans may take when the program ends.
const GOODBYE: Duration = Duration::from_secs(1);

/// There is one in a process.
static PROVIDER: OnceLock<SdkTracerProvider> = OnceLock::new();

/// Sends the spans of the operator to the collector that the environment names; `None`: it names none.
pub(super) fn layer<S>() -> Result<Option<impl Layer<S> + Send + Sync>, ExporterBuildError>
where
    S: Subscriber + for<'a> LookupSpan<'a> + Send + Sync,
{
    let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    if !COLLECTOR.into_iter().any(is_set) {
        return Ok(None);
    }
    let exporter = opentelemetry_otlp::SpanExporter::builder()
        .with_http()
        .build()?;
    let resource = Resource::builder();
    let attributes = std::env::var("OTEL_RESOURCE_ATTRIBUTES").unwrap_or_default();
    let mut attributes = attributes.split(',').map(str::trim_start);
    let is_named = is_set("OTEL_SERVICE_NAME")
        || attributes.any(|attribute| attribute.starts_with("service.name="));
    let resource = if is_named {
        resource
    } else {
        resource.with_service_name(NAME)
    };
    let provider = SdkTracerProvider::builder()
        .with_batch_exporter(Telling {
            exporter,
            fails: AtomicBool::new(false),
        })
        .with_resource(resource.build())
        .build();
    let tracer = PROVIDER.get_or_init(|| provider).tracer(NAME);
    let own = Targets::new().with_target("mxjob_operator", Level::DEBUG);
    let layer = tracing_opentelemetry::layer().with_tracer(tracer);
    Ok(Some(layer.with_filter(own)))
}

/// Sends what is left.
pub(super) fn end() {
    if let Some(Err(error)) = PROVIDER
        .get()
        .map(|provider| provider.shutdown_with_timeout(GOODBYE))
    {
        tracing::warn!(%error, "the last traces were not sent");
    }
}

/// Says once that the collector cannot be reached, and that it can be again.
#[derive(Debug)]
struct Telling<E> {
    exporter: E,
    fails: AtomicBool,
}

impl<E: SpanExporter> SpanExporter for Telling<E> {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        let sent = self.exporter.export(batch).await;
        let failed = self.fails.swap(sent.is_err(), Ordering::Relaxed);
        match &sent {
            Err(error) if !failed => {
                tracing::warn!(%error, "traces cannot be sent: those of this time are lost");
            }
            Ok(()) if failed => tracing::info!("traces are sent again"),
            _ => {}
        }
        sent
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.exporter.shutdown_with_timeout(timeout)
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.exporter.force_flush()
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.exporter.set_resource(resource);
    }
}
