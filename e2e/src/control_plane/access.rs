//! Who may talk to the apiserver, and how they reach it.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use kube::Client;
use kube::config::{Config, KubeConfigOptions, Kubeconfig};
use serde_json::{Value, json};

use crate::ports;

/// A user that the apiserver knows by a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum User {
    /// Member of `system:masters`: may do everything.
    Admin,
    /// `mxjob-operator`: may do only what RBAC objects grant to the user of that name.
    Operator,
}

impl User {
    const ALL: [Self; 2] = [Self::Admin, Self::Operator];

    /// The name that RBAC subjects and the audit log use.
    pub fn name(self) -> &'static str {
        match self {
            Self::Admin => "admin",
            Self::Operator => "mxjob-operator",
        }
    }

    fn groups(self) -> &'static str {
        match self {
            Self::Admin => "system:masters",
            Self::Operator => "mxjob-operators",
        }
    }
}

/// The kubeconfig file of `user`, once [`write`] has made it.
pub(crate) fn kubeconfig(folder: &Path, user: User) -> PathBuf {
    folder.join(format!("{}.kubeconfig", user.name()))
}

/// Writes `tokens.csv` for the apiserver and a kubeconfig for every user.
pub(crate) fn write(folder: &Path, server: &str) -> Result<()> {
    let mut tokens = Vec::new();
    for user in User::ALL {
        let token = format!("{:032x}", u128::from_le_bytes(ports::random()?));
        tokens.push(format!("{token},{0},{0},{1}", user.name(), user.groups()));
        let config = json!({
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "e2e", "cluster": {
                "server": server,
                "certificate-authority": folder.join("ca.crt"),
            }}],
            "users": [{"name": user.name(), "user": {"token": token}}],
            "contexts": [{"name": "e2e", "context": {"cluster": "e2e", "user": user.name()}}],
            "current-context": "e2e",
        });
        fs::write(kubeconfig(folder, user), config.to_string())?;
    }
    fs::write(folder.join("tokens.csv"), tokens.join("\n")).context("cannot write tokens.csv")
}

/// Writes a kubeconfig of who has this token, once [`write`] has made the others.
pub(crate) fn write_of_token(
    folder: &Path,
    namespace: &str,
    account: &str,
    token: &str,
) -> Result<PathBuf> {
    let text = fs::read_to_string(kubeconfig(folder, User::Admin))?;
    let mut config: Value = serde_json::from_str(&text)?;
    let user = config.pointer_mut("/users/0/user");
    *user.context("a kubeconfig without a user")? = json!({ "token": token });
    let file = folder.join(format!("{namespace}.{account}.kubeconfig"));
    fs::write(&file, config.to_string())?;
    Ok(file)
}

/// A client of the calling runtime.
pub(crate) async fn client(kubeconfig: &Path) -> Result<Client> {
    let config = Kubeconfig::read_from(kubeconfig)?;
    let config = Config::from_custom_kubeconfig(config, &KubeConfigOptions::default()).await?;
    Ok(Client::try_from(config)?)
}
