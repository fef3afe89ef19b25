//! Tells users what happened, as Kubernetes events. Nobody waits for it.

use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::StreamExt as _;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::api::events::v1::{Event as ClusterEvent, EventSeries};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta};
use kube::api::{Patch, PatchParams, PostParams};
use kube::core::Status;
use kube::{Api, Client};
use mxjob_core::Job;
use mxjob_core::api::Version;
use mxjob_core::plan::{Event, EventKind};
use serde_json::json;
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::backoff;
use super::throttle::Throttle;
use super::words::failure;

/// Events that wait to be sent; more are dropped.
const BACKLOG: usize = 10_000;
/// Events on their way at once.
const WIDTH: usize = 8;
/// How long the same event again is one more in a series, as client-go has it.
const SERIES: Duration = Duration::from_mins(6);
/// What the API allows of a note, in bytes.
const LONGEST_NOTE: usize = 1024;
const PATIENCE: Duration = Duration::from_secs(10);
/// As client-go has it; with the waits between them about a minute and a half.
const ATTEMPTS: u32 = 12;
const LONGEST_WAIT: Duration = Duration::from_secs(10);

/// Takes events and sends them in a task of its own.
#[derive(Clone, Debug)]
pub(super) struct Recorder {
    sender: mpsc::Sender<Message>,
}

#[derive(Debug)]
struct Message {
    regarding: ObjectReference,
    controller: String,
    event: Event,
    time: Timestamp,
}

/// What makes two events the same: whom it is about, reason and message.
type Fact = (String, String, String);

#[derive(Debug)]
struct Told {
    name: String,
    first: Timestamp,
    count: i32,
    last: Instant,
}

impl Recorder {
    /// Starts the task. It ends when every `Recorder` is dropped and all has been sent.
    pub(super) fn start(client: Client, throttle: Throttle) -> (Self, tokio::task::JoinHandle<()>) {
        let (sender, receiver) = mpsc::channel(BACKLOG);
        let teller = Teller {
            client,
            throttle,
            instance: instance(),
        };
        (Self { sender }, tokio::spawn(teller.run(receiver)))
    }

    /// Says something about a job.
    pub(super) fn tell(&self, job: &Job, event: Event) {
        let regarding = ObjectReference {
            api_version: Some(Version::stored(job.table).full(job.table)),
            kind: Some(job.table.crd.kind.to_owned()),
            namespace: Some(job.meta.namespace.clone()),
            name: Some(job.meta.name.clone()),
            uid: Some(job.meta.uid.clone()),
            ..ObjectReference::default()
        };
        let message = Message {
            regarding,
            controller: job.table.operator(),
            event,
            time: Timestamp::now(),
        };
        if self.sender.try_send(message).is_err() {
            tracing::warn!(
                namespace = job.meta.namespace,
                job = job.meta.name,
                "too many events, one dropped"
            );
        }
    }
}

struct Teller {
    client: Client,
    throttle: Throttle,
    instance: String,
}

impl Teller {
    async fn run(self, mut receiver: mpsc::Receiver<Message>) {
        let mut told: HashMap<Fact, Told> = HashMap::new();
        let events = futures::stream::poll_fn(move |context| receiver.poll_recv(context))
            .map(|message| self.event(&mut told, message));
        let trouble = Arc::new(Trouble::default());
        let sent = events
            .map(|event| {
                let (client, throttle) = (self.client.clone(), self.throttle.clone());
                send(client, throttle, event, trouble.clone())
            })
            .buffer_unordered(WIDTH);
        sent.for_each(|()| async {}).await;
    }

    /// The message as an event: a new one, or the one that was told already, with its series.
    fn event(&self, told: &mut HashMap<Fact, Told>, message: Message) -> ClusterEvent {
        let now = Instant::now();
        if told.len() > BACKLOG {
            told.retain(|_, told| now.duration_since(told.last) < SERIES);
        }
        let Message {
            regarding,
            controller,
            event,
            time,
        } = message;
        let note = shortened(event.message);
        let fact = (
            regarding.uid.clone().unwrap_or_default(),
            event.reason.to_string(),
            note.clone(),
        );
        let place = told.len();
        let fresh = |told: &Told| now.duration_since(told.last) < SERIES;
        let known = told.get(&fact).filter(|told| fresh(told));
        let told_now = Told {
            name: known.map_or_else(|| name(&regarding, time, place), |known| known.name.clone()),
            first: known.map_or(time, |known| known.first),
            count: known.map_or(1, |known| known.count + 1),
            last: now,
        };
        let series = (told_now.count > 1).then_some(EventSeries {
            count: told_now.count,
            last_observed_time: MicroTime(time),
        });
        let cluster_event = ClusterEvent {
            metadata: ObjectMeta {
                name: Some(told_now.name.clone()),
                namespace: regarding.namespace.clone(),
                ..ObjectMeta::default()
            },
            action: Some("Reconcile".to_owned()),
            event_time: Some(MicroTime(told_now.first)),
            note: Some(note),
            reason: Some(event.reason.into_owned()),
            regarding: Some(regarding),
            reporting_controller: Some(controller),
            reporting_instance: Some(self.instance.clone()),
            series,
            type_: Some(match event.kind {
                EventKind::Normal => "Normal".to_owned(),
                EventKind::Warning => "Warning".to_owned(),
            }),
            ..ClusterEvent::default()
        };
        told.insert(fact, told_now);
        cluster_event
    }
}

/// Of a new event, as client-go has it; `place` keeps those of one moment apart.
fn name(regarding: &ObjectReference, time: Timestamp, place: usize) -> String {
    let job = regarding.name.iter().flat_map(|name| name.chars());
    let job: String = job.take(200).collect();
    let moment = time.as_nanosecond() + i128::try_from(place).unwrap_or_default();
    format!("{job}.{moment:x}")
}

/// What the log has said is wrong until an event gets through again.
#[derive(Debug, Default)]
struct Trouble {
    delay: AtomicBool,
    loss: AtomicBool,
    /// Refusals by namespace and status code.
    refusals: Mutex<BTreeSet<(String, u16)>>,
}

impl Trouble {
    fn delayed(&self, why: &str) {
        if !self.delay.swap(true, Ordering::Relaxed) {
            tracing::warn!(why, "event not sent, trying again");
        }
    }

    fn lost(&self, event: &ClusterEvent) {
        let event = event.metadata.name.as_deref();
        if self.loss.swap(true, Ordering::Relaxed) {
            tracing::debug!(event, "event given up");
        } else {
            tracing::warn!(
                event,
                attempts = ATTEMPTS,
                "event given up, others may follow"
            );
        }
    }

    fn refused(&self, event: &ClusterEvent, status: &Status) {
        let (namespace, job) = whereabouts(event);
        let (code, why) = (status.code, &status.message);
        if !is_natural(status) && self.refusals().insert((namespace.to_owned(), code)) {
            tracing::warn!(
                namespace,
                job,
                code,
                why,
                "event refused, others may follow"
            );
        } else {
            tracing::debug!(namespace, job, code, why, "event refused");
        }
    }

    /// An event of that namespace got through.
    fn is_over(&self, namespace: &str) {
        self.delay.store(false, Ordering::Relaxed);
        self.loss.store(false, Ordering::Relaxed);
        self.refusals().retain(|(known, _)| known != namespace);
    }

    fn refusals(&self) -> MutexGuard<'_, BTreeSet<(String, u16)>> {
        self.refusals.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Namespace and job that an event is about.
fn whereabouts(event: &ClusterEvent) -> (&str, &str) {
    let job = event.regarding.as_ref().and_then(|job| job.name.as_deref());
    let namespace = event.metadata.namespace.as_deref();
    (namespace.unwrap_or_default(), job.unwrap_or_default())
}

/// A namespace that is gone, or about to, takes no events.
fn is_natural(status: &Status) -> bool {
    let causes = status.details.iter().flat_map(|details| &details.causes);
    status.is_not_found()
        || causes
            .into_iter()
            .any(|one| one.reason == "NamespaceTerminating")
}

/// What became of a request.
enum Sent {
    Done,
    /// The server will never take it.
    Refused(Box<Status>),
    /// The server may take it later.
    NotYet(String),
}

/// Sends it, again and again while the server cannot take it.
async fn send(client: Client, throttle: Throttle, event: ClusterEvent, trouble: Arc<Trouble>) {
    let namespace = event.metadata.namespace.as_deref().unwrap_or_default();
    let events = Api::namespaced(client, namespace);
    for attempt in 1..=ATTEMPTS {
        let permit = throttle.leisure().await;
        let sent = request(&events, &event).await;
        drop(permit);
        match sent {
            Sent::Done => return trouble.is_over(namespace),
            Sent::Refused(status) => return trouble.refused(&event, &status),
            Sent::NotYet(why) => trouble.delayed(&why),
        }
        tokio::time::sleep(backoff::wait(attempt).min(LONGEST_WAIT)).await;
    }
    trouble.lost(&event);
}

/// Creates the event, or adds to it when it is one of a series. What it is to be added to may have
/// been lost, or be gone, or be on its way still.
async fn record(events: &Api<ClusterEvent>, event: &ClusterEvent) -> kube::Result<()> {
    let Some(series) = &event.series else {
        return create(events, event).await;
    };
    match add(events, event, series).await {
        Err(kube::Error::Api(status)) if status.is_not_found() => {}
        added => return added,
    }
    match create(events, event).await {
        Err(kube::Error::Api(status)) if status.is_already_exists() => {
            add(events, event, series).await
        }
        created => created,
    }
}

async fn create(events: &Api<ClusterEvent>, event: &ClusterEvent) -> kube::Result<()> {
    let how = PostParams::default();
    events.create(&how, event).await.map(drop)
}

async fn add(
    events: &Api<ClusterEvent>,
    event: &ClusterEvent,
    series: &EventSeries,
) -> kube::Result<()> {
    let name = event.metadata.name.as_deref().unwrap_or_default();
    let patch = Patch::Merge(json!({ "series": series }));
    let how = PatchParams::default();
    events.patch(name, &how, &patch).await.map(drop)
}

async fn request(events: &Api<ClusterEvent>, event: &ClusterEvent) -> Sent {
    match tokio::time::timeout(PATIENCE, record(events, event)).await {
        Ok(Ok(())) => Sent::Done,
        // An earlier attempt was in vain only as far as we know.
        Ok(Err(kube::Error::Api(status))) if status.is_already_exists() => Sent::Done,
        Ok(Err(kube::Error::Api(status))) if matches!(status.code, 400..=408 | 410..=428 | 430..=499) => {
            Sent::Refused(status)
        }
        Ok(Err(error)) => Sent::NotYet(failure(&error)),
        Err(_) => Sent::NotYet(format!("no answer within {} s", PATIENCE.as_secs())),
    }
}

fn shortened(mut note: String) -> String {
    note.truncate(note.floor_char_boundary(LONGEST_NOTE));
    note
}

/// The pod that the operator runs in, or the machine.
pub(super) fn instance() -> String {
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let machine = || {
        rustix::system::uname()
            .nodename()
            .to_string_lossy()
            .into_owned()
    };
    variable("POD_NAME").unwrap_or_else(machine)
}

#[cfg(test)]
mod tests;
