//! The definition is upgraded, by each way that there is, while a job runs.

mod by_helm;
mod by_itself;
mod by_kubectl;

pub(crate) use by_kubectl::kubectl;

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use e2e::deadline::{Seen, until};
use e2e::{ControlPlane, ScriptedKubelet, ports};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, CustomResourceDefinitionVersion, JSONSchemaProps,
};
use kube::ResourceExt as _;
use kube::api::{Api, Patch, PatchParams, PostParams};
use mxjob_core::{MxRole, ReplicaRole as _, schema};
use serde_json::json;
use tempfile::TempDir;

use crate::bench::{Bench, Operator, PATIENCE, at, converts, training, with};
use crate::facts::{all_run, raw, succeed};
use crate::releases::ready;

const CRD: &str = "mxjobs.kubeflow.org";

/// Today's.
fn todays() -> CustomResourceDefinition {
    schema::crd(MxRole::TABLE)
}

/// That of an earlier release: `v1` alone, which nobody has to convert, without a count in its status.
fn earlier() -> CustomResourceDefinition {
    let mut crd = todays();
    crd.spec.versions.retain(|version| version.name == "v1");
    crd.spec.conversion = None;
    let status = crd.spec.versions.iter_mut().find_map(status_of);
    let status = status.and_then(|status| status.properties.as_mut());
    status.and_then(|fields| fields.remove("countedRestarts"));
    crd
}

/// That of a later release: with one more count.
fn later() -> CustomResourceDefinition {
    let mut crd = todays();
    let stored = crd.spec.versions.iter_mut().find(|one| one.storage);
    let status = stored.and_then(status_of);
    if let Some(fields) = status.and_then(|status| status.properties.as_mut()) {
        let count = fields.get("countedRestarts").cloned();
        fields.insert("laterRestarts".to_owned(), count.unwrap_or_default());
    }
    crd
}

fn status_of(version: &mut CustomResourceDefinitionVersion) -> Option<&mut JSONSchemaProps> {
    let schema = version.schema.as_mut()?.open_api_v3_schema.as_mut()?;
    schema.properties.as_mut()?.get_mut("status")
}

/// A definition as a file.
fn file(folder: &TempDir, name: &str, crd: &CustomResourceDefinition) -> Result<PathBuf> {
    let path = folder.path().join(name);
    std::fs::write(&path, serde_saphyr::to_string(crd)?)?;
    Ok(path)
}

/// The file that is installed today.
fn todays_file() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../crds/kubeflow.org_mxjobs.yaml")
}

/// A cluster with a definition of an earlier release, and a job that runs under today's operator.
struct Cluster {
    plane: ControlPlane,
    bench: Bench,
    kubelet: ScriptedKubelet,
    /// Where its webhook is.
    url: String,
    address: String,
    pods: Vec<Option<String>>,
}

impl Cluster {
    /// On a control plane with the definition of an earlier release.
    async fn on(plane: ControlPlane) -> Result<Self> {
        let bench = Bench::new(&plane, "upgrade").await?;
        let address = format!("127.0.0.1:{}", ports::free()?);
        let kubelet = ScriptedKubelet::run_all(bench.client.clone(), &bench.namespace);
        let counted = json!({"failurePolicy": {"maxRestarts": 3}});
        let job = serde_json::from_value(with(training("digits", 0, 1), counted))?;
        let jobs = raw(&bench);
        // The definition may be there, and not served yet.
        until("the job to be stored", PATIENCE, || async {
            Ok(match jobs.create(&PostParams::default(), &job).await {
                Ok(_) => Seen::Done(()),
                Err(error) => Seen::NotYet(error.to_string()),
            })
        })
        .await?;
        Ok(Self {
            plane,
            bench,
            kubelet,
            url: format!("https://{address}/convert"),
            address,
            pods: Vec::new(),
        })
    }

    /// Starts an operator that the server may reach, with these arguments as well.
    fn operator(&self, arguments: &[&str]) -> Result<Operator> {
        let own = [
            ["--namespace", &self.bench.namespace],
            ["--own-namespace", &self.bench.namespace],
            ["--webhook-bind-address", &self.address],
            ["--webhook-url", &self.url],
        ];
        Operator::start_with(&self.plane, &[own.as_flattened(), arguments].concat())
    }

    /// The job runs; its pods are remembered.
    async fn runs(&mut self) -> Result<()> {
        ready(&self.bench, "digits", "2/2").await?;
        self.pods = self.uids().await?;
        Ok(())
    }

    async fn uids(&self) -> Result<Vec<Option<String>>> {
        let pods = all_run(&self.bench, "digits", 2).await?;
        Ok(pods.values().map(kube::ResourceExt::uid).collect())
    }

    async fn definition(&self) -> Result<CustomResourceDefinition> {
        let crds: Api<CustomResourceDefinition> = Api::all(self.bench.client.clone());
        Ok(crds.get(CRD).await?)
    }

    /// The definition's versions are those of `wanted`, and jobs are stored at the one that they were.
    async fn has(&self, wanted: &CustomResourceDefinition) -> Result<()> {
        let found = self.definition().await?;
        ensure!(
            found.spec.versions == wanted.spec.versions,
            "other versions"
        );
        let stored = found.status.and_then(|status| status.stored_versions);
        ensure!(stored.as_deref() == Some(&["v1".to_owned()]), "{stored:?}");
        Ok(())
    }

    /// Where the server is told to convert.
    async fn converted_at(&self) -> Result<Option<String>> {
        let conversion = self.definition().await?.spec.conversion;
        let client = conversion.and_then(|conversion| conversion.webhook?.client_config);
        Ok(client.and_then(|client| client.url.filter(|_| client.ca_bundle.is_some())))
    }

    /// The server converts by the operator; the job is there at every version, with the pods that it had.
    async fn converts(&self) -> Result<()> {
        converts(&self.bench.client, &self.bench.namespace).await?;
        let url = self.converted_at().await?;
        ensure!(url.as_deref() == Some(self.url.as_str()), "{url:?}");
        for version in ["v1alpha1", "v1beta1", "v1"] {
            let jobs = at(&self.bench.client, &self.bench.namespace, version);
            let job = jobs.get("digits").await.context(version)?;
            ensure!(!job.data["status"].is_null(), "{version}");
        }
        ensure!(self.uids().await? == self.pods, "other pods");
        Ok(())
    }

    /// The job's status is written, what the earlier definition did not have too, and it goes to its end.
    async fn goes_to_its_end(&self) -> Result<()> {
        self.kubelet.fail("digits-worker-0", 137).await?;
        self.bench.restarted("digits", 1).await?;
        ready(&self.bench, "digits", "2/2").await?;
        let counted =
            raw(&self.bench).get("digits").await?.data["status"]["countedRestarts"].clone();
        ensure!(counted == 1, "{counted}");
        succeed(&self.kubelet, "digits", 1).await?;
        self.bench.phase("digits", "Succeeded").await?;
        Ok(())
    }
}

/// Applies a definition as `mxjob operator --install-crds` of another release does.
async fn apply(plane: &ControlPlane, crd: &CustomResourceDefinition) -> Result<()> {
    let crds: Api<CustomResourceDefinition> = Api::all(plane.client().await?);
    let how = PatchParams::apply("mxjob").force();
    crds.patch(&crd.name_any(), &how, &Patch::Apply(crd))
        .await?;
    Ok(())
}

/// Says where to convert, as an operator in a pod does: its Service, and whom to trust.
async fn point_at_the_service(plane: &ControlPlane) -> Result<()> {
    let crds: Api<CustomResourceDefinition> = Api::all(plane.client().await?);
    let mut conversion = todays().spec.conversion.context("no conversion")?;
    let authority = std::fs::read(plane.folder().join("ca.crt"))?;
    let webhook = conversion.webhook.as_mut().context("no webhook")?;
    if let Some(client) = webhook.client_config.as_mut() {
        client.ca_bundle = Some(k8s_openapi::ByteString(authority));
    }
    let patch = json!([{"op": "add", "path": "/spec/conversion", "value": conversion}]);
    let patch = Patch::Json::<()>(serde_json::from_value(patch)?);
    let how = PatchParams {
        field_manager: Some("mxjob-webhook".to_owned()),
        ..PatchParams::default()
    };
    crds.patch(CRD, &how, &patch).await?;
    Ok(())
}
