//! The program as a process.

use std::collections::BTreeMap;
use std::fs::File;
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use e2e::deadline::{self, Seen};
use e2e::proxy::Proxy;
use e2e::{ControlPlane, User};
use tempfile::TempDir;

use super::PATIENCE;

/// The lease of operators that are started beside each other.
pub(crate) const LEASE: &str = "mxjob-operator";

/// How many operators of these namespaces have ended, however.
static ENDED: Mutex<BTreeMap<String, usize>> = Mutex::new(BTreeMap::new());

/// `mxjob operator` as a process of its own. It is killed in the end.
pub(crate) struct Operator {
    child: Child,
    folder: TempDir,
    namespaces: String,
}

impl Operator {
    /// Starts one that looks after `namespace` only.
    pub(crate) fn start(plane: &ControlPlane, namespace: &str) -> Result<Self> {
        Self::start_with(plane, &["--namespace", namespace])
    }

    /// Starts one with these arguments.
    pub(crate) fn start_with(plane: &ControlPlane, arguments: &[&str]) -> Result<Self> {
        Self::start_program(env!("CARGO_BIN_EXE_e2e-mxjob"), plane, arguments)
    }

    /// Starts one with these arguments and the rights of `user`.
    pub(crate) fn start_as(plane: &ControlPlane, user: User, arguments: &[&str]) -> Result<Self> {
        let program = env!("CARGO_BIN_EXE_e2e-mxjob");
        Self::start_at(program, &plane.kubeconfig_as(user), arguments)
    }

    /// Starts that program with these arguments.
    pub(crate) fn start_program(
        program: &str,
        plane: &ControlPlane,
        arguments: &[&str],
    ) -> Result<Self> {
        Self::start_at(program, &plane.kubeconfig(), arguments)
    }

    /// Starts one for `namespace` only, whose way to the server is this one.
    pub(crate) fn start_through(proxy: &Proxy, namespace: &str) -> Result<Self> {
        let program = env!("CARGO_BIN_EXE_e2e-mxjob");
        Self::start_at(program, &proxy.kubeconfig(), &["--namespace", namespace])
    }

    /// Starts one whose way to the server is this one, with these arguments.
    pub(crate) fn start_by(proxy: &Proxy, arguments: &[&str]) -> Result<Self> {
        let program = env!("CARGO_BIN_EXE_e2e-mxjob");
        Self::start_at(program, &proxy.kubeconfig(), arguments)
    }

    /// Starts one whose way to the server is that of `kubeconfig`, with these arguments.
    pub(crate) fn start_of(kubeconfig: &Path, arguments: &[&str]) -> Result<Self> {
        Self::start_at(env!("CARGO_BIN_EXE_e2e-mxjob"), kubeconfig, arguments)
    }

    /// Starts one of several that lead in turn: as [`start_beside`](Self::start_beside), with a short
    /// lease. One that is kept from its processor for so long loses it and ends.
    pub(crate) fn start_rival(
        kubeconfig: &Path,
        namespace: &str,
        arguments: &[&str],
    ) -> Result<Self> {
        let arguments = [&["--lease-duration", "5s"], arguments].concat();
        Self::start_beside(kubeconfig, namespace, &arguments)
    }

    /// Starts one of several for `namespace`, where they share a lease. Its way to the server is that of
    /// `kubeconfig`.
    pub(crate) fn start_beside(
        kubeconfig: &Path,
        namespace: &str,
        arguments: &[&str],
    ) -> Result<Self> {
        let shared = [
            ["--namespace", namespace],
            ["--own-namespace", namespace],
            ["--lease-name", LEASE],
        ];
        let arguments = [shared.as_flattened(), arguments].concat();
        Self::start_at(env!("CARGO_BIN_EXE_e2e-mxjob"), kubeconfig, &arguments)
    }

    fn start_at(program: &str, kubeconfig: &Path, arguments: &[&str]) -> Result<Self> {
        let mut flags = arguments.windows(2);
        let namespaces = flags.find_map(|pair| match pair {
            ["--namespace", namespaces] => Some((*namespaces).to_owned()),
            _ => None,
        });
        let namespaces = namespaces.unwrap_or_else(|| "all".to_owned());
        let ended = ENDED.lock().unwrap_or_else(PoisonError::into_inner);
        // One that comes after another does not wait for it, also when that was killed: many tests have
        // several. Those that are about leaders have a lease of their own, and a short one: this one
        // is not lost on a machine with too much to do.
        let lease = format!(
            "mxjob-{namespaces}-{}",
            ended.get(&namespaces).unwrap_or(&0)
        );
        drop(ended);
        let folder = tempfile::tempdir()?;
        let log = File::create(folder.path().join("log"))?;
        let child = Command::new(program)
            .arg("operator")
            .arg("--kubeconfig")
            .arg(kubeconfig)
            .args(arguments)
            .env_remove("MXJOB_LOG")
            // Operators of many tests run side by side.
            .env("MXJOB_METRICS_BIND_ADDRESS", "127.0.0.1:0")
            .env("MXJOB_HEALTH_PROBE_BIND_ADDRESS", "127.0.0.1:0")
            .env("MXJOB_WEBHOOK_BIND_ADDRESS", "0")
            .env("MXJOB_LEASE_NAME", lease)
            .env("MXJOB_LEASE_DURATION", "60s")
            .env("RUST_LOG", "info")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .context("cannot start the operator")?;
        Ok(Self {
            child,
            folder,
            namespaces,
        })
    }

    /// Its name in the lease and in the audit log.
    pub(crate) async fn identity(&self) -> Result<String> {
        let text = "identity=";
        self.says(text).await?;
        let log = self.log()?;
        let (_, rest) = log.split_once(text).context("it was said")?;
        Ok(rest
            .split_whitespace()
            .next()
            .unwrap_or_default()
            .to_owned())
    }

    /// The next one has another lease.
    fn leaves(&self) {
        let mut ended = ENDED.lock().unwrap_or_else(PoisonError::into_inner);
        *ended.entry(self.namespaces.clone()).or_default() += 1;
    }

    /// Sends it a signal.
    pub(crate) fn signal(&self, signal: &str) -> Result<()> {
        let pid = self.child.id().to_string();
        let status = Command::new("kill").args([signal, &pid]).status()?;
        ensure!(status.success(), "cannot send {signal}");
        Ok(())
    }

    /// Its process.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// What it has logged so far.
    pub(crate) fn log(&self) -> Result<String> {
        Ok(std::fs::read_to_string(self.folder.path().join("log"))?)
    }

    /// Waits until it has logged `text`.
    pub(crate) async fn says(&self, text: &str) -> Result<()> {
        let what = format!("the operator to say {text:?}");
        deadline::until(&what, PATIENCE, || async {
            let log = self.log()?;
            Ok(if log.contains(text) {
                Seen::Done(())
            } else {
                Seen::NotYet(log)
            })
        })
        .await
    }

    /// Where it serves its `metrics` or its `health`, from its log.
    pub(crate) async fn address(&self, what: &str) -> Result<SocketAddr> {
        let text = format!("serving {what} address=");
        self.says(&text).await?;
        let log = self.log()?;
        let (_, rest) = log.split_once(&text).context("it was said")?;
        let address = rest.split_whitespace().next().context("no address")?;
        Ok(address.parse()?)
    }

    /// SIGKILL: nothing is finished, nothing is said.
    pub(crate) fn kill(mut self) -> Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }

    /// SIGTERM, and what it exits with.
    pub(crate) async fn terminate(mut self, patience: Duration) -> Result<ExitStatus> {
        self.tell_to_stop()?;
        self.end(patience).await
    }

    /// SIGTERM.
    pub(crate) fn tell_to_stop(&self) -> Result<()> {
        self.signal("-TERM")
    }

    /// Waits for its end; what it exits with. Its log can still be read.
    pub(crate) async fn end(&mut self, patience: Duration) -> Result<ExitStatus> {
        let start = std::time::Instant::now();
        loop {
            if let Some(status) = self.child.try_wait()? {
                self.leaves();
                return Ok(status);
            }
            ensure!(
                start.elapsed() < patience,
                "the operator still runs after {patience:?}"
            );
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

impl Drop for Operator {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
        self.leaves();
        if std::thread::panicking() {
            eprintln!("the operator's log:\n{}", self.log().unwrap_or_default());
        }
    }
}
