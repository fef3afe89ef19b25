//! The Secret in which the operators of a cluster keep their certificate.
//!
//! It is reached by its name alone: created by an apply of that name, watched by that name, and written
//! over the version that was read, so that of several operators one writes. Where it cannot be used,
//! this operator keeps a certificate for itself, and says so once.

use std::time::{Duration, SystemTime};

use futures::StreamExt as _;
use futures::stream::BoxStream;
use k8s_openapi::api::core::v1::Secret;
use kube::api::{Patch, PatchParams};
use kube::runtime::watcher::{self, Config, Event};
use kube::{Api, Client, ResourceExt as _};
use serde_json::json;
use tokio::time::{Instant, timeout};

use super::identity::{Flaw, IdentityError};
use super::keeper::{FIELD_MANAGER, GONE};
use super::rotation::{Contents, Rotation, Why};
use super::secret;
use super::told::{Told, Watch};
use crate::controller::Version;
use crate::controller::{failure, watch_failure};

/// How long an operator that starts waits to learn what the others show.
const FIRST_LOOK: Duration = Duration::from_secs(2);
const FORBIDDEN: u16 = 403;
const NOT_FOUND: u16 = 404;
const CONFLICT: u16 = 409;

/// The longest rest between two tries to watch it.
const LONGEST_REST: Duration = Duration::from_mins(1);

/// What is known of it.
enum Found {
    Unknown,
    Absent,
    There(Box<Secret>),
}

/// Which Secret it is.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub(crate) namespace: String,
    pub(crate) name: String,
    /// It is never written: somebody else does.
    pub(crate) read_only: bool,
}

/// One operator's use of it.
pub(super) struct Vault {
    api: Api<Secret>,
    place: Place,
    events: BoxStream<'static, watcher::Result<Event<Secret>>>,
    found: Found,
    /// What a list that is under way has brought.
    listed: Option<Box<Secret>>,
    written: Option<Instant>,
    watch: Watch,
    /// How often in a row it could not be watched, and until when the next try waits.
    failures: u32,
    rests: Option<Instant>,
    /// Why it is of no use.
    useless: Told,
}

impl Vault {
    pub(super) fn new(client: &Client, place: Place) -> Self {
        let api: Api<Secret> = Api::namespaced(client.clone(), &place.namespace);
        let only = Config::default().fields(&format!("metadata.name={}", place.name));
        let events = watcher::watcher(api.clone(), only);
        Self {
            api,
            place,
            events: events.boxed(),
            found: Found::Unknown,
            listed: None,
            written: None,
            watch: Watch::default(),
            failures: 0,
            rests: None,
            useless: Told::default(),
        }
    }

    /// Until something is shown: what the others show, or else one of its own.
    pub(super) async fn open(&mut self, rotation: &mut Rotation) -> Result<(), IdentityError> {
        let look = async {
            while !rotation.shows() {
                self.next().await;
                if !matches!(self.found, Found::Unknown) {
                    self.tend(rotation).await?;
                }
            }
            Ok(())
        };
        if let Ok(looked) = timeout(FIRST_LOOK, look).await {
            return looked;
        }
        let now = (SystemTime::now(), Instant::now());
        rotation.step_alone(now)?;
        rotation.show(now);
        Ok(())
    }

    /// Waits for news of it.
    pub(super) async fn next(&mut self) {
        if let Some(until) = self.rests {
            tokio::time::sleep_until(until).await;
            self.rests = None;
        }
        match self.events.next().await {
            Some(event) => self.learn(event),
            None => std::future::pending().await,
        }
    }

    pub(super) fn learn(&mut self, event: watcher::Result<Event<Secret>>) {
        // Each try begins with Init, one that fails too.
        if !matches!(event, Err(_) | Ok(Event::Init)) {
            self.failures = 0;
            self.watch.has_news();
        }
        match event {
            Ok(Event::Init) => self.listed = None,
            Ok(Event::InitApply(secret)) => self.listed = Some(Box::new(secret)),
            Ok(Event::InitDone) => {
                self.found = self.listed.take().map_or(Found::Absent, Found::There);
            }
            Ok(Event::Apply(secret)) if self.knows_newer(&secret) => {}
            Ok(Event::Apply(secret)) => self.found = Found::There(Box::new(secret)),
            Ok(Event::Delete(_)) => self.found = Found::Absent,
            // The watch has rested for too long, and begins anew.
            Err(watcher::Error::WatchError(status)) if status.code == GONE => {}
            Err(error) => {
                let rest = Duration::from_secs(1 << self.failures.min(6)).min(LONGEST_REST);
                self.failures = self.failures.saturating_add(1);
                self.watch.fails();
                self.rests = Some(Instant::now() + rest);
                self.complain(&format!("cannot watch it: {}", watch_failure(&error)));
            }
        }
    }

    /// An answer was faster than the watch.
    fn knows_newer(&self, secret: &Secret) -> bool {
        let version = |secret: &Secret| Version::of(secret.resource_version().as_deref());
        matches!(&self.found, Found::There(known) if version(secret) < version(known))
    }

    /// Takes the step that is due, there or alone, and shows what is to be shown.
    pub(super) async fn tend(&mut self, rotation: &mut Rotation) -> Result<(), IdentityError> {
        let shared = self.share(rotation).await?;
        let now = (SystemTime::now(), Instant::now());
        if !shared {
            rotation.step_alone(now)?;
        }
        rotation.show(now);
        Ok(())
    }

    /// Whether it says what is to be shown, or will.
    async fn share(&mut self, rotation: &mut Rotation) -> Result<bool, IdentityError> {
        if matches!(self.found, Found::Absent) && !self.create().await {
            return Ok(false);
        }
        let Found::There(secret) = &self.found else {
            return Ok(false);
        };
        let kept = secret::read(secret);
        let now = (SystemTime::now(), Instant::now());
        if self.place.read_only || secret::is_foreign(secret) {
            return Ok(self.borrow(rotation, kept, now.0));
        }
        let Some((contents, why)) = rotation.step(&kept, now)? else {
            rotation.learn(kept);
            self.is_well();
            return Ok(true);
        };
        let pause = rotation.pace().turn();
        if self.written.is_some_and(|at| now.1 < at + pause) {
            return Ok(true);
        }
        let patch = Patch::Merge(secret::patch(secret, &contents));
        match self.api.patch(&self.place.name, &manager(), &patch).await {
            Ok(secret) => {
                self.found = Found::There(Box::new(secret));
                self.written = Some(Instant::now());
                rotation.learn(contents);
                self.is_well();
                self.tell(&why);
                Ok(true)
            }
            // Somebody was faster; the watch brings what they did.
            Err(kube::Error::Api(status)) if matches!(status.code, NOT_FOUND | CONFLICT) => {
                Ok(true)
            }
            Err(error) => {
                self.refused("write", &error);
                Ok(false)
            }
        }
    }

    /// Uses one that somebody else looks after; whether it can be used.
    fn borrow(&mut self, rotation: &mut Rotation, kept: Contents, now: SystemTime) -> bool {
        let good = match &kept.current {
            Ok(current) => rotation.check(current, now),
            Err(flaw) => Err(flaw.clone()),
        };
        match good {
            Ok(()) => {
                rotation.learn(Contents {
                    next: None,
                    asked: false,
                    ..kept
                });
                self.is_well();
                true
            }
            Err(flaw) => {
                self.complain(&format!(
                    "{flaw}, and it is somebody else's, so it is not written"
                ));
                false
            }
        }
    }

    /// Makes an empty one. An apply, for that is allowed by name; with nothing in it, so that one which
    /// somebody has made meanwhile stays as it is.
    async fn create(&mut self) -> bool {
        if self.place.read_only {
            self.complain("it is not there yet, and it is not written by this operator");
            return false;
        }
        let name = &self.place.name;
        let empty = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}});
        match self.api.patch(name, &manager(), &Patch::Apply(empty)).await {
            Ok(secret) => {
                self.found = Found::There(Box::new(secret));
                true
            }
            Err(error) => {
                self.refused("create", &error);
                false
            }
        }
    }

    fn tell(&self, why: &Why) {
        let Place {
            namespace, name, ..
        } = &self.place;
        match why {
            Why::Due => tracing::info!(
                namespace,
                secret = name,
                "the webhook's next certificate is made"
            ),
            Why::Trusted => tracing::info!(
                namespace,
                secret = name,
                "the webhook's certificate is renewed"
            ),
            Why::Broken(Flaw::Nothing) => {
                tracing::info!(
                    namespace,
                    secret = name,
                    "the webhook's certificate is kept for all operators"
                );
            }
            Why::Broken(flaw) | Why::BrokenNext(flaw) => {
                tracing::warn!(
                    namespace,
                    secret = name,
                    "the webhook's Secret is put right: {flaw}"
                );
            }
        }
    }

    fn refused(&mut self, verb: &str, error: &kube::Error) {
        let advice = match error {
            kube::Error::Api(status) if status.code == FORBIDDEN => {
                ": it needs the right to list, watch, patch and create it by this name"
            }
            _ => "",
        };
        self.complain(&format!("cannot {verb} it: {}{advice}", failure(error)));
    }

    /// Says it once, until it is something else or over.
    fn complain(&mut self, what: &str) {
        if self.useless.tell(what) {
            let Place {
                namespace, name, ..
            } = &self.place;
            tracing::warn!(
                namespace,
                secret = name,
                "the webhook's Secret is of no use: {what}; this operator shows what it has itself meanwhile"
            );
        }
    }

    /// What was said last, and has not become better since.
    #[cfg(test)]
    pub(super) fn said(&self) -> Option<&str> {
        self.useless.last()
    }

    fn is_well(&mut self) {
        if self.watch.works() && self.useless.end() {
            let secret = &self.place.name;
            tracing::info!(secret, "the webhook's Secret can be used again");
        }
    }
}

fn manager() -> PatchParams {
    PatchParams {
        field_manager: Some(FIELD_MANAGER.to_owned()),
        ..PatchParams::default()
    }
}
