//! The manifests of `e2e/corpus`, and a server to try them on.
//!
//! A file is one object, or two: an object and an edit of it. An object's `status` is written where
//! statuses are. The comment at its head ends with the place in the contract that the file is about;
//! in `invalid` every line before that is a message of the API server, `field: message`, the one that
//! it says first in front.

mod stored;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use e2e::ControlPlane;
use http::Request;
use kube::core::Status;
use kube::{Client, Error};
use mxjob_core::api::v1::{JobSpec, JobStatus};
use mxjob_core::{MxRole, Problem, ReplicaRole as _, check};
use serde_json::Value;
pub(crate) use stored::unlike;

/// One file.
#[derive(Debug)]
pub(crate) struct Case {
    pub(crate) path: PathBuf,
    /// What the API server says.
    pub(crate) messages: Vec<String>,
    /// What is created.
    pub(crate) object: Value,
    /// What it is then edited to.
    pub(crate) edit: Option<Value>,
}

impl Case {
    /// The files of a folder of `e2e/corpus`.
    pub(crate) fn all(folder: &str) -> Result<Vec<Self>> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("corpus")
            .join(folder);
        let mut paths = fs::read_dir(&folder)?
            .map(|entry| Ok(entry?.path()))
            .collect::<Result<Vec<_>>>()?;
        paths.sort();
        paths.into_iter().map(Self::read).collect()
    }

    /// One file.
    pub(crate) fn read(path: PathBuf) -> Result<Self> {
        let text = fs::read_to_string(&path)?;
        let mut head = text.lines().map_while(|line| line.strip_prefix("# "));
        let mut messages: Vec<_> = head.by_ref().map(str::to_owned).collect();
        let section = messages.pop().unwrap_or_default();
        ensure!(
            section.starts_with("v1.md "),
            "{} names no section",
            path.display()
        );
        let mut objects: Vec<Value> = serde_saphyr::from_multiple(&text)
            .map_err(|error| anyhow::anyhow!("{}: {error}", path.display()))?;
        ensure!(
            matches!(objects.len(), 1 | 2),
            "{} holds {} objects",
            path.display(),
            objects.len()
        );
        let edit = (objects.len() == 2).then(|| objects.pop()).flatten();
        let object = objects.pop().context("no object")?;
        Ok(Self {
            path,
            messages,
            object,
            edit,
        })
    }

    /// What is tried in the end: the edit, or the object.
    pub(crate) fn tried(&self) -> &Value {
        self.edit.as_ref().unwrap_or(&self.object)
    }

    /// What the library finds wrong with what is tried.
    pub(crate) fn errors(&self) -> Result<Vec<Problem>> {
        let tried = self.tried();
        let mut problems = check::structure(MxRole::TABLE, tried);
        if !problems.iter().any(Problem::is_error) {
            let name = tried["metadata"]["name"].as_str().unwrap_or("generated");
            let new = spec(tried)?;
            problems = if self.edit.is_some() {
                let status: JobStatus =
                    serde_json::from_value(self.object["status"].clone()).unwrap_or_default();
                let old = spec(&self.object)?;
                check::edit(MxRole::TABLE, name, &old, status.is_finished(), &new)
            } else {
                check::rules(MxRole::TABLE, name, &new)
            };
        }
        problems.retain(Problem::is_error);
        Ok(problems)
    }
}

fn spec(object: &Value) -> Result<JobSpec> {
    Ok(serde_json::from_value(without_nulls(&object["spec"]))?)
}

/// As the API server reads it.
fn without_nulls(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let given = fields.iter().filter(|(_, value)| !value.is_null());
            given
                .map(|(key, value)| (key.clone(), without_nulls(value)))
                .collect()
        }
        Value::Array(items) => items.iter().map(without_nulls).collect(),
        other => other.clone(),
    }
}

/// The API server with a namespace of the test's own, and nobody who looks after jobs.
pub(crate) struct Server {
    pub(crate) client: Client,
    namespace: String,
}

/// What an answer is: the object, or the messages of a refusal.
pub(crate) type Answer = Result<Value, Vec<String>>;

impl Server {
    /// In that control plane.
    pub(crate) async fn new(plane: &ControlPlane, prefix: &str) -> Result<Self> {
        Ok(Self {
            namespace: plane.namespace(prefix).await?,
            client: plane.client().await?,
        })
    }

    /// In the control plane that this program's tests share, with the definition in it.
    pub(crate) async fn shared(prefix: &str) -> Result<Self> {
        let plane = ControlPlane::shared().await?;
        plane
            .install_crds(&[mxjob_core::schema::crd(MxRole::TABLE)])
            .await?;
        Self::new(plane, prefix).await
    }

    /// Sends a request about the jobs of the namespace; `rest` is what follows their path, `accept`
    /// what the answer is to be.
    async fn send(
        &self,
        method: &str,
        rest: &str,
        accept: &str,
        body: Option<&Value>,
    ) -> Result<Answer> {
        let names = MxRole::TABLE.crd;
        let (group, plural) = (names.group, names.plural);
        let path = format!(
            "/apis/{group}/v1/namespaces/{}/{plural}{rest}",
            self.namespace
        );
        let body = body.map(serde_json::to_vec).transpose()?;
        let kind = match method {
            "PATCH" => "application/merge-patch+json",
            _ => "application/json",
        };
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("Content-Type", kind)
            .header("Accept", accept)
            .body(body.unwrap_or_default())?;
        match self.client.request::<Value>(request).await {
            Ok(answer) => Ok(Ok(answer)),
            Err(Error::Api(status)) => Ok(Err(messages(&status))),
            Err(error) => Err(error.into()),
        }
    }

    async fn json(&self, method: &str, rest: &str, body: Option<&Value>) -> Result<Answer> {
        self.send(method, rest, "application/json", body).await
    }

    /// Creates an object, with the status that it says it has.
    pub(crate) async fn create(&self, object: &Value) -> Result<Answer> {
        let created = self.json("POST", "", Some(object)).await?;
        let (Ok(stored), false) = (&created, object["status"].is_null()) else {
            return Ok(created);
        };
        let mut stored = stored.clone();
        stored["status"] = object["status"].clone();
        self.put(&stored, "/status").await
    }

    /// As [`create`](Self::create), but nothing is stored.
    pub(crate) async fn try_to_create(&self, object: &Value) -> Result<Answer> {
        self.json("POST", "?dryRun=All", Some(object)).await
    }

    /// Replaces an object, or a part of it.
    pub(crate) async fn put(&self, object: &Value, part: &str) -> Result<Answer> {
        let name = object["metadata"]["name"].as_str().context("no name")?;
        let rest = format!("/{name}{part}");
        self.json("PUT", &rest, Some(object)).await
    }

    /// Changes some fields of an object, or of a part of it.
    pub(crate) async fn patch(&self, name: &str, part: &str, change: &Value) -> Result<Answer> {
        let rest = format!("/{name}{part}");
        self.json("PATCH", &rest, Some(change)).await
    }

    /// All jobs, or the part of them that the query asks for.
    pub(crate) async fn list(&self, query: &str) -> Result<Answer> {
        self.json("GET", query, None).await
    }

    /// All jobs as `kubectl get` asks for them.
    pub(crate) async fn table(&self) -> Result<Answer> {
        let accept = "application/json;as=Table;v=v1;g=meta.k8s.io";
        self.send("GET", "?includeObject=None", accept, None).await
    }

    /// Creates what a case begins with and tries what it is about; nothing of it is left.
    pub(crate) async fn attempt(&self, case: &Case) -> Result<Answer> {
        let Some(edit) = &case.edit else {
            return self.try_to_create(&case.object).await;
        };
        let stored = self.create(&case.object).await?;
        let stored = stored.map_err(|messages| {
            anyhow::anyhow!(
                "{}: what is edited is refused: {messages:?}",
                case.path.display()
            )
        })?;
        let mut edit = edit.clone();
        edit["metadata"]["resourceVersion"] = stored["metadata"]["resourceVersion"].clone();
        let answer = self.put(&edit, "").await;
        let name = stored["metadata"]["name"].as_str().context("no name")?;
        let gone = self.json("DELETE", &format!("/{name}"), None).await?;
        ensure!(gone.is_ok(), "{name}: {gone:?}");
        answer
    }
}

/// What the server adds when the types of an object kept it from judging the rest.
const UNFINISHED: &str = "some validation rules were not checked";

fn messages(status: &Status) -> Vec<String> {
    let causes = status.details.iter().flat_map(|details| &details.causes);
    let said: Vec<_> = causes
        .filter(|cause| !cause.message.contains(UNFINISHED))
        .map(|cause| format!("{}: {}", cause.field, cause.message))
        .collect();
    if said.is_empty() {
        vec![status.message.clone()]
    } else {
        said
    }
}
