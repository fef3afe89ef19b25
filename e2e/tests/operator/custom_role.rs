//! The role sets of `examples/custom-role` on a real control plane.

use std::path::Path;

use crate::bench::{Bench, Operator, PATIENCE, training};
use anyhow::{Context as _, Result, ensure};
use e2e::deadline::{Seen, until};
use e2e::{ControlPlane, ScriptedKubelet};
use http::Request;
use kube::Client;
use kube::api::{Api, ApiResource, DynamicObject, GroupVersionKind, PostParams};
use mxjob_core::api::v1::ConditionType;
use serde_json::{Value, json};
use tokio::sync::OnceCell;

/// The control plane of these tests, with the CustomResourceDefinitions that the examples commit:
/// another one than that of the other tests, for the same name.
async fn bench(prefix: &str) -> Result<(Bench, &'static ControlPlane)> {
    static PLANE: OnceCell<ControlPlane> = OnceCell::const_new();
    let plane = PLANE.get_or_try_init(ControlPlane::start).await?;
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/custom-role");
    let mut crds = Vec::new();
    for file in [
        "operator/crds/kubeflow.org_mxjobs.yaml",
        "render/crds/render.example.org_renderjobs.yaml",
    ] {
        let text = std::fs::read_to_string(examples.join(file)).context(file)?;
        crds.push(serde_saphyr::from_str(&text)?);
    }
    plane.install_crds(&crds).await?;
    Ok((Bench::new(plane, prefix).await?, plane))
}

/// A training job with so many evaluators.
fn scored(evaluators: u32) -> Value {
    let mut job = training("scored", 1, 1);
    let mut evaluator = job["spec"]["mxReplicaSpecs"]["Worker"].clone();
    evaluator["replicas"] = json!(evaluators);
    job["spec"]["mxReplicaSpecs"]["Evaluator"] = evaluator;
    job
}

fn refused<T: std::fmt::Debug>(answer: Result<T>) -> Result<String> {
    let error = answer.err().context("accepted")?;
    Ok(format!("{error:#}"))
}

#[tokio::test]
async fn without_an_operator_the_server_knows_the_role_and_its_bounds() -> Result<()> {
    let (bench, _) = bench("custom-admission").await?;
    let error = refused(bench.create(&scored(2)).await)?;
    ensure!(
        error.contains("Evaluator: replicas must be 0 to 1"),
        "{error}"
    );
    let mut job = scored(1);
    job["spec"]["mxReplicaSpecs"]["Evaluator"]["restartPolicy"] = json!("Never");
    let error = refused(bench.create(&job).await)?;
    ensure!(
        error.contains("Evaluator: restartPolicy must be OnFailure"),
        "{error}"
    );
    bench.create(&scored(1)).await?;
    Ok(())
}

#[tokio::test]
async fn a_set_with_a_kind_of_its_own_is_a_resource_of_its_own() -> Result<()> {
    let (bench, _) = bench("custom-kind").await?;
    let kind = GroupVersionKind::gvk("render.example.org", "v1", "RenderJob");
    let resource = ApiResource::from_gvk_with_plural(&kind, "renderjobs");
    let jobs: Api<DynamicObject> =
        Api::namespaced_with(bench.client.clone(), &bench.namespace, &resource);
    let role = |replicas: u32| {
        let containers = json!([{"name": "main", "image": "example.com/render:1"}]);
        json!({"replicas": replicas, "template": {"spec": {"containers": containers}}})
    };
    let job = |mergers: u32| {
        json!({
            "apiVersion": "render.example.org/v1", "kind": "RenderJob", "metadata": {"name": "film"},
            "spec": {"mxReplicaSpecs": {"Merger": role(mergers), "Renderer": role(3)}},
        })
    };
    let params = PostParams::default();
    let two = jobs.create(&params, &serde_json::from_value(job(2))?).await;
    let error = refused(two.map_err(Into::into))?;
    ensure!(error.contains("Merger: replicas must be 1"), "{error}");
    jobs.create(&params, &serde_json::from_value(job(1))?)
        .await?;
    Ok(())
}

/// What `kubectl explain mxjob.spec.mxReplicaSpecs` shows.
async fn explained(client: &Client) -> Result<String> {
    let request = Request::get("/openapi/v3/apis/kubeflow.org/v1").body(Vec::new())?;
    let api: Value = serde_json::from_str(&client.request_text(request).await?)?;
    let spec = &api["components"]["schemas"]["org.kubeflow.v1.MXJob"]["properties"]["spec"];
    let roles = &spec["properties"]["mxReplicaSpecs"]["description"];
    Ok(roles.as_str().unwrap_or_default().to_owned())
}

#[tokio::test]
async fn kubectl_explain_shows_the_doc_comments_of_all_roles() -> Result<()> {
    let (bench, _) = bench("custom-explain").await?;
    let text = until("the role in the server's OpenAPI", PATIENCE, || async {
        // Published a moment after the definition is accepted; not found until then.
        let text = explained(&bench.client).await.unwrap_or_default();
        Ok(if text.contains("Evaluator") {
            Seen::Done(text)
        } else {
            Seen::NotYet(text)
        })
    })
    .await?;
    ensure!(
        text.contains("Evaluator: Scores checkpoints while training runs."),
        "{text}"
    );
    ensure!(text.contains("Server: Holds the parameters."), "{text}");
    Ok(())
}

#[tokio::test]
async fn the_operator_of_the_set_runs_the_role() -> Result<()> {
    let (bench, plane) = bench("custom-run").await?;
    let program = env!("CARGO_BIN_EXE_e2e-custom");
    let _operator = Operator::start_program(program, plane, &["--namespace", &bench.namespace])?;
    let kubelet = ScriptedKubelet::run_all(bench.client.clone(), &bench.namespace);
    bench.create(&scored(1)).await?;
    bench.phase("scored", "Running").await?;
    bench.pods(4).await?;
    let evaluator = bench.pods.get("scored-evaluator-0").await?;
    let vars = evaluator
        .spec
        .context("no spec")?
        .containers
        .remove(0)
        .env
        .unwrap_or_default();
    let value = |name: &str| vars.iter().find(|var| var.name == name)?.value.clone();
    assert_eq!(
        value("EVAL_WORKERS").as_deref(),
        Some("scored-worker-0:9091")
    );
    assert_eq!(value("DMLC_ROLE"), None);
    for pod in ["scored-worker-0", "scored-scheduler-0"] {
        kubelet.succeed(pod).await?;
    }
    bench.phase("scored", "Succeeded").await?;
    // The server and the evaluator still ran: they are cleaned up.
    bench.pods(2).await?;
    Ok(())
}

#[tokio::test]
async fn an_operator_that_does_not_know_the_role_says_so_and_goes_on_with_other_jobs() -> Result<()>
{
    let (bench, plane) = bench("custom-unknown").await?;
    let _operator = Operator::start(plane, &bench.namespace)?;
    let _kubelet = ScriptedKubelet::run_all(bench.client.clone(), &bench.namespace);
    bench.create(&scored(1)).await?;
    bench.create(&training("known", 1, 1)).await?;
    bench.phase("known", "Running").await?;
    let status = bench
        .phase("scored", "Failed")
        .await?
        .status
        .unwrap_or_default();
    let failed = status
        .condition(ConditionType::Failed)
        .context("no condition")?;
    assert_eq!(failed.reason.as_deref(), Some("FailedInvalidMXJobSpec"));
    let message = failed.message.clone().unwrap_or_default();
    ensure!(
        message.contains(r#"unknown replica type "Evaluator""#),
        "{message}"
    );
    // Jobs created later are seen as well.
    bench.create(&training("later", 0, 1)).await?;
    bench.phase("later", "Running").await?;
    Ok(())
}
