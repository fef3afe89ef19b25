//! A real node: kube-scheduler, containerd, kubelet and CoreDNS, on which pods run.
//!
//! Needs root on Linux and the Debian packages of `e2e/install-node-packages.sh`. There is
//! one image, `localhost/base:1` (busybox); pods ask for it with `imagePullPolicy: Never`
//! and take what else they run from the host by `hostPath` volumes; [`RealNode::import`] adds images.
//! Pods have addresses in 10.98.0.0/16 on a bridge of the test's own, reach each other, the node and
//! the API server at its service's address, and resolve services; nothing routes them any further,
//! and no other service has an address that leads anywhere.

use std::fs;
use std::net::Ipv4Addr;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use k8s_openapi::api::core::v1::Node;
use kube::Client;
use kube::api::Api;
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, JoinSet};

use crate::binaries::{self, Program};
use crate::deadline::{self, Seen};
use crate::supervisor::{self, Process, Supervisor};
use crate::{ControlPlane, Controllers, ports};

/// The only image on the node.
pub const IMAGE: &str = "localhost/base:1";
/// The node's name.
pub const NODE: &str = "n1";

/// The node itself and its DNS server, as pods see them.
const ADDRESS: Ipv4Addr = Ipv4Addr::new(10, 98, 0, 1);
/// The API server's service, as pods see it: `outside.sh` gives the node this address, too.
const API_SERVER: (Ipv4Addr, u16) = (Ipv4Addr::new(10, 96, 0, 1), 443);
const PATIENCE: Duration = Duration::from_mins(2);

/// What must be on the machine, and the Debian package that has it.
const NEEDED: [(&str, &str); 8] = [
    ("/usr/bin/containerd", "containerd"),
    ("/usr/bin/ctr", "containerd"),
    ("/usr/sbin/runc", "runc"),
    ("/usr/bin/umoci", "umoci"),
    ("/usr/lib/cni/bridge", "containernetworking-plugins"),
    ("/usr/lib/cni/host-local", "containernetworking-plugins"),
    ("/bin/busybox", "busybox-static"),
    ("/sbin/ip", "iproute2"),
];

/// A running node. Dropped, all its processes and pods are killed and its mounts, network
/// and folder are removed.
#[derive(Debug)]
pub struct RealNode {
    supervisor: Supervisor,
    processes: Vec<Process>,
    /// The pods' way to the API server.
    gate: JoinHandle<()>,
}

impl Drop for RealNode {
    fn drop(&mut self) {
        self.gate.abort();
    }
}

impl RealNode {
    /// Joins a node to `plane`, which must run [`Controllers::All`], and waits until it
    /// takes pods. There is one at a time on a machine: a second call waits for the first
    /// node's end, also in another process.
    pub async fn start(plane: &ControlPlane) -> Result<Self> {
        ensure!(
            plane.controllers() == Controllers::All,
            "a real node needs all controllers; start its control plane with Controllers::All"
        );
        check_machine()?;
        let programs = tokio::task::spawn_blocking(Programs::find).await??;
        let supervisor = tokio::task::spawn_blocking(supervise).await??;
        let folder = supervisor.folder().to_owned();
        write_configuration(&folder, &plane.kubeconfig())?;

        let start = |(name, command): &(&str, Vec<String>)| supervisor.run(name, command);
        let first = programs.before_the_kubelet(&folder, &plane.kubeconfig());
        let processes = first.iter().map(start).collect::<Result<_>>()?;
        let image = supervisor.run("image", &image_command(&folder))?;
        let listener = TcpListener::bind(API_SERVER).await;
        let listener = listener.context("cannot listen at the API server's service address")?;
        let mut node = Self {
            supervisor,
            processes,
            gate: tokio::spawn(lead(listener, plane.port())),
        };
        // The kubelet gives up at once where containerd does not answer it; containerd has
        // answered when it has taken the image.
        node.wait_for_image(&image).await?;
        let command = programs.kubelet(&folder, &plane.kubeconfig());
        let kubelet = node.supervisor.run("kubelet", &command)?;
        node.processes.push(kubelet);
        node.wait_until_ready(plane.client().await?).await?;
        Ok(node)
    }

    /// What the containers of a pod have written, those of one container after the other,
    /// and of a restarted container all runs. Gone when the pod is deleted.
    pub fn logs(&self, namespace: &str, pod: &str) -> Result<String> {
        let folder = self.folder().join("logs");
        let prefix = format!("{namespace}_{pod}_");
        let own = |path: &PathBuf| file_name(path).starts_with(&prefix);
        let mut pods = entries(&folder)?.into_iter().filter(own);
        let pod_folder = pods.next();
        let pod_folder = pod_folder.with_context(|| {
            format!("the pod {namespace}/{pod} has no logs: it never ran, or is deleted")
        })?;
        let mut text = String::new();
        for container in entries(&pod_folder)? {
            for run in entries(&container)? {
                append_messages(&mut text, &fs::read_to_string(run)?);
            }
        }
        Ok(text)
    }

    /// Gives the node the image of an OCI image layout in a tar, as `deploy/image.sh` makes it.
    pub fn import(&self, image: &Path) -> Result<()> {
        let output = Command::new("ctr")
            .arg("--address")
            .arg(self.folder().join("containerd.sock"))
            .args(["--namespace", "k8s.io", "images", "import"])
            .arg(image)
            .output()?;
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(
            output.status.success(),
            "containerd takes no {}: {said}",
            image.display()
        );
        Ok(())
    }

    /// The folder with everything: logs of the components (`<component>.log`), containerd's
    /// state, the kubelet's. It is removed at the end.
    pub fn folder(&self) -> &Path {
        self.supervisor.folder()
    }

    async fn wait_for_image(&self, image: &Process) -> Result<()> {
        let made = self.folder().join("image.made");
        let made = &made;
        let ready = deadline::until("the image to be made", PATIENCE, || async move {
            self.check_running()?;
            if made.exists() {
                return Ok(Seen::Done(()));
            }
            self.supervisor.check_running(image)?;
            Ok(Seen::NotYet("no image.made".to_owned()))
        });
        image.explain(ready.await)
    }

    async fn wait_until_ready(&self, client: Client) -> Result<()> {
        let nodes: Api<Node> = Api::all(client);
        let nodes = &nodes;
        let ready = deadline::until("the node to take pods", PATIENCE, || async move {
            self.check_running()?;
            let Some(node) = nodes.get_opt(NODE).await? else {
                return Ok(Seen::NotYet("no node".to_owned()));
            };
            if let Some(missing) = not_ready(&node) {
                return Ok(Seen::NotYet(missing));
            }
            let dns = TcpStream::connect((ADDRESS, 53)).await;
            Ok(dns.map_or_else(
                |error| Seen::NotYet(format!("DNS: {error}")),
                |_| Seen::Done(()),
            ))
        });
        // The node's agent knows most of what can be missing.
        let kubelet = self.processes.last().context("no kubelet")?;
        kubelet.explain(ready.await)
    }

    fn check_running(&self) -> Result<()> {
        let mut processes = self.processes.iter();
        processes.try_for_each(|process| self.supervisor.check_running(process))
    }
}

/// Leads whoever comes to the API server, which listens on loopback.
async fn lead(listener: TcpListener, port: u16) {
    // Aborted with this task.
    let mut ways = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                let Ok((mut pod, _)) = accepted else { continue };
                ways.spawn(async move {
                    if let Ok(mut server) = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await {
                        // Both sides see the end by themselves.
                        let _ = copy_bidirectional(&mut pod, &mut server).await;
                    }
                });
            }
            Some(_) = ways.join_next() => {}
        }
    }
}

/// Why the node takes no pods yet.
fn not_ready(node: &Node) -> Option<String> {
    let taints = node.spec.as_ref().and_then(|spec| spec.taints.as_ref());
    if let Some(taint) = taints.into_iter().flatten().next() {
        return Some(format!("the taint {}", taint.key));
    }
    let conditions = node.status.as_ref().and_then(|s| s.conditions.as_ref());
    let mut conditions = conditions.into_iter().flatten();
    match conditions.find(|condition| condition.type_ == "Ready") {
        Some(ready) if ready.status == "True" => None,
        Some(other) => Some(other.message.clone().unwrap_or_default()),
        None => Some("no condition Ready".to_owned()),
    }
}

fn check_machine() -> Result<()> {
    let is_root = fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0);
    ensure!(
        is_root,
        "a real node needs Linux and root; run the tests as root"
    );
    let missing = NEEDED.iter().filter(|(path, _)| !Path::new(path).exists());
    let mut missing: Vec<&str> = missing.map(|(_, package)| *package).collect();
    missing.dedup();
    ensure!(
        missing.is_empty(),
        "a real node needs Debian packages that are not installed; run \
         e2e/install-node-packages.sh, or as root: apt-get update && \
         apt-get install -y --no-install-recommends {}",
        missing.join(" ")
    );
    Ok(())
}

/// Opens the node's namespaces; blocks while there is another node on the machine.
fn supervise() -> Result<Supervisor> {
    let folder = supervisor::scratch_folder("mxjob-e2e-node-")?;
    let inside = [include_str!("../node/inside.sh"), supervisor::SCRIPT].concat();
    let mut command = Command::new("sh");
    command.args(["-c", include_str!("../node/outside.sh"), "mxjob-e2e-node"]);
    command.arg(&folder).arg(inside);
    let supervisor = Supervisor::start_with(&mut command, folder)?;
    supervisor.wait_until_ready()?;
    Ok(supervisor)
}

/// Writes the configuration files of `e2e/node`, with the marks filled in.
fn write_configuration(folder: &Path, kubeconfig: &Path) -> Result<()> {
    let port = ports::free()?.to_string();
    let put = |name: &str, template: &str| {
        let text = template
            .replace("@DIR@", &folder.display().to_string())
            .replace("@KUBECONFIG@", &kubeconfig.display().to_string())
            .replace("@PORT@", &port);
        fs::write(folder.join(name), text).with_context(|| format!("cannot write {name}"))
    };
    fs::create_dir(folder.join("cni"))?;
    put(
        "cni/10-bridge.conflist",
        include_str!("../node/10-bridge.conflist"),
    )?;
    put("containerd.toml", include_str!("../node/containerd.toml"))?;
    put("kubelet.yaml", include_str!("../node/kubelet.yaml"))?;
    put("Corefile", include_str!("../node/Corefile"))?;
    put("image.sh", include_str!("../node/image.sh"))?;
    // The names of this machine's own resolvers are no concern of a pod's.
    put("resolv.conf", "")
}

fn image_command(folder: &Path) -> [String; 3] {
    let folder = folder.display();
    [
        "sh".to_owned(),
        format!("{folder}/image.sh"),
        folder.to_string(),
    ]
}

struct Programs {
    scheduler: PathBuf,
    kubelet: PathBuf,
    coredns: PathBuf,
}

impl Programs {
    fn find() -> Result<Self> {
        Ok(Self {
            scheduler: binaries::find(Program::KubeScheduler)?,
            kubelet: binaries::find(Program::Kubelet)?,
            coredns: binaries::find(Program::Coredns)?,
        })
    }

    fn before_the_kubelet(
        &self,
        folder: &Path,
        kubeconfig: &Path,
    ) -> [(&'static str, Vec<String>); 3] {
        let folder = folder.display();
        let kubeconfig = format!("--kubeconfig={}", kubeconfig.display());
        [
            (
                "containerd",
                vec![
                    "containerd".to_owned(),
                    format!("--config={folder}/containerd.toml"),
                ],
            ),
            (
                "kube-scheduler",
                vec![
                    self.scheduler.display().to_string(),
                    kubeconfig,
                    "--leader-elect=false".to_owned(),
                    "--secure-port=0".to_owned(),
                ],
            ),
            (
                "coredns",
                vec![
                    self.coredns.display().to_string(),
                    format!("-conf={folder}/Corefile"),
                ],
            ),
        ]
    }

    fn kubelet(&self, folder: &Path, kubeconfig: &Path) -> [String; 7] {
        let folder = folder.display();
        [
            self.kubelet.display().to_string(),
            format!("--config={folder}/kubelet.yaml"),
            format!("--kubeconfig={}", kubeconfig.display()),
            format!("--root-dir={folder}/kubelet"),
            format!("--cert-dir={folder}/kubelet-certificates"),
            format!("--hostname-override={NODE}"),
            format!("--node-ip={ADDRESS}"),
        ]
    }
}

/// What is in a folder, by name.
fn entries(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder);
    let entries = entries.with_context(|| format!("cannot read {}", folder.display()))?;
    let mut paths: Vec<PathBuf> = entries
        .map(|entry| Ok(entry?.path()))
        .collect::<Result<_>>()?;
    paths.sort();
    Ok(paths)
}

fn file_name(path: &Path) -> &str {
    path.file_name()
        .and_then(|name| name.to_str())
        .unwrap_or_default()
}

/// Adds the messages of a log in the container runtime's format: each line is a time, a
/// stream, `F` or, when the message goes on in the next line, `P`, and the message.
fn append_messages(text: &mut String, log: &str) {
    for line in log.lines() {
        let mut fields = line.splitn(4, ' ').skip(2);
        let tag = fields.next();
        text.push_str(fields.next().unwrap_or_default());
        if tag != Some("P") {
            text.push('\n');
        }
    }
}
