//! The command lines of the components.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::Controllers;
use crate::binaries::{self, Program};

/// Metadata of every request, and in full what somebody wrote to a job's status.
const AUDIT_POLICY: &str = r#"{
  "apiVersion": "audit.k8s.io/v1", "kind": "Policy",
  "omitStages": ["RequestReceived"],
  "rules": [
    {"level": "RequestResponse", "resources": [{"group": "kubeflow.org", "resources": ["mxjobs/status"]}]},
    {"level": "Request", "verbs": ["delete"], "resources": [{"group": "", "resources": ["pods"]}]},
    {"level": "Metadata"}
  ]
}"#;

/// Where the programs are.
#[derive(Debug, Clone)]
pub(crate) struct Programs {
    etcd: PathBuf,
    apiserver: PathBuf,
    controller_manager: PathBuf,
    /// The version of Kubernetes that they behave as; `None`: their own.
    emulated: Option<String>,
    /// Whether the apiserver lets only those make objects with an owner who may delay its deletion.
    guards_owners: bool,
}

impl Programs {
    /// Finds or builds them; blocks for minutes in the second case.
    pub(crate) fn find() -> Result<Self> {
        Ok(Self {
            etcd: binaries::find(Program::Etcd)?,
            apiserver: binaries::find(Program::KubeApiserver)?,
            controller_manager: binaries::find(Program::KubeControllerManager)?,
            emulated: None,
            guards_owners: false,
        })
    }

    /// The same, with what that version of Kubernetes has and nothing newer.
    pub(crate) fn emulating(mut self, version: &str) -> Self {
        self.emulated = Some(version.to_owned());
        self
    }

    /// The same with the admission plugin about owners.
    pub(crate) fn guarding_owners(mut self) -> Self {
        self.guards_owners = true;
        self
    }

    fn plugins(&self) -> Option<String> {
        let flag = "--enable-admission-plugins=OwnerReferencesPermissionEnforcement";
        self.guards_owners.then(|| flag.to_owned())
    }

    fn emulation(&self) -> impl Iterator<Item = String> {
        let version = self.emulated.iter();
        version.map(|version| format!("--emulated-version=kube={version}"))
    }

    /// A store that only this folder's apiserver can reach: its socket is a file.
    pub(crate) fn etcd(&self, folder: &Path) -> Vec<String> {
        let folder = folder.display();
        command(
            &self.etcd,
            [
                "--name=e2e".to_owned(),
                format!("--data-dir={folder}/etcd"),
                // A benchmark writes more than the 2 GiB that are the default.
                "--quota-backend-bytes=8589934592".to_owned(),
                format!("--listen-client-urls=unix://{folder}/etcd.sock"),
                format!("--listen-peer-urls=unix://{folder}/etcd-peer.sock"),
                // Nobody connects to these: the cluster has one member. etcd wants a port.
                "--advertise-client-urls=http://localhost:2379".to_owned(),
                "--initial-advertise-peer-urls=http://localhost:2380".to_owned(),
                "--initial-cluster=e2e=http://localhost:2380".to_owned(),
                "--unsafe-no-fsync".to_owned(),
                // The single member elects itself after one timeout, by default a second.
                "--heartbeat-interval=10".to_owned(),
                "--election-timeout=100".to_owned(),
                "--logger=zap".to_owned(),
                "--log-level=warn".to_owned(),
            ],
        )
    }

    /// The apiserver on a loopback port. Writes its audit policy.
    pub(crate) fn apiserver(&self, folder: &Path, port: u16) -> Result<Vec<String>> {
        let policy = folder.join("audit-policy.json");
        fs::write(&policy, AUDIT_POLICY).context("cannot write the audit policy")?;
        let folder = folder.display();
        let flags = [
            format!("--etcd-servers=unix://{folder}/etcd.sock"),
            "--bind-address=127.0.0.1".to_owned(),
            "--advertise-address=127.0.0.1".to_owned(),
            format!("--secure-port={port}"),
            "--endpoint-reconciler-type=none".to_owned(),
            format!("--tls-cert-file={folder}/server.crt"),
            format!("--tls-private-key-file={folder}/server.key"),
            format!("--token-auth-file={folder}/tokens.csv"),
            "--authorization-mode=RBAC".to_owned(),
            "--service-account-issuer=https://kubernetes.default.svc".to_owned(),
            format!("--service-account-key-file={folder}/sa.pub"),
            format!("--service-account-signing-key-file={folder}/sa.key"),
            "--service-cluster-ip-range=10.96.0.0/12".to_owned(),
            "--allow-privileged=true".to_owned(),
            // No kube-proxy leads to services: their webhooks are reached at their pods.
            "--enable-aggregator-routing=true".to_owned(),
            format!("--audit-policy-file={}", policy.display()),
            format!("--audit-log-path={folder}/audit.log"),
            // One file, whatever its size: who reads it wants all of it.
            "--audit-log-maxsize=0".to_owned(),
        ];
        Ok(command(
            &self.apiserver,
            flags
                .into_iter()
                .chain(self.emulation())
                .chain(self.plugins()),
        ))
    }

    /// The controller manager, as the user of `kubeconfig`.
    pub(crate) fn controller_manager(
        &self,
        folder: &Path,
        kubeconfig: &Path,
        controllers: Controllers,
    ) -> Vec<String> {
        let folder = folder.display();
        let flags = [
            format!("--kubeconfig={}", kubeconfig.display()),
            format!("--controllers={}", controllers.flag()),
            "--leader-elect=false".to_owned(),
            "--secure-port=0".to_owned(),
            format!("--service-account-private-key-file={folder}/sa.key"),
            format!("--root-ca-file={folder}/ca.crt"),
            // The default of 20 requests a second makes collecting a large job slow.
            "--kube-api-qps=1000".to_owned(),
            "--kube-api-burst=2000".to_owned(),
        ];
        command(
            &self.controller_manager,
            flags.into_iter().chain(self.emulation()),
        )
    }
}

fn command(program: &Path, flags: impl IntoIterator<Item = String>) -> Vec<String> {
    std::iter::once(program.display().to_string())
        .chain(flags)
        .collect()
}
