//! Keeps the stored definition pointed at this operator, and the certificate fresh.

use std::pin::pin;

use futures::StreamExt as _;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Patch, PatchParams};
use kube::runtime::WatchStreamExt as _;
use kube::runtime::watcher::{self, Config, Event};
use kube::{Api, Client, ResourceExt as _};
use mxjob_core::RoleTable;
use serde_json::json;
use tokio::time::{Instant, MissedTickBehavior};

use super::address::Reach;
use super::conversion::{self, Verdict};
use super::rotation::Rotation;
use super::told::{Told, Watch};
use super::vault::Vault;
use crate::controller::{failure, watch_failure};

/// Whose the conversion is. Not who installs the definition: that one would take it away with the
/// next version of its own.
pub(super) const FIELD_MANAGER: &str = "mxjob-webhook";
const CONFLICT: u16 = 409;
pub(super) const GONE: u16 = 410;

/// One operator's care for the definition.
pub(super) struct Keeper {
    api: Api<CustomResourceDefinition>,
    table: &'static RoleTable,
    name: String,
    reach: Reach,
    rotation: Rotation,
    vault: Vault,
    stored: Option<CustomResourceDefinition>,
    written: Option<Instant>,
    watch: Watch,
    /// That it cannot be watched.
    unseen: Told,
    /// That it does not point here.
    astray: Told,
    /// That there is no certificate to show.
    bare: Told,
}

impl Keeper {
    pub(super) fn new(
        client: &Client,
        table: &'static RoleTable,
        reach: Reach,
        rotation: Rotation,
        vault: Vault,
    ) -> Self {
        Self {
            api: Api::all(client.clone()),
            table,
            name: format!("{}.{}", table.crd.plural, table.crd.group),
            reach,
            rotation,
            vault,
            stored: None,
            written: None,
            watch: Watch::default(),
            unseen: Told::default(),
            astray: Told::default(),
            bare: Told::default(),
        }
    }

    /// Until the operator ends.
    pub(super) async fn run(mut self) {
        let only = Config::default().fields(&format!("metadata.name={}", self.name));
        let events = watcher::watcher(self.api.clone(), only).default_backoff();
        let mut events = pin!(events);
        let mut turns = tokio::time::interval(self.rotation.pace().turn());
        turns.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                Some(event) = events.next() => self.learn(event),
                () = self.vault.next() => {}
                _ = turns.tick() => {}
            }
            match self.vault.tend(&mut self.rotation).await {
                Ok(()) => {
                    self.bare.end();
                }
                Err(error) => warn(&mut self.bare, &error.to_string()),
            }
            self.point().await;
        }
    }

    fn learn(&mut self, event: watcher::Result<Event<CustomResourceDefinition>>) {
        // Each try to list begins with Init, one that fails too.
        if !matches!(event, Err(_) | Ok(Event::Init)) {
            self.watch.has_news();
            self.unseen.end();
        }
        match event {
            Ok(Event::Apply(crd) | Event::InitApply(crd)) => self.stored = Some(crd),
            Ok(Event::Delete(_) | Event::Init) => self.stored = None,
            Ok(Event::InitDone) => {}
            // The watch has rested for too long, and begins anew.
            Err(watcher::Error::WatchError(status)) if status.code == GONE => {}
            Err(error) => {
                self.watch.fails();
                let text = format!(
                    "cannot watch {}, to point its conversion here: {}; {}",
                    self.name,
                    watch_failure(&error),
                    super::without(self.table)
                );
                warn(&mut self.unseen, &text);
            }
        }
    }

    /// Points the definition here if it is not.
    async fn point(&mut self) {
        if self.watch.works() {
            self.unseen.end();
        }
        let Some(crd) = &self.stored else { return };
        let authorities = self.rotation.authorities();
        let verdict = conversion::judge(crd, self.table, &self.reach, &authorities);
        let trusted = conversion::trusted(crd, &self.reach);
        let trusted: Vec<_> = trusted.iter().map(String::as_str).collect();
        self.rotation.trusted(&trusted, Instant::now());
        let turn = self.rotation.pace().turn();
        let conversion = match verdict {
            Verdict::Fine => {
                self.astray.end();
                return;
            }
            Verdict::Old(lacking) => {
                let text = format!(
                    "{} does not serve {}: run `mxjob crds | kubectl apply --server-side -f -`, or start the operator \
                     with --install-crds; v1 works",
                    self.name,
                    lacking.join(" and ")
                );
                return warn(&mut self.astray, &text);
            }
            Verdict::Write(_) if self.written.is_some_and(|at| at.elapsed() < turn) => return,
            Verdict::Write(conversion) => conversion,
        };
        let patch = json!([
            {"op": "replace", "path": "/metadata/resourceVersion", "value": crd.resource_version()},
            {"op": "add", "path": "/spec/conversion", "value": conversion},
        ]);
        match self.patch(patch).await {
            Ok(crd) => {
                tracing::info!(crd = self.name, "its conversion is pointed here");
                self.stored = Some(crd);
                self.written = Some(Instant::now());
                self.astray.end();
            }
            // Somebody was faster; the watch brings what they wrote.
            Err(kube::Error::Api(status)) if status.code == CONFLICT => {}
            Err(error) => {
                let text = format!(
                    "cannot point the conversion of {} here: {}; {}",
                    self.name,
                    failure(&error),
                    super::without(self.table)
                );
                warn(&mut self.astray, &text);
            }
        }
    }

    async fn patch(&mut self, patch: serde_json::Value) -> kube::Result<CustomResourceDefinition> {
        let patch = serde_json::from_value(patch).map_err(kube::Error::SerdeError)?;
        let how = PatchParams {
            field_manager: Some(FIELD_MANAGER.to_owned()),
            ..PatchParams::default()
        };
        self.api
            .patch(&self.name, &how, &Patch::Json::<()>(patch))
            .await
    }
}

/// Says it once, until it is something else or over.
fn warn(told: &mut Told, text: &str) {
    if told.tell(text) {
        tracing::warn!("{text}");
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};
    use std::time::SystemTime;

    use http::{Request, Response};
    use kube::client::Body;
    use mxjob_core::{MxRole, ReplicaRole as _};
    use serde_json::Value;
    use tokio::time::Duration;
    use tower::service_fn;

    use super::super::conversion::tests::definition;
    use super::super::tests::{place, rotation};
    use super::*;

    const TURN: Duration = Duration::from_secs(10);

    /// Requests that a server was sent, as `METHOD path: body`.
    type Sent = Arc<Mutex<Vec<(String, Value)>>>;

    /// A keeper whose every request is answered like this.
    fn keeper(code: u16, answer: Value) -> (Keeper, Sent) {
        let sent = Sent::default();
        let requests = sent.clone();
        let server = service_fn(move |request: Request<Body>| {
            let (requests, answer) = (requests.clone(), answer.to_string());
            async move {
                let line = format!("{} {}", request.method(), request.uri());
                let body = request.into_body().collect_bytes().await.unwrap();
                let body = serde_json::from_slice(&body).unwrap();
                requests.lock().unwrap().push((line, body));
                let answer = Body::from(answer.into_bytes());
                Response::builder().status(code).body(answer)
            }
        });
        let client = Client::new(server, "default");
        let reach = Reach::Service("lab".to_owned());
        let rotation = rotation(reach.names(), Duration::ZERO);
        let vault = Vault::new(&client, place());
        let keeper = Keeper::new(&client, MxRole::TABLE, reach, rotation, vault);
        (keeper, sent)
    }

    fn stored(versions: &[&str]) -> CustomResourceDefinition {
        let mut crd = definition(versions);
        crd.metadata.resource_version = Some("41".to_owned());
        crd
    }

    fn current() -> CustomResourceDefinition {
        stored(&["v1alpha1", "v1beta1", "v1"])
    }

    fn refusal(code: u16) -> Value {
        json!({"kind": "Status", "status": "Failure", "code": code, "message": "no", "reason": "No"})
    }

    #[tokio::test(start_paused = true)]
    async fn it_is_written_once_and_over_no_other_write() {
        let (probe, _) = keeper(200, json!({}));
        let authorities = probe.rotation.authorities();
        let conversion = conversion::wanted(None, &probe.reach, &authorities);
        let mut answer = current();
        answer.metadata.resource_version = Some("42".to_owned());
        answer.spec.conversion = Some(conversion.clone());
        let (mut keeper, sent) = keeper(200, serde_json::to_value(&answer).unwrap());
        keeper.rotation = probe.rotation;
        keeper.learn(Ok(Event::InitApply(current())));
        keeper.point().await;
        keeper.point().await;
        keeper.learn(Ok(Event::Apply(answer.clone())));
        keeper.point().await;
        let line = "PATCH /apis/apiextensions.k8s.io/v1/customresourcedefinitions/mxjobs.kubeflow.org\
                    ?&fieldManager=mxjob-webhook";
        let patch = json!([
            {"op": "replace", "path": "/metadata/resourceVersion", "value": "41"},
            {"op": "add", "path": "/spec/conversion", "value": conversion},
        ]);
        assert_eq!(*sent.lock().unwrap(), [(line.to_owned(), patch)]);

        // Somebody takes it away.
        answer.spec.conversion = None;
        keeper.learn(Ok(Event::Apply(answer)));
        keeper.point().await;
        assert_eq!(sent.lock().unwrap().len(), 1);
        tokio::time::advance(TURN).await;
        keeper.point().await;
        let sent = sent.lock().unwrap();
        assert_eq!((sent.len(), &sent[1].1[0]["value"]), (2, &json!("42")));
    }

    #[tokio::test]
    async fn a_write_that_came_too_late_waits_for_the_watch() {
        let (mut keeper, sent) = keeper(409, refusal(409));
        keeper.learn(Ok(Event::InitApply(current())));
        keeper.point().await;
        assert_eq!(
            (sent.lock().unwrap().len(), keeper.astray.last()),
            (1, None)
        );
    }

    #[tokio::test]
    async fn who_may_not_write_is_told_what_works() {
        let (mut keeper, sent) = keeper(403, refusal(403));
        keeper.point().await;
        assert!(sent.lock().unwrap().is_empty());
        keeper.learn(Ok(Event::InitApply(current())));
        keeper.point().await;
        keeper.point().await;
        let said = keeper.astray.last().unwrap();
        let expected = "cannot point the conversion of mxjobs.kubeflow.org here: no; v1 works, \
                        v1alpha1 and v1beta1 may not";
        assert_eq!((said, sent.lock().unwrap().len()), (expected, 2));
    }

    // contract: 11.24
    #[tokio::test(start_paused = true)]
    async fn a_watch_that_breaks_is_told_until_it_is_mended() {
        let (mut keeper, sent) = keeper(403, refusal(403));
        let mut pointed = current();
        let authorities = keeper.rotation.authorities();
        pointed.spec.conversion = Some(conversion::wanted(None, &keeper.reach, &authorities));
        keeper.learn(Ok(Event::InitApply(pointed.clone())));
        let breaks = || Err(watcher::Error::NoResourceVersion);
        for _ in 0..3 {
            keeper.learn(breaks());
            keeper.point().await;
            assert!(keeper.unseen.last().is_some());
            tokio::time::advance(Duration::from_mins(1)).await;
        }
        assert_eq!(
            (keeper.astray.last(), sent.lock().unwrap().len()),
            (None, 0)
        );
        // Where it points is another matter.
        keeper.stored = Some(current());
        keeper.point().await;
        assert!(keeper.astray.last().is_some() && keeper.unseen.last().is_some());
        keeper.learn(Ok(Event::Apply(pointed)));
        keeper.point().await;
        assert_eq!((keeper.unseen.last(), keeper.astray.last()), (None, None));
        // One that goes on says nothing while nothing happens.
        keeper.learn(breaks());
        tokio::time::advance(super::super::told::MENDED).await;
        keeper.point().await;
        assert_eq!(keeper.unseen.last(), None);
    }

    // contract: 11.23
    #[tokio::test(start_paused = true)]
    async fn a_next_certificate_waits_until_the_definition_has_its_ca() {
        let (mut keeper, _) = keeper(409, refusal(409));
        let age = Duration::from_hours(24 * 61);
        keeper.rotation = rotation(keeper.reach.names(), age);
        let turn = |keeper: &mut Keeper| {
            let now = (SystemTime::now(), Instant::now());
            keeper.rotation.step_alone(now).unwrap();
            keeper.rotation.show(now);
            keeper.rotation.authorities().len()
        };
        assert_eq!(turn(&mut keeper), 2);
        let minute = Duration::from_mins(1);
        for _ in 0..2 {
            keeper.learn(Ok(Event::Apply(current())));
            keeper.point().await;
            tokio::time::advance(minute).await;
            assert_eq!(turn(&mut keeper), 2);
        }
        let authorities = keeper.rotation.authorities();
        let conversion = conversion::wanted(None, &keeper.reach, &authorities);
        let mut pointed = current();
        pointed.spec.conversion = Some(conversion);
        keeper.learn(Ok(Event::Apply(pointed)));
        keeper.point().await;
        assert_eq!(turn(&mut keeper), 2);
        tokio::time::advance(minute).await;
        assert_eq!(turn(&mut keeper), 1);
    }

    #[tokio::test]
    async fn a_definition_of_an_earlier_release_is_named_and_left_alone() {
        let (mut keeper, sent) = keeper(200, json!({}));
        keeper.learn(Ok(Event::InitApply(stored(&["v1"]))));
        keeper.point().await;
        let said = keeper.astray.last().unwrap();
        assert!(
            said.contains("does not serve v1alpha1 and v1beta1: run `mxjob crds"),
            "{said}"
        );
        keeper.learn(Ok(Event::Delete(stored(&["v1"]))));
        keeper.point().await;
        assert!(sent.lock().unwrap().is_empty());
    }
}
