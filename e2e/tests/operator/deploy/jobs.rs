//! The chart that makes training jobs.

use std::io::Write as _;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, ensure};
use e2e::ControlPlane;
use mxjob_core::{MxRole, ReplicaRole as _, schema};
use serde_json::{Value, json};

use super::{How, NAMESPACE, apply, folder, helm, rendered};

/// What `mxjob lint` says of it.
fn lint(job: &Value) -> Result<String> {
    let mut lint = Command::new(env!("CARGO_BIN_EXE_e2e-mxjob"));
    lint.args(["lint", "-"]).stdin(Stdio::piped());
    let mut lint = lint.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let mut input = lint.stdin.take().context("no input")?;
    input.write_all(job.to_string().as_bytes())?;
    drop(input);
    let output = lint.wait_with_output()?;
    let said = [output.stdout, output.stderr].concat();
    Ok(String::from_utf8(said)?)
}

// promise: P94
#[tokio::test]
async fn its_jobs_are_valid_and_taken() -> Result<()> {
    let plane = ControlPlane::start().await?;
    plane.install_crds(&[schema::crd(MxRole::TABLE)]).await?;
    let client = plane.client().await?;
    let namespace =
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}});
    apply(&client, &namespace, How::Keep).await?;
    let everything = json!({
        "image": "example.com/digits:1", "command": ["python3"], "args": ["train.py"],
        "workers": 4, "servers": 2, "gpus": 1,
        "workerResources": {"requests": {"cpu": "1"}, "limits": {"memory": "1Gi"}},
        "serverResources": {"limits": {"memory": "2Gi"}},
        "env": [{"name": "EPOCHS", "value": "3"}],
        "volumes": [{"name": "data", "emptyDir": {}}],
        "volumeMounts": [{"name": "data", "mountPath": "/data"}],
        "backoffLimit": 0, "ttlSecondsAfterFinished": 60,
    });
    for values in [json!({"image": "example.com/digits:1"}), everything.clone()] {
        let objects = rendered("mxjob-train", "digits", &values).await?;
        let [job] = objects.as_slice() else {
            anyhow::bail!("{objects:?}")
        };
        let said = lint(job)?;
        ensure!(said.trim() == "1 job: nothing to complain about", "{said}");
        apply(&client, job, How::Try).await?;
    }
    let objects = rendered("mxjob-train", "digits", &everything).await?;
    let spec = &objects.first().context("no job")?["spec"];
    let worker = &spec["mxReplicaSpecs"]["Worker"];
    ensure!(worker["replicas"] == 4, "{worker}");
    let container = &worker["template"]["spec"]["containers"][0];
    let resources =
        json!({"requests": {"cpu": "1"}, "limits": {"memory": "1Gi", "nvidia.com/gpu": 1}});
    ensure!(container["resources"] == resources, "{container}");
    let policy = json!({"backoffLimit": 0, "ttlSecondsAfterFinished": 60});
    ensure!(spec["runPolicy"] == policy, "{spec}");
    Ok(())
}

#[tokio::test]
async fn values_that_make_no_job_are_refused() -> Result<()> {
    let chart = folder("helm/mxjob-train").display().to_string();
    let good = helm(&["lint", "--strict", &chart, "--set", "image=a"]).await?;
    ensure!(good.status.success(), "{good:?}");
    for (values, wanted) in [
        ("workers=1", "at '/image': minLength: got 0, want 1"),
        ("image=a,workers=0", "at '/workers': minimum: got 0, want 1"),
        (
            "image=a,wrokers=2",
            "additional properties 'wrokers' not allowed",
        ),
        (
            "image=a,workers=2",
            "workers is 2 and servers is 0: several workers need a server",
        ),
    ] {
        let output = helm(&["template", "digits", &chart, "--set", values]).await?;
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(
            !output.status.success() && said.contains(wanted),
            "{values}: {said}"
        );
    }
    Ok(())
}
