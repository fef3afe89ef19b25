//! Beside another operator that looks after the same jobs, an older one or this one in another place, this one
//! does not start: each would undo what the other does.

mod older;

use std::time::Duration;

use k8s_openapi::api::apps::v1::Deployment;
use kube::api::ListParams;
use kube::core::Status;
use kube::{Api, Client};
use mxjob_core::RoleTable;

use super::backoff;
use super::home::Home;
use super::words::failure;
use older::{OLDER, Older, Ours, Rival};

const LONGEST_WAIT: Duration = Duration::from_secs(10);

/// Other operators look after the jobs, too.
#[derive(Debug, thiserror::Error)]
#[error(
    "other operators look after the same jobs, and two would fight over them, each deleting what the other has \
     made: {}; or start with --force-takeover", listed(.0)
)]
pub(super) struct Rivals(Vec<Rival>);

fn listed(rivals: &[Rival]) -> String {
    let rivals: Vec<_> = rivals.iter().map(ToString::to_string).collect();
    rivals.join("; ")
}

/// Looks for other operators of the jobs of these APIs, in these namespaces or in all; this one is in
/// `home`. It is an error if there are some, unless they are to be ignored.
pub(super) async fn check(
    client: &Client,
    apis: &[&'static RoleTable],
    namespaces: &[String],
    home: &Home,
    ignored: bool,
) -> Result<(), Rivals> {
    // A variable that is set to nothing names none.
    let within = namespaces.iter().map(String::as_str);
    let ours = Ours {
        within: within.filter(|name| !name.is_empty()).collect(),
        groups: apis.iter().map(|api| api.crd.group).collect(),
        home,
    };
    let mut rivals = Vec::new();
    for older in OLDER.iter().filter(|older| older.is_for(apis)) {
        rivals.extend(find(client, older, &ours).await);
    }
    if rivals.is_empty() {
        return Ok(());
    }
    if ignored {
        tracing::warn!(
            "other operators look after the same jobs: {}",
            listed(&rivals)
        );
        return Ok(());
    }
    Err(Rivals(rivals))
}

/// The Deployments of its name, of whichever namespace, that look after the same jobs. If those of the whole
/// cluster may not be seen, those of the namespaces of the jobs.
async fn find(client: &Client, older: &Older, ours: &Ours<'_>) -> Vec<Rival> {
    let name = older.called();
    let refused = match look(&Api::all(client.clone()), older, ours).await {
        Ok(found) => return found,
        Err(refused) => refused,
    };
    if ours.within.is_empty() {
        unseen(older, &refused);
        return Vec::new();
    }
    tracing::warn!(
        error = %refused.message,
        "cannot see whether an operator of another namespace looks after the same jobs: make sure that no \
         Deployment {name} does, or allow to list deployments of apps of that name in all namespaces"
    );
    let mut rivals = Vec::new();
    for namespace in &ours.within {
        match look(&Api::namespaced(client.clone(), namespace), older, ours).await {
            Ok(found) => rivals.extend(found),
            Err(refused) => unseen(older, &refused),
        }
    }
    rivals
}

fn unseen(other: &Older, refused: &Status) {
    let name = other.called();
    tracing::warn!(
        error = %refused.message,
        "cannot see whether another operator looks after the same jobs: make sure that no Deployment {name} does, or \
         allow to list deployments of apps of that name"
    );
}

/// The Deployments of its name there that look after the same jobs; an error: they may not be seen.
/// Whoever gets no answer asks again.
async fn look(
    place: &Api<Deployment>,
    older: &Older,
    ours: &Ours<'_>,
) -> Result<Vec<Rival>, Box<Status>> {
    // By its name alone: more need not be allowed.
    let only = ListParams::default().fields(&format!("metadata.name={}", older.name));
    let mut failures = 0;
    loop {
        match place.list(&only).await {
            Ok(found) => {
                let rivals = found.iter().filter_map(|one| older.rival(one, ours));
                return Ok(rivals.collect());
            }
            Err(kube::Error::Api(status)) if matches!(status.code, 400..=428 | 430..=499) => {
                return Err(status);
            }
            Err(error) => {
                failures += 1;
                if failures == 1 {
                    tracing::warn!(
                        error = %failure(&error),
                        "cannot look for other operators, trying again"
                    );
                } else {
                    tracing::debug!(
                        error = %failure(&error),
                        failures,
                        "cannot look for other operators"
                    );
                }
                tokio::time::sleep(backoff::wait(failures).min(LONGEST_WAIT)).await;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use http::{Request, Response};
    use kube::client::Body;
    use mxjob_core::{MxRole, ReplicaRole as _};
    use serde_json::{Value, json};
    use tower::service_fn;

    use super::*;

    /// What a check says, and asks for, where the server answers the first times with errors.
    async fn checked(
        namespaces: &[&str],
        ignored: bool,
        errors: &[u16],
        items: Value,
    ) -> (Result<(), String>, Vec<String>) {
        let asked: Arc<Mutex<Vec<String>>> = Arc::default();
        let (seen, errors) = (asked.clone(), errors.to_vec());
        let server = service_fn(move |request: Request<Body>| {
            let mut seen = seen.lock().unwrap();
            let code = errors.get(seen.len()).copied().unwrap_or(200);
            let uri = request.uri().to_string();
            // The answer is of the name that was asked for.
            let name = uri.split("metadata.name%3D").nth(1).unwrap();
            let all = items.as_array().unwrap().iter();
            let named: Vec<_> = all.filter(|one| one["metadata"]["name"] == *name).collect();
            seen.push(uri.clone());
            let body = if code == 200 {
                json!({"metadata": {}, "items": named})
            } else {
                json!({"status": "Failure", "code": code, "message": "no", "reason": "Because"})
            };
            let answer = Response::builder().status(code);
            let answer = answer.body(Body::from(body.to_string().into_bytes()));
            async { answer }
        });
        let client = Client::new(server, "default");
        let namespaces: Vec<_> = namespaces.iter().map(|name| (*name).to_owned()).collect();
        let home = Home {
            namespace: "home".to_owned(),
            pod: None,
            in_pod: false,
        };
        let answer = check(&client, &[MxRole::TABLE], &namespaces, &home, ignored).await;
        let asked = asked.lock().unwrap().clone();
        (answer.map_err(|error| error.to_string()), asked)
    }

    fn running(name: &str, namespace: &str) -> Value {
        json!({
            "metadata": {"name": name, "namespace": namespace},
            "spec": {"selector": {}, "template": {"spec": {"containers": [{"name": "x", "image": "x:v1.8.0"}]}}},
            "status": {"readyReplicas": 1},
        })
    }

    // contract: 12.30
    #[tokio::test]
    async fn each_rival_is_named_once_with_what_to_do() {
        let two = json!([
            running("mx-job-operator", "a"),
            running("training-operator", "b")
        ]);
        let (answer, asked) = checked(&[], false, &[], two.clone()).await;
        let wanted = "other operators look after the same jobs, and two would fight over them, each deleting what \
             the other has made: Deployment mx-job-operator in namespace a, ready replicas: 1 (stop it: `kubectl -n a \
             scale deployment mx-job-operator --replicas=0`); Deployment training-operator in namespace b, ready \
             replicas: 1 (give it --enable-scheme for its other kinds of jobs alone, or stop it: `kubectl -n b scale \
             deployment training-operator --replicas=0`); or start with --force-takeover";
        assert_eq!(answer, Err(wanted.to_owned()));
        assert_eq!(asked.len(), 4, "{asked:?}");
        assert!(
            asked[0].starts_with("/apis/apps/v1/deployments?"),
            "{asked:?}"
        );
        assert_eq!(checked(&[], true, &[], two).await.0, Ok(()));
        assert_eq!(checked(&[], false, &[], json!([])).await.0, Ok(()));
    }

    // contract: 12.30
    #[tokio::test]
    async fn one_of_another_namespace_is_seen_unless_that_is_not_allowed() {
        // It looks after all of them.
        let elsewhere = json!([running("mx-job-operator", "elsewhere")]);
        let (answer, asked) = checked(&["one", "two"], false, &[], elsewhere).await;
        let found = answer.unwrap_err();
        assert!(
            found.contains("mx-job-operator in namespace elsewhere"),
            "{found}"
        );
        let everywhere = |asked: &[String]| {
            let all = asked.iter();
            all.filter(|uri| uri.starts_with("/apis/apps/v1/deployments?"))
                .count()
        };
        assert_eq!((everywhere(&asked), asked.len()), (4, 4), "{asked:?}");
        // Of what may not be seen in the whole cluster, those of the namespaces that are named.
        let errors = [403, 200, 200, 403, 200, 200, 403, 200, 200, 403];
        let (answer, asked) = checked(&["one", "two"], false, &errors, json!([])).await;
        assert_eq!((answer, asked.len()), (Ok(()), 12));
        let within = |name: &str| {
            let path = format!("/apis/apps/v1/namespaces/{name}/deployments?");
            asked.iter().filter(|uri| uri.starts_with(&path)).count()
        };
        assert_eq!((within("one"), within("two")), (4, 4), "{asked:?}");
        let there = json!([running("mx-job-operator", "two")]);
        assert!(checked(&["two"], false, &errors, there).await.0.is_err());
        // A variable that is set to nothing names none.
        let (_, asked) = checked(&[""], false, &[], json!([])).await;
        assert!(
            asked[0].starts_with("/apis/apps/v1/deployments?"),
            "{asked:?}"
        );
    }

    // contract: 12.32
    #[tokio::test(start_paused = true)]
    async fn what_may_not_be_seen_is_passed_over_and_no_answer_is_waited_for() {
        let one = json!([running("mxnet-operator", "a")]);
        let (answer, asked) = checked(&[], false, &[403; 4], one.clone()).await;
        assert_eq!((answer, asked.len()), (Ok(()), 4));
        // The others may be seen.
        let (answer, _) = checked(&[], false, &[403], one.clone()).await;
        assert!(
            answer
                .unwrap_err()
                .contains("Deployment mxnet-operator in namespace a")
        );
        let (answer, asked) = checked(&[], false, &[503, 429, 500], one).await;
        assert!(answer.is_err());
        assert_eq!(asked.len(), 7, "{asked:?}");
    }
}
