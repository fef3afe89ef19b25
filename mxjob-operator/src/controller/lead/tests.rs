//! A candidate and a server that answers when it is told to.

use std::sync::{Arc, Mutex};

use http::{Method, Request, Response};
use kube::client::Body;
use serde_json::{Value, json};
use tokio::sync::Notify;
use tower::service_fn;

use super::*;

/// A server without a lease, which keeps the one that is created and says so when it is let.
#[derive(Clone, Default)]
struct Cluster {
    lease: Arc<Mutex<Option<Value>>>,
    asked: Arc<Notify>,
    answers: Arc<Notify>,
}

impl Cluster {
    async fn answer(self, request: Request<Body>) -> (u16, Value) {
        let (parts, body) = request.into_parts();
        let body = body.collect_bytes().await.unwrap();
        match parts.method {
            Method::GET => {
                let lease = self.lease.lock().unwrap().clone();
                lease.map_or((404, json!({"code": 404, "reason": "NotFound"})), |lease| {
                    (200, lease)
                })
            }
            Method::POST => {
                let mut created: Value = serde_json::from_slice(&body).unwrap();
                created["metadata"]["resourceVersion"] = json!("1");
                *self.lease.lock().unwrap() = Some(created.clone());
                self.asked.notify_one();
                self.answers.notified().await;
                (201, created)
            }
            _ => {
                let change: Value = serde_json::from_slice(&body).unwrap();
                let mut lease = self.lease.lock().unwrap();
                let lease = lease.as_mut().unwrap();
                lease["spec"]["holderIdentity"] = change["spec"]["holderIdentity"].clone();
                lease["metadata"]["resourceVersion"] = json!("2");
                (200, lease.clone())
            }
        }
    }

    fn client(&self) -> Client {
        let cluster = self.clone();
        let server = service_fn(move |request| {
            let answer = cluster.clone().answer(request);
            async move {
                let (code, body) = answer.await;
                let body = Body::from(body.to_string().into_bytes());
                Response::builder().status(code).body(body)
            }
        });
        Client::new(server, "lab")
    }

    fn holder(&self) -> Value {
        let lease = self.lease.lock().unwrap();
        lease.as_ref().unwrap()["spec"]["holderIdentity"].clone()
    }
}

// contract: 11.17
#[tokio::test]
async fn who_is_told_to_stop_while_it_asks_for_the_lease_gives_it_back() {
    let cluster = Cluster::default();
    let gate = Gate::shut();
    let lease = ("lab", "mxjob-operator");
    let lasts = Duration::from_secs(5);
    let leadership = Leadership::stand(cluster.client(), lease, lasts, "me".to_owned(), gate);
    cluster.asked.notified().await;
    assert_eq!((leadership.leads(), cluster.holder()), (false, json!("me")));
    let stopping = tokio::spawn(leadership.give_back(true));
    tokio::task::yield_now().await;
    cluster.answers.notify_one();
    stopping.await.unwrap();
    assert_eq!(cluster.holder(), Value::Null);
}
