//! The digits example, trained by MXNet in real pods.
#![cfg(feature = "real-node")]
#![allow(
    clippy::indexing_slicing,
    reason = "of JSON, where a missing key is null"
)]

mod operator;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use e2e::node::{self, RealNode};
use e2e::{ControlPlane, Controllers};
use mxjob_core::{MxRole, ReplicaRole as _};
use operator::{Bench, Operator};
use serde_json::{Value, json};

const EXAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/train");

#[tokio::test]
async fn on_a_real_node_the_digits_job_learns() -> Result<()> {
    let python = Python::of_the_example()?;
    let work = tempfile::tempdir()?;
    fs::copy(
        Path::new(EXAMPLE).join("digits.py"),
        work.path().join("digits.py"),
    )?;
    let plane = ControlPlane::start_with(Controllers::All).await?;
    plane
        .install_crds(&[mxjob_core::schema::crd(MxRole::TABLE)])
        .await?;
    let node = RealNode::start(&plane).await?;
    let bench = Bench::new(&plane, "digits").await?;
    let _operator = Operator::start(&plane, &bench.namespace)?;

    bench.create(&for_the_node(&python, work.path())?).await?;
    let job = bench.phase("digits", "Succeeded").await?;
    assert_eq!(phases(&bench, &plane)?, ["Created", "Running", "Succeeded"]);
    let status = job.status.context("no status")?;
    assert!(
        status
            .replica_statuses
            .values()
            .all(|role| role.restarts == 0),
        "{status:?}"
    );

    let log = node.logs(&bench.namespace, "digits-worker-0")?;
    let accuracy = log
        .lines()
        .find_map(|line| line.strip_prefix("test accuracy "));
    let accuracy: f64 = accuracy.with_context(|| log.clone())?.parse()?;
    assert!(accuracy >= 0.95, "{log}");
    assert!(
        work.path().join("out/digits.params").is_file(),
        "worker 0 saves what was learnt"
    );
    Ok(())
}

/// What `status.phase` was set to, each once in a row.
fn phases(bench: &Bench, plane: &ControlPlane) -> Result<Vec<String>> {
    let log = plane.audit_log()?;
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
    fn of_the_example() -> Result<Self> {
        const SHOW: &str = "import sys; print('python', sys.prefix, sys.base_prefix)";
        let folder = tempfile::tempdir()?;
        fs::copy(
            Path::new(EXAMPLE).join("requirements.txt"),
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

/// The example as this node can run it: in its one image, with all that it needs from the host.
fn for_the_node(python: &Python, work: &Path) -> Result<Value> {
    let text = fs::read_to_string(Path::new(EXAMPLE).join("digits.yaml"))?;
    let mut manifest: Value = serde_saphyr::from_str(&text)?;
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
