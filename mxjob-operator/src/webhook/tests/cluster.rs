//! An API server that knows one Secret.

use std::sync::{Arc, Mutex};

use http::{Method, Request, Response};
use kube::Client;
use kube::client::Body;
use tower::service_fn;

use super::*;

/// It, and what it was asked for.
#[derive(Clone, Default)]
pub(super) struct Cluster(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    secret: Option<Value>,
    version: u64,
    /// With what everything is refused.
    refusal: Option<u16>,
    asked: Vec<String>,
}

impl Cluster {
    /// One in which that stands in the Secret.
    pub(super) fn with(secret: Value) -> Self {
        let cluster = Self::default();
        cluster.put(Some(secret));
        cluster
    }

    pub(super) fn client(&self) -> Client {
        let cluster = self.clone();
        let server = service_fn(move |request: Request<Body>| {
            let cluster = cluster.clone();
            async move {
                let (head, body) = request.into_parts();
                let body = body.collect_bytes().await.unwrap();
                let uri = head.uri.to_string();
                if uri.contains("watch=true") {
                    std::future::pending::<()>().await;
                }
                let (code, answer) = cluster.answer(&head.method, &uri, &head.headers, &body);
                let answer = Body::from(answer.to_string().into_bytes());
                Response::builder().status(code).body(answer)
            }
        });
        Client::new(server, "default")
    }

    fn answer(
        &self,
        method: &Method,
        uri: &str,
        headers: &http::HeaderMap,
        body: &[u8],
    ) -> (u16, Value) {
        let mut state = self.0.lock().unwrap();
        let kind = headers.get("content-type");
        let kind = kind.map_or("", |kind| kind.to_str().unwrap()).to_owned();
        state
            .asked
            .push(format!("{method} {uri} {kind}").trim().to_owned());
        if let Some(code) = state.refusal {
            return refused(code);
        }
        if method == Method::GET {
            let items: Vec<_> = state.secret.iter().cloned().collect();
            let meta = json!({"resourceVersion": state.version.to_string()});
            return (
                200,
                json!({"kind": "SecretList", "apiVersion": "v1", "metadata": meta, "items": items}),
            );
        }
        let patch: Value = serde_json::from_slice(body).unwrap();
        let before = match state.secret.clone() {
            Some(secret) => secret,
            None if kind.contains("apply") => json!({"type": "Opaque"}),
            None => return refused(404),
        };
        let version = &patch["metadata"]["resourceVersion"];
        if !version.is_null() && *version != before["metadata"]["resourceVersion"] {
            return refused(409);
        }
        let mut secret = before;
        merge(&mut secret, &patch);
        (200, state.store(secret))
    }

    /// Somebody else does that.
    pub(super) fn put(&self, secret: Option<Value>) {
        let mut state = self.0.lock().unwrap();
        match secret {
            Some(secret) => drop(state.store(secret)),
            None => state.secret = None,
        }
    }

    pub(super) fn refuses(&self, code: Option<u16>) {
        self.0.lock().unwrap().refusal = code;
    }

    /// What stands in it.
    pub(super) fn secret(&self) -> Option<Value> {
        self.0.lock().unwrap().secret.clone()
    }

    /// What it was asked for since it was asked last.
    pub(super) fn asked(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap().asked)
    }
}

impl State {
    fn store(&mut self, mut secret: Value) -> Value {
        self.version += 1;
        let meta = json!({"metadata": {"name": "mxjob-webhook", "resourceVersion": self.version.to_string()}});
        merge(&mut secret, &meta);
        self.secret.insert(secret).clone()
    }
}

fn refused(code: u16) -> (u16, Value) {
    (
        code,
        json!({"kind": "Status", "status": "Failure", "code": code, "message": "no", "reason": "No"}),
    )
}

/// As a merge patch does.
pub(super) fn merge(object: &mut Value, patch: &Value) {
    let Some(patch) = patch.as_object() else {
        *object = patch.clone();
        return;
    };
    if !object.is_object() {
        *object = json!({});
    }
    let object = object.as_object_mut().unwrap();
    for (name, value) in patch {
        if value.is_null() {
            object.remove(name);
        } else {
            merge(object.entry(name).or_insert(Value::Null), value);
        }
    }
}
