//! What `mxjob operator` is told.

use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::BoolishValueParser;
use clap::{ArgAction, Args, ValueEnum};
use jiff::SignedDuration;

use super::lead::{LONGEST, SHORTEST};
use crate::manifest::ConfigFile;
use crate::rights::SECRET;
use crate::webhook::WebhookUrl;

/// How long certificates may be good. That of a few seconds is for tests.
const LIFETIMES: RangeInclusive<Duration> = Duration::from_secs(5)..=Duration::from_hours(87_600);

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

    /// Start although a Deployment of another operator, which looks after the same jobs, is ready
    #[arg(long, env = "MXJOB_FORCE_TAKEOVER")]
    pub(crate) force_takeover: bool,

    #[command(flatten)]
    pub(crate) election: ElectionArgs,

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

    #[command(flatten)]
    pub(crate) certificate: CertificateArgs,

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

/// Where the webhook's certificate is kept, and how long it is good.
#[derive(Args, Clone, Debug)]
pub(crate) struct CertificateArgs {
    /// Name of the Secret with the webhook's certificate, in the operator's own namespace: operators
    /// that are reached by one address have the same
    #[arg(
        long = "webhook-secret",
        env = "MXJOB_WEBHOOK_SECRET",
        default_value = SECRET,
        value_parser = object_name,
        value_name = "NAME"
    )]
    pub(crate) secret: String,

    /// Never write that Secret: cert-manager, or somebody else, keeps tls.crt, tls.key and ca.crt there
    #[arg(
        long = "webhook-secret-read-only",
        env = "MXJOB_WEBHOOK_SECRET_READ_ONLY"
    )]
    pub(crate) read_only: bool,

    /// How long a certificate is good that the operator makes; it is renewed after two thirds of that
    #[arg(
        long = "webhook-certificate-lifetime",
        env = "MXJOB_WEBHOOK_CERTIFICATE_LIFETIME",
        default_value = "2160h",
        value_parser = lifetime,
        value_name = "DURATION"
    )]
    pub(crate) lifetime: Duration,
}

/// How one of several operators is chosen to look after the jobs.
#[derive(Args, Clone, Debug)]
pub(crate) struct ElectionArgs {
    /// Look after jobs only while holding a lease that no other operator holds [default: true]
    #[arg(
        long,
        env = "MXJOB_LEADER_ELECT",
        action = ArgAction::Set,
        num_args = 0..=1,
        require_equals = true,
        default_value = "true",
        default_missing_value = "true",
        hide_default_value = true,
        hide_possible_values = true,
        value_parser = BoolishValueParser::new(),
        value_name = "BOOL"
    )]
    pub(crate) leader_elect: bool,

    /// Name of the lease, in the operator's own namespace: operators of the same jobs have the same
    #[arg(
        long,
        alias = "leader-election-id",
        env = "MXJOB_LEASE_NAME",
        default_value = "mxjob-operator",
        value_parser = object_name,
        value_name = "NAME"
    )]
    pub(crate) lease_name: String,

    /// After how long another operator looks after the jobs when this one says nothing; 2s to 60s
    #[arg(
        long,
        env = "MXJOB_LEASE_DURATION",
        default_value = "5s",
        value_parser = lease_duration,
        value_name = "DURATION"
    )]
    pub(crate) lease_duration: Duration,
}

/// Reads how long a certificate is good.
fn lifetime(text: &str) -> Result<Duration, String> {
    let read: Option<SignedDuration> = text.trim().parse().ok();
    let duration = read.and_then(|read| Duration::try_from(read).ok());
    duration
        .filter(|one| LIFETIMES.contains(one))
        .ok_or_else(|| "must be from 5s to 87600h, like 2160h".to_owned())
}

/// Reads the name of an object.
pub(crate) fn object_name(name: &str) -> Result<String, &'static str> {
    let letter = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let part = |part: &str| {
        part.bytes().all(|byte| letter(byte) || byte == b'-')
            && part.bytes().next().is_some_and(letter)
            && part.bytes().last().is_some_and(letter)
    };
    if name.len() <= 253 && name.split('.').all(part) {
        return Ok(name.to_owned());
    }
    Err(
        "must be lower-case letters, digits, - and . within, 253 at most, as Kubernetes names objects",
    )
}

/// Reads how long a lease is: the cluster knows whole seconds.
fn lease_duration(text: &str) -> Result<Duration, String> {
    let range = format!(
        "must be whole seconds from {}s to {}s, like 5s",
        SHORTEST.as_secs(),
        LONGEST.as_secs()
    );
    let read: Option<SignedDuration> = text.trim().parse().ok();
    let duration = read.and_then(|read| Duration::try_from(read).ok());
    duration
        .filter(|one| (SHORTEST..=LONGEST).contains(one) && one.subsec_nanos() == 0)
        .ok_or(range)
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

    fn election(arguments: &[&str]) -> Result<ElectionArgs, String> {
        let line = Line::try_parse_from([&["operator"], arguments].concat());
        line.map(|line| line.args.election)
            .map_err(|error| error.to_string())
    }

    #[test]
    fn a_leader_is_elected_unless_told_otherwise() {
        for (arguments, wanted) in [
            ([].as_slice(), true),
            (&["--leader-elect"], true),
            (&["--leader-elect=true"], true),
            (&["--leader-elect=false"], false),
            (&["--leader-elect=no"], false),
        ] {
            let read = election(arguments).unwrap();
            assert_eq!(read.leader_elect, wanted, "{arguments:?}");
            assert_eq!(read.lease_name, "mxjob-operator");
            assert_eq!(read.lease_duration, Duration::from_secs(5));
        }
        assert!(election(&["--leader-elect=maybe"]).is_err());
        let named = election(&["--leader-election-id=mine"]).unwrap();
        assert_eq!(named.lease_name, "mine");
    }

    #[test]
    fn a_lease_that_cannot_be_is_refused() {
        for (text, seconds) in [("2s", 2), ("15s", 15), ("1m", 60), ("60s", 60)] {
            let read = election(&["--lease-duration", text]).unwrap();
            assert_eq!(read.lease_duration.as_secs(), seconds, "{text}");
        }
        for bad in ["", "5", "1s", "0s", "61s", "2500ms", "-5s", "soon", "1h"] {
            let error = election(&[&format!("--lease-duration={bad}")]).unwrap_err();
            let wanted = "must be whole seconds from 2s to 60s, like 5s";
            assert!(
                error.contains("--lease-duration") && error.contains(wanted),
                "{bad}: {error}"
            );
        }
        assert!(election(&["--lease-name", "team-1.mxjob"]).is_ok());
        for bad in ["", "A", "-a", "a-", "a..b", "a_b", &"a".repeat(254)] {
            let error = election(&[&format!("--lease-name={bad}")]).unwrap_err();
            assert!(error.contains("--lease-name"), "{bad}: {error}");
        }
    }

    #[test]
    fn a_certificate_that_cannot_be_is_refused() {
        let certificate = |arguments: &[&str]| {
            let line = Line::try_parse_from([&["operator"], arguments].concat());
            line.map(|line| line.args.certificate)
                .map_err(|error| error.to_string())
        };
        let read = certificate(&[]).unwrap();
        assert_eq!(read.secret, "mxjob-webhook");
        assert!(!read.read_only);
        let day = Duration::from_hours(24);
        assert_eq!(read.lifetime, day * 90);
        for (text, lifetime) in [("24h", day), ("5s", Duration::from_secs(5))] {
            let read = certificate(&["--webhook-certificate-lifetime", text]).unwrap();
            assert_eq!(read.lifetime, lifetime, "{text}");
        }
        for bad in ["", "5", "4s", "87601h", "-1h", "soon"] {
            let flag = format!("--webhook-certificate-lifetime={bad}");
            let error = certificate(&[&flag]).unwrap_err();
            let wanted = "must be from 5s to 87600h, like 2160h";
            assert!(error.contains(wanted), "{bad}: {error}");
        }
        assert!(certificate(&["--webhook-secret", "Mine"]).is_err());
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
