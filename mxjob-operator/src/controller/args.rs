//! What `mxjob operator` is told.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::manifest::ConfigFile;
use crate::webhook::WebhookUrl;

/// Arguments of `mxjob operator`. Each is also an environment variable.
#[derive(Args, Clone, Debug)]
pub(crate) struct OperatorArgs {
    /// Look after the jobs of this namespace; give it more than once for more [default: all]
    #[arg(
        long,
        env = "MXJOB_NAMESPACE",
        value_delimiter = ',',
        value_parser = namespace,
        value_name = "NAME"
    )]
    pub(crate) namespace: Vec<String>,

    /// Serve this API group; give it more than once for more
    #[arg(long, env = "MXJOB_API", value_delimiter = ',', value_name = "GROUP")]
    pub(crate) api: Vec<String>,

    /// Create or update the CustomResourceDefinition first
    #[arg(long, env = "MXJOB_INSTALL_CRDS")]
    pub(crate) install_crds: bool,

    /// Start although a Deployment of an older operator, which looks after the same jobs, is ready
    #[arg(long, env = "MXJOB_FORCE_TAKEOVER")]
    pub(crate) force_takeover: bool,

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

    /// Where jobs are converted between versions, over HTTPS; 0: nowhere
    #[arg(
        long,
        env = "MXJOB_WEBHOOK_BIND_ADDRESS",
        default_value = ":9443",
        value_name = "ADDRESS"
    )]
    pub(crate) webhook_bind_address: String,

    /// Where the API server reaches that address, like https://host:9443 [default: in a pod the
    /// Service mxjob-webhook of the own namespace]
    #[arg(
        long,
        env = "MXJOB_WEBHOOK_URL",
        default_value = "",
        hide_default_value = true,
        value_name = "URL"
    )]
    pub(crate) webhook_url: WebhookUrl,

    /// The namespace that the operator itself is in [default: POD_NAMESPACE, MY_POD_NAMESPACE,
    /// KUBEFLOW_NAMESPACE, the pod's service account, default]
    #[arg(
        long,
        env = "MXJOB_OWN_NAMESPACE",
        value_parser = namespace,
        value_name = "NAME"
    )]
    pub(crate) own_namespace: Option<String>,

    /// How log lines are written
    #[arg(long, env = "MXJOB_LOG_FORMAT", default_value = "text")]
    pub(crate) log_format: LogFormat,
}

/// Reads the name of a namespace. An environment variable that is set to nothing means none.
pub(crate) fn namespace(name: &str) -> Result<String, &'static str> {
    let letter = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let fits = name.len() <= 63
        && name.bytes().all(|byte| letter(byte) || byte == b'-')
        && !name.starts_with('-')
        && !name.ends_with('-');
    if fits {
        return Ok(name.to_owned());
    }
    Err(
        "must be lower-case letters, digits and - within, 63 at most, as Kubernetes names namespaces",
    )
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

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        args: OperatorArgs,
    }

    fn namespaces(given: &str) -> Result<Vec<String>, String> {
        let line = Line::try_parse_from(["operator", &format!("--namespace={given}")]);
        line.map(|line| line.args.namespace)
            .map_err(|error| error.to_string())
    }

    #[test]
    fn a_namespace_that_cannot_be_is_refused() {
        assert_eq!(namespaces("a,team-1").unwrap(), ["a", "team-1"]);
        assert_eq!(namespaces("").unwrap(), [""]);
        let long = "a".repeat(64);
        for bad in ["Bad_NS", "a,B", "-a", "a-", "a.b", "a/b", &long] {
            let error = namespaces(bad).unwrap_err();
            assert!(
                error.contains("--namespace") && error.contains("must be lower-case letters"),
                "{bad}: {error}"
            );
        }
    }
}
