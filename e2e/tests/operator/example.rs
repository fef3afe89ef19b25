//! A job of `examples/`, in real pods.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use e2e::ControlPlane;
use e2e::node;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::bench::Bench;

/// An example's job as the real node can run it: in its one image, with all that it needs from the
/// host, in a folder of its own.
pub(crate) struct Example {
    pub(crate) job: Value,
    work: TempDir,
}

impl Example {
    /// The job of a manifest; makes the Python that it asks for.
    pub(crate) fn new(folder: &str, manifest: &str) -> Result<Self> {
        let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples");
        let example = example.join(folder);
        let work = tempfile::tempdir()?;
        for entry in fs::read_dir(&example)? {
            let file = entry?.path();
            if file.extension() == Some(OsStr::new("py")) {
                let name = file.file_name().context("no name")?;
                fs::copy(&file, work.path().join(name))?;
            }
        }
        let job = serde_saphyr::from_str(&fs::read_to_string(example.join(manifest))?)?;
        let job = for_the_node(job, &Python::of(&example)?, work.path())?;
        Ok(Self { job, work })
    }

    /// Where a file is that the job leaves.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.work.path().join(name)
    }
}

/// What `status.phase` was set to, each once in a row.
pub(crate) fn phases(bench: &Bench, plane: &ControlPlane) -> Result<Vec<String>> {
    let log = plane.audit_log(&bench.namespace)?;
    let written = log.iter().filter(|event| {
        event["objectRef"]["namespace"] == *bench.namespace
            && event["responseStatus"]["code"] == 200
    });
    let phases = written.filter_map(|event| event["responseObject"]["status"]["phase"].as_str());
    let mut phases: Vec<_> = phases.map(str::to_owned).collect();
    phases.dedup();
    Ok(phases)
}

/// A Python with what the example needs.
struct Python {
    program: PathBuf,
    /// Folders that it is spread over.
    folders: Vec<PathBuf>,
}

impl Python {
    /// The one that `mxjob run` makes.
    fn of(example: &Path) -> Result<Self> {
        const SHOW: &str = "import sys; print('python', sys.prefix, sys.base_prefix)";
        let folder = tempfile::tempdir()?;
        fs::copy(
            example.join("requirements.txt"),
            folder.path().join("requirements.txt"),
        )?;
        let container =
            json!({"name": "mxnet", "image": "unused", "command": ["python3", "-c", SHOW]});
        let manifest = json!({
            "apiVersion": "kubeflow.org/v1",
            "kind": "MXJob",
            "metadata": {
                "name": "python",
                "annotations": {"mxjob.kubeflow.org/requirements": "requirements.txt"},
            },
            "spec": {"mxReplicaSpecs": {"Worker": {"template": {"spec": {"containers": [container]}}}}},
        });
        let file = folder.path().join("job.json");
        fs::write(&file, manifest.to_string())?;
        let output = Command::new(env!("CARGO_BIN_EXE_e2e-mxjob"))
            .arg("run")
            .arg(file)
            .output()?;
        let text = String::from_utf8(output.stdout)?;
        ensure!(
            output.status.success(),
            "{text}{}",
            String::from_utf8_lossy(&output.stderr)
        );
        let shown = text
            .lines()
            .find_map(|line| line.split_once("python ")?.1.split_once(' '));
        let (own, base) = shown.context(text.clone())?;
        Ok(Self {
            program: Path::new(own).join("bin/python3"),
            folders: vec![own.into(), base.into()],
        })
    }
}

/// The job as the node can run it.
fn for_the_node(mut manifest: Value, python: &Python, work: &Path) -> Result<Value> {
    let system = ["/usr", "/lib", "/lib64", "/bin"].map(PathBuf::from);
    let own = python
        .folders
        .iter()
        .filter(|folder| !folder.starts_with("/usr"));
    let folders: Vec<_> = system
        .iter()
        .chain(own)
        .map(PathBuf::as_path)
        .chain([work])
        .collect();
    let name = |number: usize| format!("host-{number}");
    let volumes = folders
        .iter()
        .enumerate()
        .map(|(number, folder)| json!({"name": name(number), "hostPath": {"path": folder}}));
    let mounts = folders.iter().enumerate().map(|(number, folder)| {
        json!({"name": name(number), "mountPath": folder, "readOnly": *folder != work})
    });
    let (volumes, mounts): (Vec<_>, Vec<_>) = (volumes.collect(), mounts.collect());

    let roles = manifest["spec"]["mxReplicaSpecs"]
        .as_object_mut()
        .context("no roles")?;
    for role in roles.values_mut() {
        let pod = &mut role["template"]["spec"];
        pod["volumes"] = volumes.clone().into();
        let container = &mut pod["containers"][0];
        container["image"] = node::IMAGE.into();
        container["imagePullPolicy"] = "Never".into();
        container["command"][0] = json!(python.program);
        container["workingDir"] = json!(work);
        container["volumeMounts"] = mounts.clone().into();
    }
    Ok(manifest)
}
