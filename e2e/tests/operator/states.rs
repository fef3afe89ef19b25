//! What users and clusters do to a running job: v1.md sections 7 and 8 on a real control plane.

use crate::bench::{Bench, Operator, PATIENCE, training, with};
use anyhow::{Context as _, Result, ensure};
use e2e::ScriptedKubelet;
use e2e::deadline::{Seen, until};
use kube::ResourceExt as _;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams};
use mxjob_core::api::v1::{ConditionType, JobStatus};
use serde_json::{Value, json};

/// A job that runs, its operator and its kubelet.
async fn running(prefix: &str, job: &Value) -> Result<(Bench, Operator, ScriptedKubelet)> {
    let (bench, plane) = Bench::shared(prefix).await?;
    let operator = Operator::start(plane, &bench.namespace)?;
    let kubelet = ScriptedKubelet::run_all(bench.client.clone(), &bench.namespace);
    bench.create(job).await?;
    bench.phase("digits", "Running").await?;
    Ok((bench, operator, kubelet))
}

/// The user edits the job's spec.
async fn edit(bench: &Bench, spec: Value) -> Result<()> {
    let patch = Patch::Merge(json!({"spec": spec}));
    bench
        .jobs
        .patch("digits", &PatchParams::default(), &patch)
        .await?;
    Ok(())
}

/// Waits until the status is as wanted.
async fn status(bench: &Bench, what: &str, is: impl Fn(&JobStatus) -> bool) -> Result<JobStatus> {
    until(what, PATIENCE, || async {
        let status = bench.jobs.get("digits").await?.status.unwrap_or_default();
        Ok(if is(&status) {
            Seen::Done(status)
        } else {
            Seen::NotYet(serde_json::to_string(&status)?)
        })
    })
    .await
}

/// Waits until the pod of that name is another one than `old`, and runs.
async fn replaced(bench: &Bench, name: &str, old: &str) -> Result<()> {
    until(&format!("another pod {name}"), PATIENCE, || async {
        let pod = bench.pods.get_opt(name).await?;
        let phase = pod
            .as_ref()
            .and_then(|pod| pod.status.as_ref()?.phase.clone());
        let other = pod.and_then(|pod| pod.uid()).is_some_and(|uid| uid != old);
        Ok(other && phase.as_deref() == Some("Running"))
    })
    .await
}

async fn uid(bench: &Bench, pod: &str) -> Result<String> {
    bench.pods.get(pod).await?.uid().context("no uid")
}

// contract: 8.4, 10.3
#[tokio::test]
async fn suspended_it_has_no_pods_and_resumed_it_starts_anew() -> Result<()> {
    let (bench, _operator, _kubelet) = running("suspend", &training("digits", 1, 1)).await?;
    let before = status(&bench, "a start", |status| status.start_time.is_some()).await?;
    edit(&bench, json!({"runPolicy": {"suspend": true}})).await?;
    bench.nothing().await?;
    let suspended = bench
        .phase("digits", "Suspended")
        .await?
        .status
        .unwrap_or_default();
    ensure!(!suspended.is(ConditionType::Running), "{suspended:?}");
    assert_eq!(
        suspended.start_time, before.start_time,
        "kept while suspended"
    );
    bench.event("MXJobSuspended").await?;

    // The API knows whole seconds: a start in the same one could not be told from the first.
    let first = before.start_time.clone().context("no start")?.0;
    until("the next second", PATIENCE, || async {
        Ok(jiff::Timestamp::now().as_second() > first.as_second())
    })
    .await?;
    edit(&bench, json!({"runPolicy": {"suspend": false}})).await?;
    let resumed = bench
        .phase("digits", "Running")
        .await?
        .status
        .unwrap_or_default();
    ensure!(
        resumed.start_time > before.start_time,
        "set anew: {resumed:?}"
    );
    ensure!(resumed.restarts.is_none(), "no restart: {resumed:?}");
    bench.event("MXJobResumed").await?;
    Ok(())
}

// contract: 8.5
#[tokio::test]
async fn created_suspended_it_waits_without_a_start() -> Result<()> {
    let (bench, plane) = Bench::shared("asleep").await?;
    let _operator = Operator::start(plane, &bench.namespace)?;
    let asleep = json!({"runPolicy": {"suspend": true}});
    bench
        .create(&with(training("digits", 0, 1), asleep))
        .await?;
    let status = bench
        .phase("digits", "Suspended")
        .await?
        .status
        .unwrap_or_default();
    let kinds: Vec<_> = status
        .conditions
        .iter()
        .map(|one| one.kind.as_str())
        .collect();
    assert_eq!(
        (kinds, status.start_time),
        (vec!["Created", "Suspended"], None)
    );
    assert_eq!(bench.writes(plane, "create", "pods")?, 0);
    Ok(())
}

// contract: 7.7.1, 10.3
#[tokio::test]
async fn another_size_restarts_a_training_job_as_a_whole() -> Result<()> {
    let (bench, _operator, _kubelet) = running("rescale", &training("digits", 1, 2)).await?;
    let old = uid(&bench, "digits-scheduler-0").await?;
    edit(
        &bench,
        json!({"mxReplicaSpecs": {"Worker": {"replicas": 3}}}),
    )
    .await?;
    let message = bench.event("MXJobRescaled").await?;
    assert_eq!(
        message,
        "MXJob digits is restarting because its size changed."
    );
    replaced(&bench, "digits-scheduler-0", &old).await?;
    bench.pods(5).await?;
    let status = bench
        .phase("digits", "Running")
        .await?
        .status
        .unwrap_or_default();
    assert_eq!((status.restarts, status.counted_restarts), (Some(1), None));
    let pod = bench.pods.get("digits-worker-2").await?;
    let vars = pod
        .spec
        .context("no spec")?
        .containers
        .remove(0)
        .env
        .unwrap_or_default();
    let workers = vars.into_iter().find(|var| var.name == "DMLC_NUM_WORKER");
    assert_eq!(workers.and_then(|var| var.value).as_deref(), Some("3"));
    Ok(())
}

// contract: 7.2.1
#[tokio::test]
async fn an_evicted_pod_is_replaced_without_counting() -> Result<()> {
    let mut job = training("digits", 1, 1);
    job["spec"]["mxReplicaSpecs"]["Server"]["restartPolicy"] = json!("OnFailure");
    let job = with(job, json!({"runPolicy": {"backoffLimit": 0}}));
    let (bench, _operator, kubelet) = running("evicted", &job).await?;
    let old = uid(&bench, "digits-server-0").await?;
    kubelet.evict("digits-server-0").await?;
    replaced(&bench, "digits-server-0", &old).await?;
    let after = status(&bench, "all to run again", |status| {
        status.ready.as_deref() == Some("3/3")
    })
    .await?;
    let server = after.replica_statuses.get("Server").context("no server")?;
    assert_eq!(server.restarts, 0, "{after:?}");
    Ok(())
}

// contract: 7.2.2
#[tokio::test]
async fn a_pod_that_somebody_deletes_counts_as_failed() -> Result<()> {
    let mut job = training("digits", 1, 1);
    job["spec"]["mxReplicaSpecs"]["Server"]["restartPolicy"] = json!("OnFailure");
    let (bench, _operator, _kubelet) = running("deleted-pod", &job).await?;
    status(&bench, "the server's start", |status| {
        let server = status.replica_statuses.get("Server");
        server.is_some_and(|server| server.started_indexes.as_deref() == Some("0"))
    })
    .await?;
    let old = uid(&bench, "digits-server-0").await?;
    bench
        .pods
        .delete("digits-server-0", &DeleteParams::default())
        .await?;
    replaced(&bench, "digits-server-0", &old).await?;
    status(&bench, "one restart", |status| {
        status
            .replica_statuses
            .get("Server")
            .is_some_and(|server| server.restarts == 1)
    })
    .await?;
    Ok(())
}

// contract: 8.3
#[tokio::test]
async fn when_its_time_has_passed_a_finished_job_goes_with_all_that_is_left() -> Result<()> {
    let ttl = json!({"runPolicy": {"ttlSecondsAfterFinished": 2, "cleanPodPolicy": "None"}});
    let (bench, _operator, kubelet) = running("ttl", &with(training("digits", 0, 1), ttl)).await?;
    for pod in ["digits-worker-0", "digits-scheduler-0"] {
        kubelet.succeed(pod).await?;
    }
    bench.phase("digits", "Succeeded").await?;
    until("the job to be gone", PATIENCE, || async {
        Ok(bench.jobs.get_opt("digits").await?.is_none())
    })
    .await?;
    bench.nothing().await
}

// contract: 8.4
#[tokio::test]
async fn suspended_in_mid_start_it_gets_no_more_pods() -> Result<()> {
    let (bench, plane) = Bench::shared("midway").await?;
    let _operator = Operator::start(plane, &bench.namespace)?;
    let _kubelet = ScriptedKubelet::run_all(bench.client.clone(), &bench.namespace);
    let shared = json!({"network": {"services": "PerJob"}});
    let large = with(training("digits", 0, 900), shared);
    bench.create(&large).await?;
    until("the first pods", PATIENCE, || async {
        let page = ListParams::default().limit(1);
        Ok(!bench.pods.list_metadata(&page).await?.items.is_empty())
    })
    .await?;
    edit(&bench, json!({"runPolicy": {"suspend": true}})).await?;
    bench.phase("digits", "Suspended").await?;
    bench.pods(0).await?;
    let made = bench.writes(plane, "create", "pods")?;
    // All 901 of them are one slice of the plan.
    ensure!(made < 901, "{made} pods were made");
    Ok(())
}

// contract: 2.8
#[tokio::test]
async fn a_job_of_another_manager_is_not_touched() -> Result<()> {
    let (bench, plane) = Bench::shared("managed").await?;
    let _operator = Operator::start(plane, &bench.namespace)?;
    let kubelet = ScriptedKubelet::run_all(bench.client.clone(), &bench.namespace);
    let other = json!({"runPolicy": {"managedBy": "kueue.x-k8s.io/multikueue"}});
    let created = bench.create(&with(training("digits", 0, 1), other)).await?;
    bench.another_life(&kubelet).await?;
    let now = bench.jobs.get("digits").await?;
    assert_eq!(now.resource_version(), created.resource_version());
    assert_eq!(
        bench.pods.list(&ListParams::default()).await?.items.len(),
        0
    );
    Ok(())
}

// contract: 9.6
#[tokio::test]
async fn in_a_quiet_cluster_nothing_is_written() -> Result<()> {
    let (bench, _operator, kubelet) = running("quiet", &training("digits", 1, 1)).await?;
    let before = status(&bench, "all to be ready", |status| {
        status.ready.as_deref() == Some("3/3")
    })
    .await?;
    let version = bench.jobs.get("digits").await?.resource_version();
    bench.another_life(&kubelet).await?;
    let now = bench.jobs.get("digits").await?;
    assert_eq!(
        (now.resource_version(), now.status),
        (version, Some(before))
    );
    Ok(())
}
