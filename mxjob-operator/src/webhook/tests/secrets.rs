//! What becomes of the Secret, and of operators that cannot use it.

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kube::runtime::watcher::{self, Event};

use super::cluster::{Cluster, merge};
use super::*;

const DAY: Duration = Duration::from_hours(24);
/// Nothing is written more often.
const TURN: Duration = Duration::from_secs(10);
const RESOURCE: &str = "/api/v1/namespaces/lab/secrets";
const WRITE: &str =
    "PATCH /api/v1/namespaces/lab/secrets/mxjob-webhook?&fieldManager=mxjob-webhook application";

/// An operator, as far as the Secret is concerned.
struct Operator {
    vault: Vault,
    rotation: Rotation,
}

impl Operator {
    async fn start(cluster: &Cluster) -> Self {
        Self::start_at(cluster, place()).await
    }

    async fn start_at(cluster: &Cluster, place: Place) -> Self {
        let slow = Pace { lifetime: LIFETIME };
        let mut operator = Self {
            vault: Vault::new(&cluster.client(), place),
            rotation: Rotation::new(here().names(), slow),
        };
        operator.vault.open(&mut operator.rotation).await.unwrap();
        operator
    }

    /// The CA of what it shows.
    fn shows(&self) -> String {
        self.rotation.authorities()[0].to_owned()
    }

    /// Hears what stands there now, when it may write again.
    async fn hears(&mut self, cluster: &Cluster) {
        tokio::time::advance(TURN).await;
        let event = match cluster.secret() {
            Some(secret) => Event::Apply(serde_json::from_value(secret).unwrap()),
            None => Event::Delete(Secret::default()),
        };
        self.vault.learn(Ok(event));
        self.tend().await;
    }

    async fn tend(&mut self) {
        self.vault.tend(&mut self.rotation).await.unwrap();
    }

    /// All CAs are known for long.
    async fn is_trusted(&mut self) {
        let all: Vec<_> = self
            .rotation
            .authorities()
            .into_iter()
            .map(str::to_owned)
            .collect();
        let all: Vec<_> = all.iter().map(String::as_str).collect();
        self.rotation.trusted(&all, Instant::now());
        tokio::time::advance(Duration::from_mins(1)).await;
        self.tend().await;
    }
}

fn base64(text: &str) -> Value {
    json!(ByteString(text.as_bytes().to_vec()))
}

/// A certificate of that age for these names, as a Secret's data.
fn data(names: &[String], age: Duration) -> Value {
    let identity = identity::Identity::new(names, LIFETIME, SystemTime::now() - age).unwrap();
    let parts = identity.parts();
    json!({"data": parts.iter().map(|(name, text)| ((*name).to_owned(), base64(text))).collect::<serde_json::Map<_, _>>()})
}

fn certificate(secret: &Value) -> &Value {
    &secret["data"]["tls.crt"]
}

// contract: 11.23
#[tokio::test(start_paused = true)]
async fn the_first_operator_makes_it_by_its_name_and_the_others_show_the_same() {
    let cluster = Cluster::default();
    let first = Operator::start(&cluster).await;
    let asked = cluster.asked();
    let list = format!("GET {RESOURCE}?&fieldSelector=metadata.name%3Dmxjob-webhook");
    assert!(asked[0].starts_with(&list), "{asked:?}");
    let writes = [
        format!("{WRITE}/apply-patch+yaml"),
        format!("{WRITE}/merge-patch+json"),
    ];
    assert_eq!(asked[1..], writes);
    let secret = cluster.secret().unwrap();
    assert_eq!(
        secret["metadata"]["labels"]["app.kubernetes.io/managed-by"],
        "mxjob-operator"
    );
    let names: Vec<_> = secret["data"].as_object().unwrap().keys().collect();
    assert_eq!(names, ["ca.crt", "tls.crt", "tls.key"]);

    let second = Operator::start(&cluster).await;
    assert_eq!(second.shows(), first.shows());
    assert!(cluster.asked().iter().all(|line| line.starts_with("GET ")));
}

// contract: 11.23
#[tokio::test(start_paused = true)]
async fn of_several_one_renews_it_and_the_others_follow() {
    let mut old = data(&here().names(), DAY * 61);
    merge(
        &mut old,
        &json!({"metadata": {"labels": {"app.kubernetes.io/managed-by": "mxjob-operator"}}}),
    );
    let cluster = Cluster::with(old);
    let (mut one, mut other) = (
        Operator::start(&cluster).await,
        Operator::start(&cluster).await,
    );
    let before = one.shows();
    // The first has made the next certificate when it came.
    let next = cluster.secret().unwrap()["data"]["next-tls.crt"].clone();
    assert!(next.is_string());
    assert_eq!(
        (one.rotation.authorities().len(), other.shows()),
        (2, before.clone())
    );
    assert_eq!(one.rotation.authorities(), other.rotation.authorities());

    // Both want to go on; one of them is too late.
    one.is_trusted().await;
    let between = cluster.secret().unwrap();
    other.is_trusted().await;
    assert_eq!(cluster.secret().unwrap(), between);
    assert_eq!(*certificate(&between), next);
    assert!(between["data"]["next-tls.crt"].is_null());
    assert_eq!(
        (one.shows() == before, other.shows() == before),
        (false, true)
    );
    other.hears(&cluster).await;
    assert_eq!(one.shows(), other.shows());
}

// contract: 11.24
#[tokio::test(start_paused = true)]
async fn it_heals_with_what_is_shown() {
    let cluster = Cluster::default();
    let mut operator = Operator::start(&cluster).await;
    let good = cluster.secret().unwrap();
    let shown = operator.shows();
    let rubbish = base64("rubbish");
    let other = data(&here().names(), DAY);
    for fault in [
        json!({"data": {"tls.key": null}}),
        json!({"data": {"tls.crt": null}}),
        json!({"data": {"ca.crt": null}}),
        json!({"data": null}),
        json!({"data": null, "metadata": {"labels": null}}),
        json!({"data": {"tls.key": rubbish}}),
        json!({"data": {"tls.crt": rubbish}}),
        json!({"data": {"ca.crt": rubbish}}),
        json!({"data": {"tls.crt": base64(&"x".repeat(1 << 20))}}),
        json!({"data": {"tls.crt": "/w=="}}),
        json!({"data": {"tls.key": other["data"]["tls.key"]}}),
        json!({"data": {"next-tls.crt": rubbish}}),
        json!({"data": {"next-ca.crt": other["data"]["ca.crt"]}}),
        data(&here().names(), DAY * 91),
        data(&["elsewhere".to_owned()], DAY),
        Value::Null,
    ] {
        let mut broken = good.clone();
        merge(&mut broken, &fault);
        cluster.put(Some(broken).filter(|broken| !broken.is_null()));
        operator.hears(&cluster).await;
        let healed = cluster.secret().unwrap();
        assert_eq!(healed["data"], good["data"], "{fault}");
        assert_eq!(
            healed["metadata"]["labels"], good["metadata"]["labels"],
            "{fault}"
        );
        assert_eq!(operator.shows(), shown, "{fault}");
        assert_eq!(operator.rotation.authorities().len(), 1, "{fault}");
        assert_eq!(operator.vault.said(), None, "{fault}");
    }
    // Keys that are nobody's stay.
    let mut more = good.clone();
    merge(
        &mut more,
        &json!({"data": {"note": base64("mine"), "tls.key": null}}),
    );
    cluster.put(Some(more));
    operator.hears(&cluster).await;
    assert_eq!(cluster.secret().unwrap()["data"]["note"], base64("mine"));
}

#[tokio::test(start_paused = true)]
async fn two_that_want_something_else_of_it_write_it_now_and_then_only() {
    let cluster = Cluster::default();
    let mut operator = Operator::start(&cluster).await;
    let theirs = data(&["elsewhere".to_owned()], DAY);
    let writes = |asked: Vec<String>| asked.iter().filter(|line| !line.starts_with("GET")).count();
    cluster.asked();
    for (later, written) in [(0, 0), (9, 0), (1, 1), (9, 0), (1, 1)] {
        let mut secret = cluster.secret().unwrap();
        merge(&mut secret, &theirs);
        cluster.put(Some(secret));
        tokio::time::advance(Duration::from_secs(later)).await;
        let secret = serde_json::from_value(cluster.secret().unwrap()).unwrap();
        operator.vault.learn(Ok(Event::Apply(secret)));
        operator.tend().await;
        operator.tend().await;
        assert_eq!(writes(cluster.asked()), written, "{later}");
    }
}

// contract: 11.24
#[tokio::test(start_paused = true)]
async fn one_that_is_somebody_elses_is_used_or_left_alone() {
    let cluster = Cluster::default();
    let mut operator = Operator::start(&cluster).await;
    let before = operator.shows();
    // A good one: as cert-manager or somebody's own CA makes it.
    cluster.put(Some(data(&here().names(), DAY)));
    let theirs = cluster.secret();
    operator.hears(&cluster).await;
    assert_eq!(operator.rotation.authorities().len(), 2);
    assert_eq!(operator.shows(), before);
    operator.is_trusted().await;
    assert_ne!(operator.shows(), before);
    assert_eq!(operator.rotation.authorities().len(), 1);

    // Others are of no use; of the same one it is said once.
    let shown = operator.shows();
    for (secret, wanted) in [
        (
            json!({"data": {"password": base64("1234")}}),
            "ca.crt is missing",
        ),
        (
            data(&["elsewhere".to_owned()], DAY),
            "tls.crt is not for 127.0.0.1",
        ),
        (data(&here().names(), DAY * 91), "tls.crt has expired"),
    ] {
        let late: Secret = serde_json::from_value(cluster.secret().unwrap()).unwrap();
        cluster.put(Some(secret));
        let theirs = cluster.secret();
        for _ in 0..3 {
            operator.hears(&cluster).await;
            let wanted = format!("{wanted}, and it is somebody else's, so it is not written");
            assert_eq!(operator.vault.said(), Some(wanted.as_str()));
        }
        operator.vault.learn(Ok(Event::Apply(late)));
        operator.tend().await;
        assert_eq!(cluster.secret(), theirs);
        assert_eq!(operator.shows(), shown);
        assert!(operator.vault.said().is_some());
    }
    // One that starts now shows one of its own, which is trusted beside the others.
    let other = Operator::start(&cluster).await;
    assert_ne!(other.shows(), shown);
    cluster.put(theirs.clone());
    operator.hears(&cluster).await;
    let data = |secret: Option<Value>| secret.unwrap()["data"].clone();
    assert_eq!(operator.vault.said(), None);
    assert_eq!(data(cluster.secret()), data(theirs.clone()));
    // It is taken away: what is shown is kept.
    cluster.put(None);
    operator.hears(&cluster).await;
    assert_eq!(
        certificate(&cluster.secret().unwrap()),
        certificate(&theirs.unwrap())
    );
}

// contract: 11.24
#[tokio::test(start_paused = true)]
async fn a_watch_that_breaks_is_told_until_it_is_mended() {
    let cluster = Cluster::default();
    let mut operator = Operator::start(&cluster).await;
    assert_eq!(operator.vault.said(), None);
    let breaks = || Err(watcher::Error::NoResourceVersion);
    for _ in 0..3 {
        operator.vault.learn(Ok(Event::Init));
        operator.vault.learn(breaks());
        operator.tend().await;
        let said = operator.vault.said().unwrap();
        assert!(said.starts_with("cannot watch it"), "{said}");
    }
    operator.hears(&cluster).await;
    assert_eq!(operator.vault.said(), None);
    // One that goes on says nothing while nothing happens.
    operator.vault.learn(breaks());
    tokio::time::advance(told::MENDED).await;
    operator.tend().await;
    assert_eq!(operator.vault.said(), None);
}

// contract: 11.25
#[tokio::test(start_paused = true)]
async fn one_that_is_only_read_is_never_written() {
    let cluster = Cluster::default();
    let read_only = Place {
        read_only: true,
        ..place()
    };
    let mut operator = Operator::start_at(&cluster, read_only).await;
    let said = operator.vault.said().unwrap().to_owned();
    assert_eq!(
        said,
        "it is not there yet, and it is not written by this operator"
    );
    let own = operator.shows();
    let mut given = data(&here().names(), DAY * 70);
    merge(
        &mut given,
        &json!({"metadata": {"labels": {"app.kubernetes.io/managed-by": "mxjob-operator"}}}),
    );
    cluster.put(Some(given.clone()));
    operator.hears(&cluster).await;
    assert_eq!(operator.vault.said(), None);
    operator.is_trusted().await;
    assert_ne!(operator.shows(), own);
    for fault in [
        json!({"data": {"tls.key": null}}),
        json!({"data": null}),
        Value::Null,
    ] {
        let mut broken = given.clone();
        merge(&mut broken, &fault);
        cluster.put(Some(broken).filter(|broken| !broken.is_null()));
        operator.hears(&cluster).await;
        assert!(operator.vault.said().is_some(), "{fault}");
    }
    assert!(cluster.asked().iter().all(|line| line.starts_with("GET ")));
}

// contract: 11.24
#[tokio::test(start_paused = true)]
async fn who_may_not_use_it_shows_one_of_its_own_and_shares_it_when_it_may() {
    let cluster = Cluster::default();
    cluster.refuses(Some(403));
    let mut operator = Operator::start(&cluster).await;
    let shown = operator.shows();
    assert_eq!(operator.vault.said(), Some("cannot watch it: no"));
    operator.vault.learn(Ok(Event::Init));
    operator.vault.learn(Ok(Event::InitDone));
    for _ in 0..2 {
        operator.tend().await;
        let said = operator.vault.said().unwrap().to_owned();
        let advice = "cannot create it: no: it needs the right to list, watch, patch and create it by this name";
        assert_eq!((said.as_str(), operator.shows()), (advice, shown.clone()));
    }
    cluster.refuses(None);
    operator.tend().await;
    assert_eq!(
        (operator.vault.said(), operator.shows()),
        (None, shown.clone())
    );
    assert_eq!(Operator::start(&cluster).await.shows(), shown);
}

// contract: 11.23
#[tokio::test(start_paused = true)]
async fn whoever_asks_for_another_certificate_gets_one() {
    let cluster = Cluster::default();
    let mut operator = Operator::start(&cluster).await;
    let before = operator.shows();
    let mut asked = cluster.secret().unwrap();
    merge(
        &mut asked,
        &json!({"metadata": {"annotations": {"mxjob.kubeflow.org/renew": ""}}}),
    );
    cluster.put(Some(asked));
    operator.hears(&cluster).await;
    let secret = cluster.secret().unwrap();
    assert_eq!(secret["metadata"]["annotations"], json!({}));
    assert!(secret["data"]["next-tls.key"].is_string());
    operator.is_trusted().await;
    assert_ne!(operator.shows(), before);
    assert_eq!(operator.rotation.authorities().len(), 1);
    let key = cluster.secret().unwrap()["data"]["tls.key"].clone();
    assert_eq!(key, secret["data"]["next-tls.key"]);
}

#[test]
fn no_key_is_ever_logged() {
    let rotation = rotation(here().names(), Duration::ZERO);
    let text = format!("{rotation:?}");
    assert!(text.contains("BEGIN CERTIFICATE"), "{text}");
    assert!(!text.contains("PRIVATE KEY"), "{text}");
}
