//! The accelerator configuration, from the file to the pods.

use std::process::Command;

use crate::bench::{Bench, Operator, PATIENCE, training};
use anyhow::{Context as _, Result};
use serde_json::{Value, json};

const CONFIG: &str = "
accelerators:
  nvidia.com/gpu:
    volumes:
    - {name: libraries, hostPath: /home/kubernetes/bin/nvidia, mountPath: /usr/local/nvidia}
    envVars:
    - {name: LD_LIBRARY_PATH, value: /usr/local/nvidia/lib64}
";

fn named<'a>(list: &'a Value, name: &str) -> Option<&'a Value> {
    let items = list.as_array()?;
    items.iter().find(|item| item["name"] == name)
}

// contract: 5.4.4, 11.14
// promise: P84
// defect: D20
#[tokio::test]
async fn the_pod_that_asks_has_it_and_the_stored_job_has_not() -> Result<()> {
    let (bench, plane) = Bench::shared("accelerators").await?;
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("config.yaml");
    std::fs::write(&file, CONFIG)?;
    let path = file.to_str().context("no text")?;
    let arguments = [
        "--namespace",
        &bench.namespace,
        "--controller_config_file",
        path,
    ];
    let _operator = Operator::start_with(plane, &arguments)?;
    let mut manifest = training("digits", 0, 1);
    let worker = &mut manifest["spec"]["mxReplicaSpecs"]["Worker"]["template"]["spec"];
    worker["containers"][0]["resources"] = json!({"limits": {"nvidia.com/gpu": "1"}});
    bench.create(&manifest).await?;

    for pod in bench.pods(2).await? {
        let pod = serde_json::to_value(pod)?;
        let container = &pod["spec"]["containers"][0];
        let found = (
            named(&pod["spec"]["volumes"], "libraries"),
            named(&container["volumeMounts"], "libraries"),
            named(&container["env"], "LD_LIBRARY_PATH"),
        );
        if pod["metadata"]["name"] == "digits-worker-0" {
            let (volume, mount, variable) = found;
            assert_eq!(
                volume.context("no volume")?["hostPath"]["path"],
                "/home/kubernetes/bin/nvidia"
            );
            assert_eq!(mount.context("no mount")?["mountPath"], "/usr/local/nvidia");
            assert_eq!(
                variable.context("no variable")?["value"],
                "/usr/local/nvidia/lib64"
            );
        } else {
            assert_eq!(found, (None, None, None));
        }
    }
    let stored = serde_json::to_string(&bench.jobs.get("digits").await?)?;
    assert!(!stored.contains("libraries"), "{stored}");

    let job = folder.path().join("job.json");
    std::fs::write(&job, manifest.to_string())?;
    let plan = |more: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_e2e-mxjob"));
        command.arg("plan").arg(&job).args(more).output()
    };
    let with = plan(&["--controller-config-file", path])?;
    assert!(String::from_utf8(with.stdout)?.contains("path: /home/kubernetes/bin/nvidia"));
    assert!(!String::from_utf8(plan(&[])?.stdout)?.contains("/home/kubernetes"));
    Ok(())
}

// contract: 5.4.5
#[tokio::test]
async fn a_file_that_cannot_be_used_is_the_end_of_it() -> Result<()> {
    let (bench, plane) = Bench::shared("bad-config").await?;
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("config.yaml");
    std::fs::write(&file, CONFIG.replace("mountPath", "mount"))?;
    let path = file.to_str().context("no text")?;
    let arguments = [
        "--namespace",
        &bench.namespace,
        "--controller-config-file",
        path,
    ];
    let mut operator = Operator::start_with(plane, &arguments)?;
    assert_eq!(operator.end(PATIENCE).await?.code(), Some(1));
    let said =
        format!("{path}:5:7: error: accelerators[nvidia.com/gpu].volumes[0]: mountPath is missing");
    let log = operator.log()?;
    assert!(log.contains(&said), "{log}");
    Ok(())
}
