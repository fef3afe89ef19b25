//! Log lines.

use std::io::{self, IsTerminal as _};

use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::LevelFilter;

use crate::controller::LogFormat;

/// Sends log lines to standard error: those that `MXJOB_LOG`, or else `RUST_LOG`, asks for, by
/// default from level info. What was started before stays.
pub(crate) fn start(format: LogFormat) {
    let variable = ["MXJOB_LOG", "RUST_LOG"]
        .into_iter()
        .find(|name| std::env::var_os(name).is_some());
    let filter = EnvFilter::builder().with_default_directive(LevelFilter::INFO.into());
    let filter = filter
        .with_env_var(variable.unwrap_or("MXJOB_LOG"))
        .from_env_lossy();
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
