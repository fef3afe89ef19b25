//! What befalls an operator on a cluster beside its API server.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::time::Duration;

use anyhow::{Result, ensure};
use e2e::deadline::{Seen, until};
use e2e::{ScriptedKubelet, User};
use k8s_openapi::api::rbac::v1::RoleBinding;
use kube::api::{Api, DeleteParams};

use crate::bench::{Bench, Operator, PATIENCE, training};
use crate::facts::succeed;
use crate::leader::{OPERATOR_BINDING, allow};

// contract: 11.28
#[tokio::test]
async fn a_log_that_cannot_be_written_costs_no_job() -> Result<()> {
    let (bench, plane) = Bench::shared("full").await?;
    let folder = tempfile::tempdir()?;
    let script = folder.path().join("mxjob");
    let program = env!("CARGO_BIN_EXE_e2e-mxjob");
    // A file on a disk that is full takes nothing either.
    fs::write(
        &script,
        format!("#!/bin/sh\nexec '{program}' \"$@\" 2>/dev/full\n"),
    )?;
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755))?;
    let arguments = ["--namespace", &bench.namespace];
    let operator = Operator::start_program(&script.to_string_lossy(), plane, &arguments)?;
    let kubelet = ScriptedKubelet::run_all(bench.client.clone(), &bench.namespace);
    bench.create(&training("digits", 1, 2)).await?;
    bench.phase("digits", "Running").await?;
    succeed(&kubelet, "digits", 2).await?;
    bench.phase("digits", "Succeeded").await?;
    ensure!(operator.log()?.is_empty(), "{}", operator.log()?);
    let status = operator.terminate(Duration::from_secs(5)).await?;
    ensure!(status.success(), "{status}");
    Ok(())
}

// contract: 11.29
#[tokio::test]
async fn rights_that_are_taken_away_are_missed_once_and_nothing_is_lost_until_they_are_back()
-> Result<()> {
    let (bench, plane) = Bench::shared("no-rights").await?;
    allow(&bench, &[]).await?;
    let arguments = ["--namespace", &bench.namespace, "--leader-elect=false"];
    let operator = Operator::start_as(plane, User::Operator, &arguments)?;
    let kubelet = ScriptedKubelet::run_all(bench.client.clone(), &bench.namespace);
    bench.create(&training("first", 0, 1)).await?;
    bench.phase("first", "Running").await?;

    let bindings: Api<RoleBinding> = Api::namespaced(bench.client.clone(), &bench.namespace);
    bindings
        .delete(OPERATOR_BINDING, &DeleteParams::default())
        .await?;
    // The server hears of it by a watch of its own: one of these is refused.
    let mut jobs = Vec::new();
    let refused = || Ok::<_, anyhow::Error>(operator.log()?.contains(": refused"));
    while !refused()? {
        let name = format!("second-{}", jobs.len());
        bench.create(&training(&name, 0, 1)).await?;
        until("the job to be seen", PATIENCE, || async {
            let seen = bench
                .pods
                .get_opt(&format!("{name}-worker-0"))
                .await?
                .is_some();
            Ok(seen || refused()?)
        })
        .await?;
        jobs.push(name);
    }
    succeed(&kubelet, "first", 1).await?;
    // It tries again, and says no more than once what is the matter with which job.
    until("more attempts", PATIENCE, || async {
        let log = plane.audit_log(&bench.namespace)?;
        let asked = log.iter().filter(|event| {
            // After the first refusal the job's status is tried before its objects.
            let writes = event["verb"] == "create" || event["verb"] == "patch";
            let refused = event["responseStatus"]["code"] == 403;
            writes && refused && event["objectRef"]["resource"] != "events"
        });
        let asked = asked.count();
        Ok(if asked >= 6 {
            Seen::Done(())
        } else {
            Seen::NotYet(asked.to_string())
        })
    })
    .await?;
    let log = operator.log()?;
    for job in &jobs {
        let about = format!("job={job} ");
        let lines = log
            .lines()
            .filter(|line| line.contains(": refused") && line.contains(&about));
        ensure!(lines.count() <= 1, "{job}: {log}");
    }

    allow(&bench, &[]).await?;
    for job in &jobs {
        bench.phase(job, "Running").await?;
    }
    bench.phase("first", "Succeeded").await?;
    drop(kubelet);
    Ok(())
}
