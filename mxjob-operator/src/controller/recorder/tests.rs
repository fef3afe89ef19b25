//! Events against a server that loses them, is late, or takes none.

use std::collections::{BTreeMap, VecDeque};
use std::convert::Infallible;
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

use http::{Method, Request, Response};
use kube::client::Body;
use kube::core::Status;
use mxjob_core::{MxRole, ReplicaRole as _};
use serde_json::Value;

use super::*;

#[test]
fn a_long_note_is_cut_between_characters() {
    assert_eq!(shortened("ä".repeat(1000)).len(), 1024);
    assert_eq!(shortened(format!("x{}", "ä".repeat(1000))).len(), 1023);
    assert_eq!(shortened("short".to_owned()), "short");
}

/// The events of one namespace.
#[derive(Clone, Default)]
struct Server(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    events: BTreeMap<String, Value>,
    asked: Vec<Method>,
    /// What the next requests are answered, whatever is there; then `always`, then the truth.
    next: VecDeque<u16>,
    always: Option<u16>,
}

impl Server {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn client(&self) -> Client {
        let server = self.clone();
        let service = tower::service_fn(move |request| server.clone().answer(request));
        Client::new(service, "jobs")
    }

    async fn answer(self, request: Request<Body>) -> Result<Response<Body>, Infallible> {
        let (parts, body) = request.into_parts();
        let body: Value = serde_json::from_slice(&body.collect_bytes().await.unwrap()).unwrap();
        let mut state = self.state();
        state.asked.push(parts.method.clone());
        let scripted = state.next.pop_front().or(state.always);
        let answer = match scripted {
            Some(code) => Err(code),
            None => state.take(&parts.method, parts.uri.path(), body),
        };
        drop(state);
        let (code, body) = match answer {
            Ok(event) => (200, event),
            Err(code) => (code, refusal(code)),
        };
        let body = Body::from(body.to_string().into_bytes());
        Ok(Response::builder().status(code).body(body).unwrap())
    }
}

impl State {
    fn take(&mut self, method: &Method, path: &str, body: Value) -> Result<Value, u16> {
        if method == Method::POST {
            let name = body["metadata"]["name"].as_str().unwrap().to_owned();
            if self.events.contains_key(&name) {
                return Err(409);
            }
            self.events.insert(name, body.clone());
            return Ok(body);
        }
        let name = path.rsplit('/').next().unwrap();
        let event = self.events.get_mut(name).ok_or(404_u16)?;
        event["series"] = body["series"].clone();
        Ok(event.clone())
    }

    fn counts(&self) -> Vec<Option<i64>> {
        let events = self.events.values();
        events.map(|one| one["series"]["count"].as_i64()).collect()
    }
}

fn refusal(code: u16) -> Value {
    let reason = match code {
        404 => "NotFound",
        409 => "AlreadyExists",
        _ => "InternalError",
    };
    serde_json::to_value(Status::failure("no", reason).with_code(code)).unwrap()
}

fn teller(server: &Server) -> Teller {
    Teller {
        client: server.client(),
        throttle: Throttle::default(),
        controller: MxRole::TABLE.operator(),
        instance: "here".to_owned(),
    }
}

fn message(text: &str) -> Message {
    Message {
        regarding: ObjectReference {
            namespace: Some("jobs".to_owned()),
            name: Some("digits".to_owned()),
            uid: Some("1".to_owned()),
            ..ObjectReference::default()
        },
        event: Event::warning("Failed", text.to_owned()),
        time: Timestamp::now(),
    }
}

/// Says the same so many times, one after the other.
struct Speaker {
    teller: Teller,
    told: HashMap<Fact, Told>,
    trouble: Arc<Trouble>,
}

impl Speaker {
    fn new(server: &Server) -> Self {
        Self {
            teller: teller(server),
            told: HashMap::new(),
            trouble: Arc::default(),
        }
    }

    async fn say(&mut self, text: &str) {
        let event = self.teller.event(&mut self.told, message(text));
        let (client, throttle) = (self.teller.client.clone(), self.teller.throttle.clone());
        send(client, throttle, event, self.trouble.clone()).await;
    }
}

#[tokio::test(start_paused = true)]
async fn the_same_again_is_one_more_in_a_series() {
    let server = Server::default();
    let mut speaker = Speaker::new(&server);
    for text in ["taken", "taken", "full", "taken"] {
        speaker.say(text).await;
    }
    assert_eq!(server.state().counts(), [Some(3), None]);
    tokio::time::advance(SERIES).await;
    speaker.say("taken").await;
    assert_eq!(server.state().counts(), [Some(3), None, None]);
}

#[tokio::test(start_paused = true)]
async fn what_is_gone_is_told_anew_with_its_series() {
    let server = Server::default();
    let mut speaker = Speaker::new(&server);
    speaker.say("taken").await;
    let first = std::mem::take(&mut server.state().events);
    speaker.say("taken").await;
    let mut again = server.state().events.clone();
    assert_eq!(server.state().counts(), [Some(2)]);
    for event in again.values_mut() {
        event.as_object_mut().unwrap().remove("series");
    }
    assert_eq!(again, first);
}

#[tokio::test(start_paused = true)]
async fn what_comes_before_its_repetition_after_all_is_added_to() {
    let server = Server::default();
    let mut speaker = Speaker::new(&server);
    speaker.say("taken").await;
    server.state().next = [404, 409].into();
    speaker.say("taken").await;
    let wanted = [Method::POST, Method::PATCH, Method::POST, Method::PATCH];
    assert_eq!(server.state().asked, wanted);
    assert_eq!(server.state().counts(), [Some(2)]);
}

/// A log in memory.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Log {
    fn count(&self, text: &str) -> usize {
        let bytes = self.0.lock().unwrap();
        String::from_utf8_lossy(&bytes).matches(text).count()
    }
}

#[tokio::test(start_paused = true)]
async fn what_was_given_up_is_warned_about_once_and_told_when_it_happens_again() {
    let log = Log::default();
    let writer = log.clone();
    let lines = tracing_subscriber::fmt().with_writer(move || writer.clone());
    let _logging = tracing::subscriber::set_default(lines.finish());
    let server = Server::default();
    let mut speaker = Speaker::new(&server);
    for trouble in 1..=2 {
        server.state().always = Some(500);
        server.state().asked.clear();
        speaker.say("taken").await;
        assert_eq!(server.state().asked.len(), 12);
        speaker.say("full").await;
        assert_eq!(log.count("event not sent, trying again"), trouble);
        assert_eq!(log.count("event given up, others may follow"), trouble);

        server.state().always = None;
        speaker.say("taken").await;
    }
    assert_eq!(server.state().counts(), [Some(4)]);
}
