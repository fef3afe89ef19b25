//! Finds the programs of the control plane, or builds them once.
//!
//! Each comes from `KUBEBUILDER_ASSETS` when that folder has it. Else Go builds it from
//! the modules in `e2e/control-plane`, which name the programs as tools, or are one, and pin
//! every version, into `<target>/control-plane`.

use std::env;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

/// The Go module of helm.
const HELM: &str = "helm.sh/helm/v3";

/// A program that the tests start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Program {
    /// The store behind the apiserver.
    Etcd,
    /// The API itself.
    KubeApiserver,
    /// Garbage collector, namespaces, service accounts, endpoints, …
    KubeControllerManager,
    /// Gives pods a node.
    KubeScheduler,
    /// Runs pods.
    Kubelet,
    /// The command line client.
    Kubectl,
    /// Answers pods' DNS questions.
    Coredns,
    /// Installs charts.
    Helm,
    /// Renders what is made of bases and overlays.
    Kustomize,
    /// Tests alerts.
    Promtool,
    /// Makes certificates.
    CertManager,
}

impl Program {
    /// The file name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Etcd => "etcd",
            Self::KubeApiserver => "kube-apiserver",
            Self::KubeControllerManager => "kube-controller-manager",
            Self::KubeScheduler => "kube-scheduler",
            Self::Kubelet => "kubelet",
            Self::Kubectl => "kubectl",
            Self::Coredns => "coredns",
            Self::Helm => "helm",
            Self::Kustomize => "kustomize",
            Self::Promtool => "promtool",
            Self::CertManager => "cert-manager",
        }
    }

    /// The Go package of the program.
    fn package(self) -> String {
        match self {
            Self::Etcd => "go.etcd.io/etcd/server/v3".to_owned(),
            Self::Coredns => "github.com/coredns/coredns".to_owned(),
            Self::Helm => format!("{HELM}/cmd/helm"),
            Self::Kustomize => "sigs.k8s.io/kustomize/kustomize/v5".to_owned(),
            Self::Promtool => "github.com/prometheus/prometheus/cmd/promtool".to_owned(),
            Self::CertManager => ".".to_owned(),
            kubernetes => format!("k8s.io/kubernetes/cmd/{}", kubernetes.name()),
        }
    }

    /// The folder of the Go module that names the program as a tool, or is it.
    fn module(self) -> PathBuf {
        let modules = Path::new(env!("CARGO_MANIFEST_DIR")).join("control-plane");
        match self {
            Self::Coredns => modules.join("coredns"),
            Self::Helm | Self::Kustomize => modules.join("deploy"),
            Self::Promtool => modules.join("prometheus"),
            Self::CertManager => modules.join("cert-manager"),
            _ => modules,
        }
    }

    /// Parts that are chosen; of Prometheus none of those that find what to ask.
    fn tags(self) -> &'static str {
        match self {
            Self::Promtool => "remove_all_sd",
            _ => "",
        }
    }

    /// How long a build takes, cold, on 2 cores.
    fn build_time(self) -> &'static str {
        match self {
            Self::KubeApiserver => "about 3 minutes",
            Self::Coredns | Self::Promtool | Self::CertManager => "about 2 minutes",
            Self::KubeControllerManager | Self::Helm => "about 1 minute",
            _ => "half a minute",
        }
    }
}

/// Where `program` lies; built first when need be, which takes minutes and blocks.
///
/// Fails when there is neither a ready program nor Go, or when Go cannot build it.
pub fn find(program: Program) -> Result<PathBuf> {
    if let Some(assets) = env::var_os("KUBEBUILDER_ASSETS") {
        let ready = Path::new(&assets).join(program.name());
        if ready.is_file() {
            return Ok(ready);
        }
    }
    let folder = target_folder().join("control-plane");
    let built = folder.join(program.name());
    let stamp = folder.join(format!("{}.stamp", program.name()));
    let recipe = Recipe::read(program)?;
    if recipe.made(&built, &stamp) {
        return Ok(built);
    }

    fs::create_dir_all(&folder)
        .with_context(|| format!("cannot make the folder {}", folder.display()))?;
    // Tests run side by side, in one process and in many: one builds, the others wait here.
    let lock = fs::File::create(folder.join("build.lock"))?;
    lock.lock().context("cannot lock build.lock")?;
    if !recipe.made(&built, &stamp) {
        recipe.build(program, &built)?;
        fs::write(&stamp, &recipe.text)?;
    }
    Ok(built)
}

/// The source of a Go module that `program` is made of, in Go's own store.
pub fn source(program: Program, module: &str) -> Result<PathBuf> {
    let go = Command::new("go")
        .current_dir(program.module())
        .args(["mod", "download", "-json", module])
        .output()
        .context("there is no Go to look for the source of a module")?;
    let said = String::from_utf8_lossy(&go.stdout);
    ensure!(go.status.success(), "go does not find {module}: {said}");
    let found: serde_json::Value = serde_json::from_str(&said)?;
    let folder = found.get("Dir").and_then(serde_json::Value::as_str);
    Ok(folder
        .with_context(|| format!("go has no {module}: {said}"))?
        .into())
}

/// Cargo's target folder, as cargo itself was told.
fn target_folder() -> PathBuf {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let workspace = package.parent().unwrap_or(package);
    workspace.join(env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into()))
}

/// Everything that a build depends on but the compiler.
#[derive(Debug)]
struct Recipe {
    linker_flags: String,
    /// The recipe written out, compared with the stamp of the last build.
    text: String,
}

impl Recipe {
    fn read(program: Program) -> Result<Self> {
        let read = |name: &str| {
            let path = program.module().join(name);
            fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))
        };
        let module = read("go.mod")?;
        let linker_flags = linker_flags(program, &module)?;
        let own = match program {
            Program::CertManager => read("main.go")?,
            _ => String::new(),
        };
        let (tags, sums) = (program.tags(), read("go.sum")?);
        let text = format!("{linker_flags}\n{module}\n{sums}{own}{tags}");
        Ok(Self { linker_flags, text })
    }

    fn made(&self, built: &Path, stamp: &Path) -> bool {
        built.is_file() && fs::read_to_string(stamp).is_ok_and(|text| text == self.text)
    }

    fn build(&self, program: Program, built: &Path) -> Result<()> {
        let name = program.name();
        // Tests are told to say nothing; whoever waits is to know what for.
        let _ = writeln!(
            io::stderr(),
            "building {name} (once, {})…",
            program.build_time()
        );
        let unfinished = built.with_extension("unfinished");
        let go = Command::new("go")
            .current_dir(program.module())
            .args(["build", "-trimpath", "-tags", program.tags()])
            .args(["-ldflags", &self.linker_flags, "-o"])
            .args([unfinished.as_os_str(), program.package().as_ref()])
            .output();
        let go = go.with_context(|| {
            format!(
                "there is no {name} to test with: install Go 1.26 or later, with which it \
                 is built, or set KUBEBUILDER_ASSETS to a folder that has it"
            )
        })?;
        if !go.status.success() {
            bail!(
                "go could not build {name} in {}:\n{}",
                program.module().display(),
                String::from_utf8_lossy(&go.stderr)
            );
        }
        fs::rename(&unfinished, built)?;
        Ok(())
    }
}

/// Without its version an apiserver calls itself v0.0.0, and kubectl refuses that; a helm takes every
/// server for one of 1.20 when it does not ask it.
fn linker_flags(program: Program, module: &str) -> Result<String> {
    const PLAIN: &str = "-s -w";
    let required = |package: &str| {
        let required = format!("{package} v");
        let mut lines = module.lines().map(str::trim);
        let line = lines.find_map(|line| {
            let line = line.strip_prefix("require ").unwrap_or(line);
            line.strip_prefix(&required)?.split_whitespace().next()
        });
        line.with_context(|| format!("{} does not require {package}", program.name()))
    };
    match program {
        Program::Etcd
        | Program::Coredns
        | Program::Kustomize
        | Program::Promtool
        | Program::CertManager => Ok(PLAIN.to_owned()),
        Program::Helm => {
            let version = required(HELM)?;
            // client-go v0.36.3 is of Kubernetes 1.36.
            let minor = required("k8s.io/client-go")?.split('.').nth(1);
            let minor = minor.context("k8s.io/client-go has no version 0.N.N")?;
            let known = ["chartutil", "lint/rules"].map(|package| {
                let package = format!("{HELM}/pkg/{package}");
                format!("-X {package}.k8sVersionMajor=1 -X {package}.k8sVersionMinor={minor}")
            });
            let own = format!("-X {HELM}/internal/version.version=v{version}");
            Ok(format!("{PLAIN} {own} {}", known.join(" ")))
        }
        _ => {
            let version = required("k8s.io/kubernetes")?;
            let mut parts = version.split('.');
            let (major, minor) = (parts.next(), parts.next());
            ensure!(
                minor.is_some(),
                "e2e/control-plane/go.mod: k8s.io/kubernetes has the version {version:?}; want 1.N.N"
            );
            let package = "k8s.io/component-base/version";
            Ok(format!(
                "{PLAIN} -X {package}.gitVersion=v{version} -X {package}.gitMajor={} -X {package}.gitMinor={}",
                major.unwrap_or_default(),
                minor.unwrap_or_default()
            ))
        }
    }
}
