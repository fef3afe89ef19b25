//! Tells users what happened, as Kubernetes events. Nobody waits for it.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures::StreamExt as _;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::api::events::v1::{Event as ClusterEvent, EventSeries};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta};
use kube::api::{Patch, PatchParams, PostParams};
use kube::{Api, Client};
use mxjob_core::plan::{Event, EventKind};
use mxjob_core::{Job, RoleTable};
use serde_json::json;
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::backoff;
use super::throttle::Throttle;

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
    event: Event,
    time: Timestamp,
}

/// What makes two events the same: whom it is about, reason and message.
type Fact = (String, String, String);

#[derive(Debug)]
struct Told {
    name: String,
    count: i32,
    last: Instant,
}

impl Recorder {
    /// Starts the task. It ends when every `Recorder` is dropped and all has been sent.
    pub(super) fn start(
        client: Client,
        table: &'static RoleTable,
        throttle: Throttle,
    ) -> (Self, tokio::task::JoinHandle<()>) {
        let (sender, receiver) = mpsc::channel(BACKLOG);
        let teller = Teller {
            client,
            throttle,
            controller: table.operator(),
            instance: instance(),
        };
        (Self { sender }, tokio::spawn(teller.run(receiver)))
    }

    /// Says something about a job.
    pub(super) fn tell(&self, job: &Job, event: Event) {
        let regarding = ObjectReference {
            api_version: Some(format!("{}/v1", job.table.crd.group)),
            kind: Some(job.table.crd.kind.to_owned()),
            namespace: Some(job.meta.namespace.clone()),
            name: Some(job.meta.name.clone()),
            uid: Some(job.meta.uid.clone()),
            ..ObjectReference::default()
        };
        let message = Message {
            regarding,
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
    controller: String,
    instance: String,
}

/// One request.
enum Post {
    Create(Box<ClusterEvent>),
    Again {
        namespace: String,
        name: String,
        count: i32,
        time: Timestamp,
    },
}

impl Teller {
    async fn run(self, mut receiver: mpsc::Receiver<Message>) {
        let mut told: HashMap<Fact, Told> = HashMap::new();
        let posts = futures::stream::poll_fn(move |context| receiver.poll_recv(context))
            .map(|message| self.post(&mut told, message));
        let trouble = Arc::new(AtomicBool::new(false));
        let sent = posts
            .map(|post| {
                send(
                    self.client.clone(),
                    self.throttle.clone(),
                    post,
                    trouble.clone(),
                )
            })
            .buffer_unordered(WIDTH);
        sent.for_each(|()| async {}).await;
    }

    fn post(&self, told: &mut HashMap<Fact, Told>, message: Message) -> Post {
        let now = Instant::now();
        if told.len() > BACKLOG {
            told.retain(|_, told| now.duration_since(told.last) < SERIES);
        }
        let Message {
            regarding,
            event,
            time,
        } = message;
        let note = shortened(event.message);
        let fact = (
            regarding.uid.clone().unwrap_or_default(),
            event.reason.to_string(),
            note.clone(),
        );
        let namespace = regarding.namespace.clone().unwrap_or_default();
        if let Some(told) = told
            .get_mut(&fact)
            .filter(|told| now.duration_since(told.last) < SERIES)
        {
            told.count += 1;
            told.last = now;
            return Post::Again {
                namespace,
                name: told.name.clone(),
                count: told.count,
                time,
            };
        }
        let job: String = regarding
            .name
            .iter()
            .flat_map(|name| name.chars())
            .take(200)
            .collect();
        let name = format!(
            "{job}.{:x}",
            time.as_nanosecond() + i128::try_from(told.len()).unwrap_or_default()
        );
        told.insert(
            fact,
            Told {
                name: name.clone(),
                count: 1,
                last: now,
            },
        );
        Post::Create(Box::new(ClusterEvent {
            metadata: ObjectMeta {
                name: Some(name),
                namespace: Some(namespace),
                ..ObjectMeta::default()
            },
            action: Some("Reconcile".to_owned()),
            event_time: Some(MicroTime(time)),
            note: Some(note),
            reason: Some(event.reason.into_owned()),
            regarding: Some(regarding),
            reporting_controller: Some(self.controller.clone()),
            reporting_instance: Some(self.instance.clone()),
            type_: Some(match event.kind {
                EventKind::Normal => "Normal".to_owned(),
                EventKind::Warning => "Warning".to_owned(),
            }),
            ..ClusterEvent::default()
        }))
    }
}

/// What became of a request.
enum Sent {
    Done,
    /// The namespace or the event is gone, or the server does not want it.
    Unwanted(String),
    /// The server may take it later.
    NotYet(String),
}

/// Sends it, again and again while the server cannot take it. `trouble`: the log has said so.
async fn send(client: Client, throttle: Throttle, post: Post, trouble: Arc<AtomicBool>) {
    for attempt in 1..=ATTEMPTS {
        let permit = throttle.leisure().await;
        let sent = request(&client, &post).await;
        drop(permit);
        match sent {
            Sent::Done => {
                trouble.store(false, Ordering::Relaxed);
                return;
            }
            Sent::Unwanted(why) => {
                tracing::debug!(why, "event not sent");
                return;
            }
            Sent::NotYet(why) => {
                if !trouble.swap(true, Ordering::Relaxed) {
                    tracing::warn!(why, "event not sent, trying again");
                }
            }
        }
        tokio::time::sleep(backoff::wait(attempt).min(LONGEST_WAIT)).await;
    }
    tracing::debug!("event given up");
}

async fn request(client: &Client, post: &Post) -> Sent {
    let request = async {
        match post {
            Post::Create(event) => {
                let namespace = event.metadata.namespace.clone().unwrap_or_default();
                let api: Api<ClusterEvent> = Api::namespaced(client.clone(), &namespace);
                api.create(&PostParams::default(), event).await.map(drop)
            }
            Post::Again {
                namespace,
                name,
                count,
                time,
            } => {
                let api: Api<ClusterEvent> = Api::namespaced(client.clone(), namespace);
                let series = EventSeries {
                    count: *count,
                    last_observed_time: MicroTime(*time),
                };
                let patch = Patch::Merge(json!({ "series": series }));
                api.patch(name, &PatchParams::default(), &patch)
                    .await
                    .map(drop)
            }
        }
    };
    match tokio::time::timeout(PATIENCE, request).await {
        Ok(Ok(())) => Sent::Done,
        // An earlier attempt was in vain only as far as we know.
        Ok(Err(kube::Error::Api(status))) if status.is_already_exists() => Sent::Done,
        Ok(Err(kube::Error::Api(status))) if matches!(status.code, 400..=408 | 410..=428 | 430..=499) => {
            Sent::Unwanted(status.message.clone())
        }
        Ok(Err(error)) => Sent::NotYet(error.to_string()),
        Err(_) => Sent::NotYet(format!("no answer within {} s", PATIENCE.as_secs())),
    }
}

fn shortened(mut note: String) -> String {
    note.truncate(note.floor_char_boundary(LONGEST_NOTE));
    note
}

/// The pod that the operator runs in, or the machine.
fn instance() -> String {
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
mod tests {
    use super::*;

    #[test]
    fn a_long_note_is_cut_between_characters() {
        assert_eq!(shortened("ä".repeat(1000)).len(), 1024);
        assert_eq!(shortened(format!("x{}", "ä".repeat(1000))).len(), 1023);
        assert_eq!(shortened("short".to_owned()), "short");
    }
}
