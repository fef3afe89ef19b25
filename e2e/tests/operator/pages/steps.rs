//! Which page has which commands, in an order in which they can be run.

use anyhow::Result;

use super::How::{Elsewhere, Never, Run, Start};
use super::page;

/// The API server of the tests does not reach the node.
const FORWARD: &str = "nothing leads to a pod; metrics.rs asks the operator itself";
/// No container engine can be had on every machine that runs the tests.
const ENGINE: &str =
    "it needs a container engine; real_node_chart.rs has an image from deploy/image.sh";
const CI: &str = ".ci/run";

#[tokio::test]
async fn commands_of_the_page_on_installing_work() -> Result<()> {
    let words = [("REGISTRY", "registry.example.com")];
    let steps = [
        ("docker build --file", Never(ENGINE)),
        ("docker buildx", Never(ENGINE)),
        (
            "cargo build --locked --release",
            Elsewhere("e2e/tests/operator/real_node_chart.rs"),
        ),
        (
            "deploy/release.sh",
            Elsewhere("e2e/tests/operator/deploy/release.rs"),
        ),
        ("helm install mxjob", Run("")),
        ("helm install digits", Run("")),
        ("kubectl delete mxjobs", Run("")),
        (
            "cd deploy/kustomize/base",
            Run("kubectl delete namespace mxjob-system"),
        ),
        ("kubectl -n mxjob-system rollout status", Run("")),
        ("kubectl -n mxjob-system delete deployment", Run("")),
        (
            "kubectl create namespace",
            Run("kubectl delete namespace mxjob-system"),
        ),
        (
            "mxjob crds",
            Start("kubectl delete crd mxjobs.kubeflow.org"),
        ),
    ];
    page("docs/install.md", &words, &steps).await
}

#[tokio::test]
async fn commands_of_the_page_on_moving_work() -> Result<()> {
    let before = "kubectl apply --server-side -f crds/kubeflow.org_mxjobs.yaml
        until kubectl get mxjobs.kubeflow.org; do sleep 0.2; done
        kubectl apply -f examples/train/digits.yaml";
    let older =
        "kubectl create deployment training-operator --replicas 0 --image example.com/operator";
    let hooks = "kubectl create -f - <<'END'
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: validator.training-operator.kubeflow.org}
webhooks:
- &one
  name: validator.mxjob.training-operator.kubeflow.org
  clientConfig: {url: https://127.0.0.1:1}
  sideEffects: None
  admissionReviewVersions: [v1]
- <<: *one
  name: validator.pytorchjob.training-operator.kubeflow.org
END";
    let words = [
        ("NAMESPACE", "default"),
        ("NAME", "training-operator"),
        ("GROUPS", "kubeflow.org"),
    ];
    let steps = [
        ("kubectl get mxjobs.kubeflow.org -A -o yaml", Run(before)),
        ("kubectl -n NAMESPACE scale", Run(older)),
        ("kubectl patch validatingwebhookconfiguration", Run(hooks)),
        ("kubectl delete validatingwebhookconfiguration", Run("")),
        ("mxjob operator", Start("")),
        ("kubectl get mxjobs.kubeflow.org -A -o wide", Run("")),
    ];
    page("docs/migrate.md", &words, &steps).await
}

#[tokio::test]
async fn commands_of_the_page_on_operating_work() -> Result<()> {
    let install =
        "helm install mxjob deploy/helm/mxjob --namespace mxjob-system --create-namespace --wait";
    let secret = "kubectl -n mxjob-system create secret generic mxjob-webhook";
    let older =
        "kubectl create deployment mxnet-operator --replicas 0 --image example.com/operator";
    let words = [("NAMESPACE", "default"), ("NAME", "mxnet-operator")];
    let steps = [
        ("kubectl -n mxjob-system port-forward", Never(FORWARD)),
        (
            "cargo build --release --locked --features otel",
            Elsewhere(CI),
        ),
        ("OTEL_EXPORTER", Elsewhere("e2e/tests/operator/traces.rs")),
        ("helm upgrade mxjob", Run(install)),
        ("kubectl -n mxjob-system annotate secret", Run(secret)),
        ("kubectl patch crd mxjobs.kubeflow.org", Run("")),
        ("kubectl -n NAMESPACE scale", Run(older)),
        (
            "kubectl apply -f deploy/priority-and-fairness.yaml",
            Run(""),
        ),
    ];
    page("docs/operate.md", &words, &steps).await
}

#[tokio::test]
async fn commands_of_the_page_on_versions_work() -> Result<()> {
    let older =
        "kubectl create deployment mx-job-operator --replicas 0 --image example.com/operator";
    let words = [("NAMESPACE", "default")];
    let steps = [
        (
            "mxjob lint old.yaml",
            Elsewhere("mxjob-operator/tests/older_versions.rs"),
        ),
        ("mxjob crds --api fioravanzo.org", Start("")),
        ("kubectl -n NAMESPACE scale", Start(older)),
    ];
    page("docs/versions.md", &words, &steps).await
}

#[tokio::test]
async fn commands_of_the_first_page_work() -> Result<()> {
    // This one is built.
    let words = [
        ("REGISTRY", "registry.example.com"),
        ("cargo build --release\n", ""),
        ("target/release/mxjob", "mxjob"),
    ];
    let steps = [
        ("cargo run -- run examples/train", Elsewhere(CI)),
        (
            "cargo run -- run examples/tune",
            Elsewhere("mxjob-operator/tests/run_tvm.rs"),
        ),
        ("cargo test", Elsewhere(CI)),
        ("helm install mxjob", Run("")),
        (
            "cargo build --release",
            Never("install.md has the same of a program that is there"),
        ),
    ];
    page("README.md", &words, &steps).await
}
