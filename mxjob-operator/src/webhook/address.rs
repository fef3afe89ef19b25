//! Where the apiserver finds the webhook.

use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use http::Uri;
use http::uri::Scheme;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    ServiceReference, WebhookClientConfig,
};
use mxjob_core::schema::WEBHOOK_SERVICE;

pub(super) use mxjob_core::schema::WEBHOOK_PATH as PATH;

const SERVICE_PORT: i32 = 443;
/// Until proxies of nodes and API servers know that the pod is no longer ready: when the last one has come. The
/// operator stops within 5 s then, and always within the 15 s that its pod is given.
const FAREWELL: Farewell = Farewell {
    unnoticed: Duration::from_secs(7),
    quiet: Duration::from_secs(3),
    open: Duration::from_secs(8),
    silence: Duration::from_secs(1),
    new: Duration::from_secs(4),
    answers: Duration::from_secs(4),
};
/// Of an address nobody is told that it is gone.
pub(super) const AT_ONCE: Farewell = Farewell {
    unnoticed: Duration::ZERO,
    quiet: Duration::ZERO,
    open: Duration::ZERO,
    silence: Duration::ZERO,
    new: Duration::ZERO,
    answers: Duration::from_secs(1),
};

/// How a webhook goes when it is time to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Farewell {
    /// When nobody has told it to go, so long until the three probes have failed, two seconds apart, that
    /// tell the others.
    pub(super) unnoticed: Duration,
    /// It closes when so long nobody has come,
    pub(super) quiet: Duration,
    /// or at the latest after this.
    pub(super) open: Duration,
    /// So long after that a connection may rest,
    pub(super) silence: Duration,
    /// and so long after it has come: its client is about to ask, however slow its machine is.
    pub(super) new: Duration,
    /// So long then the answers under way are waited for.
    pub(super) answers: Duration,
}

/// What the apiserver takes for a webhook's address; empty: none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct WebhookUrl {
    text: Arc<str>,
    host: Arc<str>,
}

impl FromStr for WebhookUrl {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text.is_empty() {
            return Ok(Self::default());
        }
        let uri: Uri = text
            .parse()
            .map_err(|_| "must be a URL like https://host:9443")?;
        if uri.scheme() != Some(&Scheme::HTTPS) {
            return Err("must begin with https://: the apiserver calls webhooks by no other way");
        }
        let authority = uri.authority().map_or("", |authority| authority.as_str());
        if uri.query().is_some() || text.contains('#') || authority.contains('@') {
            return Err(
                "must have no query, no fragment and no user: the apiserver does not take them",
            );
        }
        let host = uri.host().unwrap_or_default();
        if host.is_empty() {
            return Err("must name a host");
        }
        let path = if uri.path() == "/" { PATH } else { uri.path() };
        Ok(Self {
            text: format!("https://{authority}{path}").into(),
            host: host.trim_matches(['[', ']']).into(),
        })
    }
}

/// How the apiserver gets to the webhook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// At this address.
    Url(WebhookUrl),
    /// By the Service in this namespace.
    Service(String),
}

impl Reach {
    /// An address goes before the Service, which leads to pods only. `None`: by no way.
    pub(crate) fn choose(url: &WebhookUrl, in_pod: bool, namespace: &str) -> Option<Self> {
        if !url.text.is_empty() {
            return Some(Self::Url(url.clone()));
        }
        in_pod.then(|| Self::Service(namespace.to_owned()))
    }

    /// The names that the certificate is for.
    pub(super) fn names(&self) -> Vec<String> {
        match self {
            Self::Url(url) => vec![url.host.to_string()],
            Self::Service(namespace) => {
                let name = format!("{WEBHOOK_SERVICE}.{namespace}.svc");
                vec![format!("{name}.cluster.local"), name]
            }
        }
    }

    /// How to go when it is time to stop: the apiserver may still come.
    pub(super) fn farewell(this: Option<&Self>) -> Farewell {
        match this {
            None | Some(Self::Url(_)) => AT_ONCE,
            Some(Self::Service(_)) => FAREWELL,
        }
    }

    /// What the apiserver is told, without whom to trust.
    pub(super) fn client(&self) -> WebhookClientConfig {
        let mut client = WebhookClientConfig::default();
        match self {
            Self::Url(url) => client.url = Some(url.text.to_string()),
            Self::Service(namespace) => {
                client.service = Some(ServiceReference {
                    name: WEBHOOK_SERVICE.to_owned(),
                    namespace: namespace.clone(),
                    path: Some(PATH.to_owned()),
                    port: Some(SERVICE_PORT),
                });
            }
        }
        client
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_completed() {
        for (given, url, host) in [
            (
                "https://127.0.0.1:9443",
                "https://127.0.0.1:9443/convert",
                "127.0.0.1",
            ),
            ("https://[::1]:9443/", "https://[::1]:9443/convert", "::1"),
            (
                "https://example.org/mx/convert",
                "https://example.org/mx/convert",
                "example.org",
            ),
            (
                "HTTPS://Example.org",
                "https://Example.org/convert",
                "Example.org",
            ),
        ] {
            let parsed: WebhookUrl = given.parse().unwrap();
            let reach = Reach::choose(&parsed, true, "lab").unwrap();
            assert_eq!(reach.client().url.as_deref(), Some(url), "{given}");
            assert_eq!(reach.client().service, None);
            assert_eq!(reach.names(), [host]);
        }
    }

    #[test]
    fn an_address_that_the_apiserver_would_not_take_is_refused() {
        for (given, why) in [
            ("http://127.0.0.1:9443", "must begin with https://"),
            ("127.0.0.1:9443", "must begin with https://"),
            ("/convert", "must begin with https://"),
            ("https://host/convert?a=b", "must have no query"),
            ("https://host/convert#a", "must have no query"),
            ("https://me:secret@host/", "must have no query"),
            ("https://", "must be a URL"),
            ("https://a b", "must be a URL"),
        ] {
            let error = given.parse::<WebhookUrl>().unwrap_err();
            assert!(error.starts_with(why), "{given}: {error}");
        }
    }

    #[test]
    fn a_pod_is_reached_by_its_service_and_a_program_elsewhere_by_no_way() {
        let none: WebhookUrl = "".parse().unwrap();
        let reach = Reach::choose(&none, true, "lab").unwrap();
        let client = serde_json::to_value(reach.client()).unwrap();
        let service = serde_json::json!({
            "name": "mxjob-webhook", "namespace": "lab", "path": "/convert", "port": 443,
        });
        assert_eq!(client, serde_json::json!({"service": service}));
        let names = [
            "mxjob-webhook.lab.svc.cluster.local",
            "mxjob-webhook.lab.svc",
        ];
        assert_eq!(reach.names(), names);
        assert_eq!(Reach::choose(&none, false, "lab"), None);
        let elsewhere = "https://127.0.0.1".parse().unwrap();
        let elsewhere = Reach::choose(&elsewhere, true, "lab").unwrap();
        assert_eq!(Reach::farewell(Some(&elsewhere)), AT_ONCE);
        assert_eq!(Reach::farewell(Some(&reach)), FAREWELL);
        assert!((FAREWELL.quiet + FAREWELL.silence).as_secs() < 5);
        assert!((FAREWELL.open + FAREWELL.silence + FAREWELL.answers).as_secs() < 15);
    }
}
