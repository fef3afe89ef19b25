//! Events against a server that loses them, is late, or takes none.

use std::collections::{BTreeMap, VecDeque};
use std::convert::Infallible;
use std::io;

use http::{Method, Request, Response};
use kube::client::Body;
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
    /// Cause of refusals, if there is one.
    cause: String,
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
        let cause = state.cause.clone();
        drop(state);
        let (code, body) = match answer {
            Ok(event) => (200, event),
            Err(code) => (code, refusal(code, &cause)),
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

fn refusal(code: u16, cause: &str) -> Value {
    let reason = match code {
        404 => "NotFound",
        409 => "AlreadyExists",
        _ => "InternalError",
    };
    let mut status = serde_json::to_value(Status::failure("no", reason).with_code(code)).unwrap();
    status["details"] = json!({"causes": [{"reason": cause}]});
    status
}

fn teller(server: &Server) -> Teller {
    Teller {
        client: server.client(),
        throttle: Throttle::default(),
        instance: "here".to_owned(),
    }
}

fn message(namespace: &str, text: &str) -> Message {
    Message {
        regarding: ObjectReference {
            namespace: Some(namespace.to_owned()),
            name: Some("digits".to_owned()),
            uid: Some(format!("of {namespace}")),
            ..ObjectReference::default()
        },
        controller: MxRole::TABLE.operator(),
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
        self.say_in("jobs", text).await;
    }

    async fn say_in(&mut self, namespace: &str, text: &str) {
        let event = self.teller.event(&mut self.told, message(namespace, text));
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
        self.lines(&[text])
    }

    /// How many lines have all of these.
    fn lines(&self, texts: &[&str]) -> usize {
        let bytes = self.0.lock().unwrap();
        let text = String::from_utf8_lossy(&bytes);
        let has_all = |line: &&str| texts.iter().all(|text| line.contains(text));
        text.lines().filter(has_all).count()
    }
}

impl Log {
    /// Writes what is logged, until the guard goes.
    fn listen(&self) -> tracing::subscriber::DefaultGuard {
        let writer = self.clone();
        let lines = tracing_subscriber::fmt()
            .with_ansi(false)
            .with_writer(move || writer.clone());
        tracing::subscriber::set_default(lines.finish())
    }
}

#[tokio::test(start_paused = true)]
async fn what_was_given_up_is_warned_about_once_and_told_when_it_happens_again() {
    let log = Log::default();
    let _logging = log.listen();
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

#[tokio::test(start_paused = true)]
async fn what_the_server_refuses_is_warned_about_once_for_each_kind_in_each_namespace() {
    let log = Log::default();
    let _logging = log.listen();
    let server = Server::default();
    let mut speaker = Speaker::new(&server);
    let warned = |code: u16, namespace: &str| {
        let job = format!("namespace=\"{namespace}\" job=\"digits\" code={code} why=\"no\"");
        log.lines(&["WARN", "event refused, others may follow", &job])
    };
    for (code, warnings) in [(403, 1), (422, 1), (403, 1)] {
        server.state().always = Some(code);
        for text in ["taken", "full", "taken"] {
            speaker.say(text).await;
        }
        assert_eq!(warned(code, "jobs"), warnings, "{code}");
    }
    speaker.say_in("elsewhere", "taken").await;
    speaker.say_in("elsewhere", "taken").await;
    assert_eq!(warned(403, "elsewhere"), 1);

    // What got through elsewhere says nothing of this namespace.
    server.state().always = None;
    speaker.say_in("elsewhere", "full").await;
    server.state().always = Some(403);
    speaker.say("taken").await;
    assert_eq!(warned(403, "jobs"), 1);
    server.state().always = None;
    speaker.say("taken").await;
    server.state().always = Some(403);
    speaker.say("taken").await;
    assert_eq!(warned(403, "jobs"), 2);
    assert_eq!(log.count("WARN"), 4);
}

#[tokio::test(start_paused = true)]
async fn a_namespace_that_goes_is_nothing_to_warn_about() {
    let log = Log::default();
    let _logging = log.listen();
    let server = Server::default();
    let mut speaker = Speaker::new(&server);
    for (code, cause) in [(404, ""), (403, "NamespaceTerminating")] {
        server.state().always = Some(code);
        cause.clone_into(&mut server.state().cause);
        speaker.say("taken").await;
    }
    assert_eq!(log.count("WARN"), 0);
    server.state().cause.clear();
    // The refusal of a namespace that goes hides no other of its code.
    speaker.say("taken").await;
    assert_eq!(log.count("WARN"), 1);
}
