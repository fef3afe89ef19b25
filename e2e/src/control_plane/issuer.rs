//! cert-manager, which makes certificates from what is asked for in the cluster.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;

use super::ControlPlane;
use crate::binaries::{self, Program};

/// Definitions of what its controllers look at.
const DEFINITIONS: [&str; 4] = [
    "certificaterequests",
    "certificates",
    "clusterissuers",
    "issuers",
];

/// Its definitions, as its release has them.
fn definitions(source: &Path) -> Result<Vec<CustomResourceDefinition>> {
    let read = |name: &&str| {
        let path = source.join(format!("deploy/crds/cert-manager.io_{name}.yaml"));
        let text = fs::read_to_string(&path);
        let text = text.with_context(|| format!("cannot read {}", path.display()))?;
        serde_saphyr::from_str(&text).with_context(|| path.display().to_string())
    };
    DEFINITIONS.iter().map(read).collect()
}

impl ControlPlane {
    /// Installs cert-manager's definitions and runs its controllers, as long as this lives.
    pub async fn run_cert_manager(&self) -> Result<()> {
        let found = tokio::task::spawn_blocking(|| {
            let program = binaries::find(Program::CertManager)?;
            let source =
                binaries::source(Program::CertManager, "github.com/cert-manager/cert-manager")?;
            anyhow::Ok((program, definitions(&source)?))
        });
        let (program, definitions) = found.await??;
        self.install_crds(&definitions).await?;
        let command =
            [program.as_path(), &self.kubeconfig()].map(|path| path.display().to_string());
        self.supervisor.run("cert-manager", &command)?;
        Ok(())
    }
}
