//! What `mxjob operator` is told.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::manifest::ConfigFile;

/// Arguments of `mxjob operator`. Each is also an environment variable.
#[derive(Args, Clone, Debug)]
pub(crate) struct OperatorArgs {
    /// Look after the jobs of this namespace; give it more than once for more [default: all]
    #[arg(
        long,
        env = "MXJOB_NAMESPACE",
        value_delimiter = ',',
        value_name = "NAME"
    )]
    pub(crate) namespace: Vec<String>,

    /// Serve this API group; give it more than once for more
    #[arg(long, env = "MXJOB_API", value_delimiter = ',', value_name = "GROUP")]
    pub(crate) api: Vec<String>,

    /// Create or update the CustomResourceDefinition first
    #[arg(long, env = "MXJOB_INSTALL_CRDS")]
    pub(crate) install_crds: bool,

    /// Where the cluster is [default: KUBECONFIG, USE_KUBE_CONFIG, the pod's service account,
    /// ~/.kube/config]
    #[arg(long, env = "MXJOB_KUBECONFIG", value_name = "FILE")]
    pub(crate) kubeconfig: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) config: ConfigFile,

    /// Where metrics are served, at /metrics; 0: nowhere
    #[arg(
        long,
        env = "MXJOB_METRICS_BIND_ADDRESS",
        default_value = ":8080",
        value_name = "ADDRESS"
    )]
    pub(crate) metrics_bind_address: String,

    /// Where it is said whether the operator is alive and ready, at /healthz and /readyz; 0: nowhere
    #[arg(
        long,
        env = "MXJOB_HEALTH_PROBE_BIND_ADDRESS",
        default_value = ":8081",
        value_name = "ADDRESS"
    )]
    pub(crate) health_probe_bind_address: String,

    /// How log lines are written
    #[arg(long, env = "MXJOB_LOG_FORMAT", default_value = "text")]
    pub(crate) log_format: LogFormat,
}

/// How log lines are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// One JSON object a line.
    Json,
}
