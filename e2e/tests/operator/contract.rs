//! What the operator says as events, and what it does when the server refuses.

use std::collections::{BTreeMap, BTreeSet};

use crate::bench::{Bench, Operator, PATIENCE, training, with};
use anyhow::{Result, ensure};
use e2e::ScriptedKubelet;
use e2e::deadline::{Seen, until};
use e2e::proxy::{Fault, Proxy, Rule};
use k8s_openapi::api::events::v1::Event;
use kube::ResourceExt as _;
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams};
use serde_json::json;

/// The server does not allow it.
const FORBIDDEN: Fault = Fault::Before {
    code: 403,
    retry_after: None,
};

/// The events about that job.
async fn events(bench: &Bench, job: &str) -> Result<Vec<Event>> {
    let events: Api<Event> = Api::namespaced(bench.client.clone(), &bench.namespace);
    let mut all = events.list(&ListParams::default()).await?.items;
    all.retain(|event| {
        let about = event.regarding.as_ref();
        let name = about.and_then(|about| about.name.as_deref());
        name == Some(job) && event.reporting_controller.as_deref() == Some("mxjob-controller")
    });
    Ok(all)
}

/// Waits until the job was told of with all these reasons; the type of each.
async fn told(bench: &Bench, job: &str, reasons: &[&str]) -> Result<BTreeMap<String, String>> {
    until(&format!("{reasons:?} of {job}"), PATIENCE, || async {
        let said: BTreeMap<_, _> = events(bench, job)
            .await?
            .into_iter()
            .filter_map(|event| Some((event.reason?, event.type_?)))
            .collect();
        let there = reasons.iter().all(|reason| said.contains_key(*reason));
        Ok(if there {
            Seen::Done(said)
        } else {
            Seen::NotYet(format!("{said:?}"))
        })
    })
    .await
}

fn warnings(said: &BTreeMap<String, String>) -> BTreeSet<&str> {
    let warnings = said.iter().filter(|(_, kind)| *kind == "Warning");
    warnings.map(|(reason, _)| reason.as_str()).collect()
}

// contract: 10.4, 10.5, 10.6
#[tokio::test]
async fn each_event_has_its_type_and_its_controller() -> Result<()> {
    let (bench, plane) = Bench::shared("types").await?;
    let _operator = Operator::start(plane, &bench.namespace)?;
    let kubelet = ScriptedKubelet::run_all(bench.client.clone(), &bench.namespace);

    let run = json!({"runPolicy": {"ttlSecondsAfterFinished": 1, "suspend": true}});
    bench.create(&with(training("good", 1, 1), run)).await?;
    bench.phase("good", "Suspended").await?;
    let resume = Patch::Merge(json!({"spec": {"runPolicy": {"suspend": false}}}));
    let how = PatchParams::default();
    bench.jobs.patch("good", &how, &resume).await?;
    for pod in ["good-worker-0", "good-scheduler-0"] {
        kubelet.succeed(pod).await?;
    }
    let all = [
        "MXJobSuspended",
        "MXJobResumed",
        "SuccessfulCreatePod",
        "SuccessfulCreateService",
        "ExitedWithCode",
        "MXJobSucceeded",
        "SuccessfulDeletePod",
        "SuccessfulDeleteService",
        "SuccessfulDeleteJob",
    ];
    let said = told(&bench, "good", &all).await?;
    assert_eq!(warnings(&said), BTreeSet::new(), "{said:?}");

    bench.create(&training("bad", 0, 1)).await?;
    bench.phase("bad", "Running").await?;
    kubelet.fail("bad-worker-0", 1).await?;
    let said = told(&bench, "bad", &["MXJobFailed", "ExitedWithCode"]).await?;
    assert_eq!(warnings(&said), BTreeSet::from(["MXJobFailed"]), "{said:?}");
    Ok(())
}

// contract: 8.9, 10.5, 10.6, 10.7
#[tokio::test]
async fn what_the_server_refuses_is_told_and_tried_again_and_holds_up_nobody() -> Result<()> {
    let (bench, plane) = Bench::shared("denied").await?;
    let proxy = Proxy::start(plane).await?;
    let deny = |verb, resource, name| Rule::on(verb, resource).named(name).fault(FORBIDDEN);
    for (verb, resource) in [
        ("create", "services"),
        ("create", "pods"),
        ("delete", "pods"),
        ("delete", "services"),
        ("delete", "mxjobs"),
    ] {
        proxy.add(deny(verb, resource, "digits").times(2));
    }
    proxy.add(deny("delete", "mxjobs", "eternal"));
    let _operator = Operator::start_through(&proxy, &bench.namespace)?;
    let kubelet = ScriptedKubelet::run_all(bench.client.clone(), &bench.namespace);
    let run = json!({"runPolicy": {"ttlSecondsAfterFinished": 1, "cleanPodPolicy": "All"}});
    for job in ["eternal", "digits"] {
        bench
            .create(&with(training(job, 0, 1), run.clone()))
            .await?;
        for role in ["worker", "scheduler"] {
            kubelet.succeed(&format!("{job}-{role}-0")).await?;
        }
    }
    until("the job to be gone after all", PATIENCE, || async {
        Ok(bench.jobs.get_opt("digits").await?.is_none())
    })
    .await?;
    // One whose deletion is refused for ever is tried again, and others live on beside it.
    told(&bench, "eternal", &["FailedDeleteJob"]).await?;
    bench.another_life(&kubelet).await?;
    ensure!(bench.jobs.get_opt("eternal").await?.is_some());

    let failed = [
        "FailedCreateService",
        "FailedCreatePod",
        "FailedDeletePod",
        "FailedDeleteService",
        "FailedDeleteJob",
    ];
    let said = told(&bench, "digits", &failed).await?;
    assert_eq!(warnings(&said), BTreeSet::from(failed), "{said:?}");
    for event in events(&bench, "digits").await? {
        let reason = event.reason.unwrap_or_default();
        let note = event.note.unwrap_or_default();
        let doing = match reason.as_str() {
            create if create.starts_with("FailedCreate") => "Error creating: ",
            delete if delete.starts_with("FailedDelete") => "Error deleting: ",
            _ => continue,
        };
        assert_eq!(note, format!("{doing}the way to the server is bad"));
    }
    Ok(())
}

// contract: 3.17
#[tokio::test]
async fn a_status_that_is_refused_is_one_event_and_holds_up_nobody() -> Result<()> {
    let (bench, plane) = Bench::shared("no-status").await?;
    let proxy = Proxy::start(plane).await?;
    let invalid = Fault::Before {
        code: 422,
        retry_after: None,
    };
    let refuse = Rule::on("patch", "mxjobs/status").named("digits");
    proxy.add(refuse.fault(invalid));
    let _operator = Operator::start_through(&proxy, &bench.namespace)?;
    let kubelet = ScriptedKubelet::run_all(bench.client.clone(), &bench.namespace);
    bench.create(&training("digits", 0, 1)).await?;
    let tried = async |times: usize| {
        until(&format!("attempt {times}"), PATIENCE, || async {
            let asked = proxy.asked();
            let tries = asked
                .iter()
                .filter(|one| one.resource == "mxjobs/status" && one.name == "digits");
            Ok(tries.count() >= times)
        })
        .await
    };
    tried(1).await?;
    // Now the server is seen to keep that of another job, while this one is new.
    bench.another_life(&kubelet).await?;
    tried(4).await?;
    let said = told(&bench, "digits", &["FailedUpdateStatus"]).await?;
    assert_eq!(warnings(&said), BTreeSet::from(["FailedUpdateStatus"]));
    let events = events(&bench, "digits").await?;
    assert_eq!(events.len(), 1, "{events:?}");
    let note = events.first().and_then(|event| event.note.as_deref());
    let wanted = "Error updating status: the way to the server is bad";
    assert_eq!(note, Some(wanted));
    Ok(())
}

// contract: 7.1.5
#[tokio::test]
async fn a_failed_pod_is_deleted_by_its_uid() -> Result<()> {
    let (bench, plane) = Bench::shared("by-uid").await?;
    let _operator = Operator::start(plane, &bench.namespace)?;
    let kubelet = ScriptedKubelet::run_all(bench.client.clone(), &bench.namespace);
    let mut job = training("digits", 0, 1);
    if let Some(role) = job.pointer_mut("/spec/mxReplicaSpecs/Worker") {
        role["restartPolicy"] = json!("ExitCode");
    }
    bench.create(&job).await?;
    bench.phase("digits", "Running").await?;
    let pod = bench.pods.get("digits-worker-0").await?;
    kubelet.fail("digits-worker-0", 137).await?;
    let deletion = until("the deletion of the pod", PATIENCE, || async {
        let log = plane.audit_log(&bench.namespace)?;
        let mut ours = log.into_iter().filter(|event| {
            let agent = event["userAgent"].as_str().unwrap_or_default();
            agent.starts_with("mxjob/")
                && event["verb"] == "delete"
                && event["objectRef"]["namespace"] == *bench.namespace
                && event["objectRef"]["name"] == "digits-worker-0"
        });
        Ok(ours.next())
    })
    .await?;
    let uid = &deletion["requestObject"]["preconditions"]["uid"];
    assert_eq!(uid.as_str(), pod.uid().as_deref(), "{deletion}");
    Ok(())
}

/// Waits until that is told for the `count`th time; the name of the one event that tells it.
async fn told_again(bench: &Bench, note: &str, count: i32) -> Result<String> {
    until(&format!("{note:?} {count} times"), PATIENCE, || async {
        let mut told = events(bench, "digits").await?;
        told.retain(|event| event.note.as_deref() == Some(note));
        let counts: Vec<_> = told
            .iter()
            .map(|event| event.series.as_ref().map_or(1, |series| series.count))
            .collect();
        Ok(match told.as_slice() {
            [event] if counts == [count] => Seen::Done(event.name_any()),
            _ => Seen::NotYet(format!("{counts:?}")),
        })
    })
    .await
}

#[tokio::test]
async fn an_event_that_somebody_deletes_is_back_when_the_same_happens_again() -> Result<()> {
    let (bench, plane) = Bench::shared("forgotten").await?;
    let _operator = Operator::start(plane, &bench.namespace)?;
    bench.create(&training("digits", 0, 1)).await?;
    let note = "Created pod: digits-worker-0";
    let name = told_again(&bench, note, 1).await?;
    let events: Api<Event> = Api::namespaced(bench.client.clone(), &bench.namespace);
    events.delete(&name, &DeleteParams::default()).await?;
    for count in 2..=3 {
        // No node has it: it is gone at once, and made again.
        let at_once = DeleteParams::default().grace_period(0);
        bench.pods.delete("digits-worker-0", &at_once).await?;
        assert_eq!(told_again(&bench, note, count).await?, name);
    }
    Ok(())
}
