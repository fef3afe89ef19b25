//! A control plane on loopback: etcd, kube-apiserver, kube-controller-manager.

mod access;
mod components;
mod issuer;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use k8s_openapi::api::authentication::v1::TokenRequest;
use k8s_openapi::api::core::v1::{Namespace, ServiceAccount};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Api, ObjectMeta, Patch, PatchParams, PostParams, WatchParams};
use kube::core::{ApiResource, DynamicObject, GroupVersionKind};
use kube::{Client, ResourceExt};
use serde_json::Value;
use tokio::sync::{Mutex, OnceCell};

use self::components::Programs;
use crate::certificates;
use crate::deadline::{self, Seen};
use crate::ports;
use crate::supervisor::{Process, Supervisor};

pub use self::access::User;

/// Measured: 3 to 4 s on two idle cores. Generous, for machines that also compile.
const START_PATIENCE: Duration = Duration::from_mins(2);

/// Which controllers the controller manager runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Controllers {
    /// All but those that act on nodes. Without a real node they would find every pod
    /// of a [`ScriptedKubelet`](crate::ScriptedKubelet) on a node that does not exist,
    /// and delete it.
    WithoutNodes,
    /// All, for a real node.
    All,
}

impl Controllers {
    fn flag(self) -> &'static str {
        match self {
            Self::WithoutNodes => {
                "*,-pod-garbage-collector-controller,-node-lifecycle-controller,\
                 -taint-eviction-controller,-node-ipam-controller"
            }
            Self::All => "*",
        }
    }
}

/// A running control plane. Dropped, its processes are killed and its folder is removed.
#[derive(Debug)]
pub struct ControlPlane {
    supervisor: Supervisor,
    programs: Programs,
    controllers: Controllers,
    port: u16,
    etcd: Process,
    /// `None` while stopped.
    apiserver: Mutex<Option<Process>>,
    /// `None` before the first start.
    controller_manager: Mutex<Option<Process>>,
    /// Serialises the tests that install the same resources into a shared plane.
    installing: Mutex<()>,
}

impl ControlPlane {
    /// Starts one for a scripted kubelet, and waits until it is of use.
    ///
    /// Fails when the programs can neither be found nor built, or when a component
    /// ends or does not get ready; the error then shows the end of its log.
    pub async fn start() -> Result<Self> {
        Self::start_with(Controllers::WithoutNodes).await
    }

    /// Starts one with a choice of controllers.
    pub async fn start_with(controllers: Controllers) -> Result<Self> {
        let programs = tokio::task::spawn_blocking(Programs::find).await??;
        Self::start_programs(programs, controllers).await
    }

    /// Starts one for a scripted kubelet that behaves as that version of Kubernetes does, like `1.33`:
    /// one of the three before its own.
    pub async fn start_emulating(version: &str) -> Result<Self> {
        let programs = tokio::task::spawn_blocking(Programs::find).await??;
        Self::start_programs(programs.emulating(version), Controllers::WithoutNodes).await
    }

    /// Starts one for a scripted kubelet with the admission plugin `OwnerReferencesPermissionEnforcement`, as
    /// OpenShift has it. That learns of a new kind only after up to 30 s.
    pub async fn start_guarding_owners() -> Result<Self> {
        let programs = tokio::task::spawn_blocking(Programs::find).await??;
        Self::start_programs(programs.guarding_owners(), Controllers::WithoutNodes).await
    }

    async fn start_programs(programs: Programs, controllers: Controllers) -> Result<Self> {
        const ATTEMPTS: usize = 5;
        let mut attempt = 1;
        loop {
            match Self::start_once(&programs, controllers).await {
                Err(error) if attempt < ATTEMPTS && port_was_taken(&error) => attempt += 1,
                result => return result,
            }
        }
    }

    /// The one control plane of this test process, started at the first call. Tests keep
    /// apart by working in a [`namespace`](Self::namespace) each.
    pub async fn shared() -> Result<&'static Self> {
        // Holds no client: a client dies with the runtime that made it, and every
        // `#[tokio::test]` has its own.
        static SHARED: OnceCell<ControlPlane> = OnceCell::const_new();
        SHARED.get_or_try_init(Self::start).await
    }

    async fn start_once(programs: &Programs, controllers: Controllers) -> Result<Self> {
        let supervisor = Supervisor::start()?;
        let folder = supervisor.folder().to_owned();
        let port = ports::free()?;
        certificates::write(&folder)?;
        access::write(&folder, &format!("https://127.0.0.1:{port}"))?;
        let plane = Self {
            etcd: supervisor.run("etcd", &programs.etcd(&folder))?,
            supervisor,
            programs: programs.clone(),
            controllers,
            port,
            apiserver: Mutex::default(),
            controller_manager: Mutex::default(),
            installing: Mutex::default(),
        };
        plane.start_apiserver().await?;
        plane.restart_controllers().await?;
        plane.wait_for_service_account("default").await?;
        Ok(plane)
    }

    /// A client with all rights, bound to the calling runtime.
    pub async fn client(&self) -> Result<Client> {
        self.client_as(User::Admin).await
    }

    /// A client with the rights of `user`, bound to the calling runtime.
    pub async fn client_as(&self, user: User) -> Result<Client> {
        access::client(&self.kubeconfig_as(user)).await
    }

    /// A kubeconfig file with all rights, for a child process.
    pub fn kubeconfig(&self) -> PathBuf {
        self.kubeconfig_as(User::Admin)
    }

    /// A kubeconfig file with the rights of `user`, for a child process.
    pub fn kubeconfig_as(&self, user: User) -> PathBuf {
        access::kubeconfig(self.folder(), user)
    }

    /// A kubeconfig file of a service account, for a child process: the account has to be there.
    pub async fn kubeconfig_of(&self, namespace: &str, account: &str) -> Result<PathBuf> {
        let accounts: Api<ServiceAccount> = Api::namespaced(self.client().await?, namespace);
        let (request, how) = (TokenRequest::default(), PostParams::default());
        let token = accounts.create_token_request(account, &how, &request);
        let token = token.await?.status.and_then(|status| status.token);
        let token = token.context("no token")?;
        access::write_of_token(self.folder(), namespace, account, &token)
    }

    /// A client with the rights of a service account, bound to the calling runtime.
    pub async fn client_of(&self, namespace: &str, account: &str) -> Result<Client> {
        access::client(&self.kubeconfig_of(namespace, account).await?).await
    }

    /// The folder with everything: data, logs (`<component>.log`), kubeconfig files. It is
    /// removed at the end.
    pub fn folder(&self) -> &Path {
        self.supervisor.folder()
    }

    /// The port of 127.0.0.1 at which the apiserver is.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Which controllers run.
    pub fn controllers(&self) -> Controllers {
        self.controllers
    }

    /// Process ids of everything that runs now, the supervising shell included.
    pub async fn pids(&self) -> Vec<u32> {
        let apiserver = self.apiserver.lock().await;
        let controller_manager = self.controller_manager.lock().await;
        let parts = [
            Some(&self.etcd),
            apiserver.as_ref(),
            controller_manager.as_ref(),
        ];
        std::iter::once(self.supervisor.pid())
            .chain(parts.into_iter().flatten().map(Process::pid))
            .collect()
    }

    /// All audit events so far (`audit.k8s.io/v1`) with the text `about` in them, a namespace for
    /// one, oldest first, one for each completed request; those for `mxjobs/status` have
    /// `requestObject` and `responseObject`.
    pub fn audit_log(&self, about: &str) -> Result<Vec<Value>> {
        let text = fs::read_to_string(self.folder().join("audit.log"))?;
        // What follows the last line break is being written at this moment.
        let complete = text.rfind('\n').and_then(|end| text.get(..end));
        complete
            .unwrap_or_default()
            .lines()
            .filter(|line| line.contains(about))
            .map(|line| serde_json::from_str(line).context("the audit log has a broken line"))
            .collect()
    }

    /// Creates a namespace with a fresh name, `<prefix>-<random>`, and waits until pods can
    /// be created in it.
    pub async fn namespace(&self, prefix: &str) -> Result<String> {
        let namespace = Namespace {
            metadata: ObjectMeta {
                generate_name: Some(format!("{prefix}-")),
                ..ObjectMeta::default()
            },
            ..Namespace::default()
        };
        let api = Api::all(self.client().await?);
        let created = api.create(&PostParams::default(), &namespace).await;
        let created = created.with_context(|| format!("cannot create a namespace {prefix}-…"))?;
        let name = created.name_any();
        self.wait_for_service_account(&name).await?;
        Ok(name)
    }

    /// Applies custom resource definitions and waits until they are served. When that
    /// changes anything, restarts the controller manager, whose garbage collector else
    /// learns of a new kind only after up to 30 s.
    pub async fn install_crds(&self, definitions: &[CustomResourceDefinition]) -> Result<()> {
        let _alone = self.installing.lock().await;
        let api: Api<CustomResourceDefinition> = Api::all(self.client().await?);
        let mut changed = false;
        for definition in definitions {
            let name = definition.name_any();
            let before = api.get_opt(&name).await?;
            let apply = PatchParams::apply("e2e").force();
            let after = api.patch(&name, &apply, &Patch::Apply(definition)).await;
            let after = after.with_context(|| format!("the apiserver rejects the CRD {name}"))?;
            changed |= before.and_then(|crd| crd.metadata.generation) != after.metadata.generation;
            let (api, name) = (&api, &name);
            let what = format!("the CRD {name} to be established");
            deadline::until(&what, START_PATIENCE, || async move {
                let conditions = api.get(name).await?.status.and_then(|s| s.conditions);
                let mut conditions = conditions.into_iter().flatten();
                Ok(conditions.any(|c| c.type_ == "Established" && c.status == "True"))
            })
            .await?;
            self.wait_until_watched(definition).await?;
        }
        if changed {
            self.restart_controllers().await?;
        }
        Ok(())
    }

    /// An established definition is served at once, but no watch of it for a moment.
    async fn wait_until_watched(&self, definition: &CustomResourceDefinition) -> Result<()> {
        let (spec, name) = (&definition.spec, definition.name_any());
        let stored = spec.versions.iter().find(|version| version.storage);
        let version = &stored.context("a CRD that is not stored")?.name;
        let kind = GroupVersionKind::gvk(&spec.group, version, &spec.names.kind);
        let resource = ApiResource::from_gvk_with_plural(&kind, &spec.names.plural);
        let objects: Api<DynamicObject> = Api::all_with(self.client().await?, &resource);
        deadline::until(&format!("a watch of {name}"), START_PATIENCE, || async {
            Ok(objects.watch(&WatchParams::default(), "0").await.is_ok())
        })
        .await
    }

    /// Kills the apiserver, as an outage would. Its port stays reserved for it.
    pub async fn stop_apiserver(&self) -> Result<()> {
        let mut apiserver = self.apiserver.lock().await;
        let running = apiserver
            .take()
            .context("the apiserver is stopped already")?;
        self.supervisor.kill(&running)
    }

    /// Starts the apiserver again, on the same port with the same data, and waits until it
    /// is ready.
    pub async fn start_apiserver(&self) -> Result<()> {
        let mut apiserver = self.apiserver.lock().await;
        ensure!(apiserver.is_none(), "the apiserver runs already");
        let command = self.programs.apiserver(self.folder(), self.port)?;
        let started = self.supervisor.run("kube-apiserver", &command)?;
        let client = self.client().await?;
        let (started, client) = (&*apiserver.insert(started), &client);
        let ready = deadline::until("/readyz of the apiserver", START_PATIENCE, || async move {
            self.supervisor.check_running(&self.etcd)?;
            self.supervisor.check_running(started)?;
            let request = http::Request::get("/readyz").body(Vec::new())?;
            Ok(match client.request_text(request).await {
                Ok(answer) if answer == "ok" => Seen::Done(()),
                Ok(other) => Seen::NotYet(other),
                Err(error) => Seen::NotYet(error.to_string()),
            })
        });
        started.explain(ready.await)
    }

    /// Kills the controller manager and starts it anew; it then sees the API with fresh eyes.
    pub async fn restart_controllers(&self) -> Result<()> {
        let mut controller_manager = self.controller_manager.lock().await;
        if let Some(running) = controller_manager.take() {
            self.supervisor.kill(&running)?;
        }
        let kubeconfig = self.kubeconfig();
        let command =
            self.programs
                .controller_manager(self.folder(), &kubeconfig, self.controllers);
        *controller_manager = Some(self.supervisor.run("kube-controller-manager", &command)?);
        Ok(())
    }

    /// Pods need it; that it is there also says that the controller manager works.
    async fn wait_for_service_account(&self, namespace: &str) -> Result<()> {
        let api: Api<ServiceAccount> = Api::namespaced(self.client().await?, namespace);
        let controller_manager = self.controller_manager.lock().await.clone();
        let controller_manager = controller_manager.context("no controller manager runs")?;
        let (api, running) = (&api, &controller_manager);
        let what = format!("the ServiceAccount {namespace}/default");
        let found = deadline::until(&what, START_PATIENCE, || async move {
            self.supervisor.check_running(running)?;
            Ok(api.get_opt("default").await?.map(drop))
        });
        running.explain(found.await)
    }
}

/// Whether another process took the port between our look and the apiserver's start.
fn port_was_taken(error: &anyhow::Error) -> bool {
    format!("{error:#}").contains("address already in use")
}
