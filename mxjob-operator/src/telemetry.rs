//! Log lines, and what a collector of traces gets.

#[cfg(feature = "otel")]
mod traces;

use std::io::{self, IsTerminal as _};
use std::sync::OnceLock;

use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{EnvFilter, Layer as _, Registry, fmt, reload};

use crate::controller::LogFormat;

/// The libraries tell of every request that fails, and of every attempt at a watch that is forbidden.
/// Whoever sent it knows what it means, and says so once.
const TOLD_BY_OTHERS: [(&str, &str); 2] = [
    ("kube_client", "kube_client::client::builder=off"),
    ("kube_runtime", "kube_runtime::watcher=error"),
];

/// What chooses the lines; there is one log in a process.
static CHOSEN: OnceLock<reload::Handle<EnvFilter, Registry>> = OnceLock::new();

/// Sends log lines to standard error: those that `MXJOB_LOG`, or else `RUST_LOG`, asks for, by
/// default from level info. What was started before stays.
pub(crate) fn start(format: LogFormat) {
    let (filter, handle) = reload::Layer::new(by_environment());
    // A line that cannot be written has no place to be complained of.
    let lines = fmt::layer().log_internal_errors(false);
    let lines = lines.with_writer(io::stderr);
    let lines = lines.with_ansi(io::stderr().is_terminal());
    let lines = match format {
        LogFormat::Text => lines.with_target(false).with_filter(filter).boxed(),
        LogFormat::Json => lines.json().flatten_event(true).with_filter(filter).boxed(),
    };
    let registry = tracing_subscriber::registry().with(lines);
    #[cfg(feature = "otel")]
    let (registry, failed) = match traces::layer() {
        Ok(traces) => (registry.with(traces), None),
        Err(error) => (registry.with(None), Some(error)),
    };
    let started = registry.try_init();
    // A second start, as in tests, is no mistake.
    if started.is_ok() {
        CHOSEN.get_or_init(|| handle);
    }
    #[cfg(feature = "otel")]
    if let Some(error) = failed {
        tracing::warn!(%error, "no traces are sent");
    }
}

/// Sends what is left of the traces.
pub(crate) fn end() {
    #[cfg(feature = "otel")]
    traces::end();
}

/// What chooses the lines now.
pub(crate) fn chosen() -> String {
    let text = CHOSEN
        .get()
        .and_then(|handle| handle.with_current(ToString::to_string).ok());
    text.unwrap_or_default()
}

/// Chooses other lines from now on; of nothing, those of the start. The error says what is wrong.
pub(crate) fn choose(text: &str) -> Result<(), String> {
    let filter = match text.trim() {
        "" => by_environment(),
        text => {
            let filter = EnvFilter::builder().parse(text);
            quietly(filter.map_err(|error| format!("{text}: {error}"))?, text)
        }
    };
    let handle = CHOSEN.get().ok_or("this process has no log of its own")?;
    handle.reload(filter).map_err(|error| error.to_string())?;
    tracing::info!(filter = chosen(), "other log lines are asked for");
    Ok(())
}

fn by_environment() -> EnvFilter {
    let variable = ["MXJOB_LOG", "RUST_LOG"]
        .into_iter()
        .find(|name| std::env::var_os(name).is_some());
    let filter = EnvFilter::builder().with_default_directive(LevelFilter::INFO.into());
    let filter = filter
        .with_env_var(variable.unwrap_or("MXJOB_LOG"))
        .from_env_lossy();
    let asked_for = variable.and_then(|name| std::env::var(name).ok());
    quietly(filter, &asked_for.unwrap_or_default())
}

/// Without what nobody needs, unless it was asked for.
fn quietly(filter: EnvFilter, asked_for: &str) -> EnvFilter {
    let unasked = TOLD_BY_OTHERS
        .iter()
        .filter(|(library, _)| !asked_for.contains(library));
    unasked
        .filter_map(|(_, quiet)| quiet.parse().ok())
        .fold(filter, EnvFilter::add_directive)
}
