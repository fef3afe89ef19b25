//! Log lines.

use std::io::{self, IsTerminal as _};

use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::LevelFilter;

use crate::controller::LogFormat;

/// The client calls every request that fails an error. Whoever sent it knows what it means, and says
/// so once.
const EVERY_FAILED_REQUEST: &str = "kube_client::client::builder=off";

/// Sends log lines to standard error: those that `MXJOB_LOG`, or else `RUST_LOG`, asks for, by
/// default from level info. What was started before stays.
pub(crate) fn start(format: LogFormat) {
    let variable = ["MXJOB_LOG", "RUST_LOG"]
        .into_iter()
        .find(|name| std::env::var_os(name).is_some());
    let filter = EnvFilter::builder().with_default_directive(LevelFilter::INFO.into());
    let mut filter = filter
        .with_env_var(variable.unwrap_or("MXJOB_LOG"))
        .from_env_lossy();
    let asked_for = variable.and_then(|name| std::env::var(name).ok());
    if !asked_for.is_some_and(|text| text.contains("kube_client"))
        && let Ok(quiet) = EVERY_FAILED_REQUEST.parse()
    {
        filter = filter.add_directive(quiet);
    }
    let lines = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(io::stderr);
    let lines = lines.with_ansi(io::stderr().is_terminal());
    // A second start, as in tests, is no mistake.
    let _ = match format {
        LogFormat::Text => lines.with_target(false).try_init(),
        LogFormat::Json => lines.json().flatten_event(true).try_init(),
    };
}
