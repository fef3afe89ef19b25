//! What installs the operator, `deploy/`: rendered by the tools that people use, and taken to a real API server.

mod alerts;
mod chart;
mod fairness;
mod image;
mod issued;
mod jobs;
mod release;
mod same;
mod served;
mod users;
mod values;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use anyhow::{Context as _, Result, ensure};
use e2e::binaries::{self, Program};
use kube::api::{Api, Patch, PatchParams};
use kube::core::{ApiResource, DynamicObject, GroupVersionKind};
use kube::{Client, ResourceExt as _};
use serde_json::Value;
use tempfile::TempDir;

/// Where everybody installs it.
pub(crate) const NAMESPACE: &str = "mxjob-system";

/// A file or folder of `deploy/`.
pub(crate) fn folder(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../deploy")
        .join(path)
}

/// A run of helm, which finds nothing of this machine's user.
pub(crate) async fn helm(arguments: &[&str]) -> Result<Output> {
    helm_at(None, arguments).await
}

/// The same in a cluster.
pub(crate) async fn helm_at(kubeconfig: Option<&Path>, arguments: &[&str]) -> Result<Output> {
    let program = tokio::task::spawn_blocking(|| binaries::find(Program::Helm)).await??;
    let home = TempDir::new()?;
    let mut command = Command::new(program);
    command.args(arguments).env("HOME", home.path());
    for (variable, place) in [
        ("HELM_CACHE_HOME", "cache"),
        ("HELM_CONFIG_HOME", "config"),
        ("HELM_DATA_HOME", "data"),
    ] {
        command.env(variable, home.path().join(place));
    }
    let nowhere = home.path().join("none");
    command.env("KUBECONFIG", kubeconfig.unwrap_or(&nowhere));
    // It waits for the cluster; others have their turns meanwhile.
    let output = tokio::task::spawn_blocking(move || {
        let output = command.output();
        drop(home);
        output
    });
    output.await?.context("cannot run helm")
}

/// What a program has printed; an error with what it says when it has failed.
pub(crate) fn printed(output: &Output) -> Result<String> {
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{errors}");
    Ok(String::from_utf8(output.stdout.clone())?)
}

/// The chart with these values, as objects.
pub(crate) async fn chart(values: &Value) -> Result<Vec<Value>> {
    rendered("mxjob", "mxjob", values).await
}

/// A release of a chart of `deploy/helm` with these values, as objects.
pub(crate) async fn rendered(chart: &str, release: &str, values: &Value) -> Result<Vec<Value>> {
    let given = TempDir::new()?;
    let file = given.path().join("values.json");
    fs::write(&file, values.to_string())?;
    let chart = folder("helm").join(chart).display().to_string();
    let file = file.display().to_string();
    let name = ["template", release, &chart, "--namespace", NAMESPACE];
    let output = helm(&[name.as_slice(), &["--values", &file]].concat()).await?;
    objects(&printed(&output)?)
}

/// What kustomize makes of a folder of `deploy/kustomize`, as objects.
pub(crate) async fn kustomize(path: &str) -> Result<Vec<Value>> {
    let program = tokio::task::spawn_blocking(|| binaries::find(Program::Kustomize)).await??;
    let output = Command::new(program)
        .arg("build")
        .arg(folder("kustomize").join(path))
        .output()?;
    objects(&printed(&output)?)
}

/// What `mxjob rbac` prints, as objects.
pub(crate) fn rbac(arguments: &[&str]) -> Result<Vec<Value>> {
    let output = Command::new(env!("CARGO_BIN_EXE_e2e-mxjob"))
        .arg("rbac")
        .args(arguments)
        .output()?;
    objects(&printed(&output)?)
}

/// The documents of a YAML text.
pub(crate) fn objects(text: &str) -> Result<Vec<Value>> {
    let documents = text.split("\n---").map(|one| one.trim_start_matches("---"));
    let filled = documents.filter(|one| {
        let mut lines = one.lines().map(str::trim);
        lines.any(|line| !line.is_empty() && !line.starts_with('#'))
    });
    filled
        .map(|one| serde_saphyr::from_str(one).with_context(|| one.to_owned()))
        .collect()
}

/// Kind, namespace and name.
pub(crate) fn identity(object: &Value) -> [String; 3] {
    let meta = &object["metadata"];
    [&object["kind"], &meta["namespace"], &meta["name"]]
        .map(|value| value.as_str().unwrap_or_default().to_owned())
}

/// The only object of that kind and name.
pub(crate) fn find<'a>(objects: &'a [Value], kind: &str, name: &str) -> Result<&'a Value> {
    let is_it = |object: &&Value| object["kind"] == kind && object["metadata"]["name"] == name;
    let found: Vec<_> = objects.iter().filter(is_it).collect();
    ensure!(found.len() == 1, "{} of {kind} {name}", found.len());
    found.first().copied().context("none")
}

/// Whether an object is to be kept, or only to be looked at by the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum How {
    Try,
    Keep,
}

/// Applies an object as `kubectl apply --server-side` does, without a field that the server does not know.
pub(crate) async fn apply(client: &Client, object: &Value, how: How) -> Result<DynamicObject> {
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let version = word(&object["apiVersion"]);
    let (group, version) = version.split_once('/').unwrap_or(("", &version));
    let kind = GroupVersionKind::gvk(group, version, &word(&object["kind"]));
    let resource = ApiResource::from_gvk(&kind);
    let object: DynamicObject = serde_json::from_value(object.clone())?;
    let api: Api<DynamicObject> = match &object.metadata.namespace {
        Some(namespace) => Api::namespaced_with(client.clone(), namespace, &resource),
        None => Api::all_with(client.clone(), &resource),
    };
    let strictly = PatchParams::apply("e2e").force().validation_strict();
    let params = PatchParams {
        dry_run: how == How::Try,
        ..strictly
    };
    let name = object.name_any();
    let applied = api.patch(&name, &params, &Patch::Apply(&object)).await;
    applied.with_context(|| format!("the server refuses {} {name}", kind.kind))
}
