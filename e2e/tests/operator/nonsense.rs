//! Objects edited behind the schema's back: v1.md 3 and 9.

use crate::bench::{Bench, Operator, PATIENCE, training, with};
use crate::facts::{
    all_run, each_pod_once, overwrite_status, raw, said_once, status_field, succeed,
};
use anyhow::{Context as _, Result, ensure};
use e2e::deadline::{Seen, until};
use e2e::{ControlPlane, ScriptedKubelet};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Api, Patch, PatchParams};
use kube::core::DynamicObject;
use mxjob_core::{MxRole, ReplicaRole as _, schema};
use serde_json::{Value, json};

/// Serves jobs with that schema; `None`: with any content.
async fn serve(bench: &Bench, validated: bool) -> Result<()> {
    let mut crd = schema::crd(MxRole::TABLE);
    let anything = json!({"openAPIV3Schema": {
        "type": "object", "x-kubernetes-preserve-unknown-fields": true,
    }});
    if !validated {
        for version in &mut crd.spec.versions {
            version.schema = Some(serde_json::from_value(anything.clone())?);
            version.additional_printer_columns = None;
            version.selectable_fields = None;
        }
    }
    let name = crd.metadata.name.clone().context("no name")?;
    let crds: Api<CustomResourceDefinition> = Api::all(bench.client.clone());
    let how = PatchParams::apply("e2e").force();
    crds.patch(&name, &how, &Patch::Apply(&crd)).await?;
    // Until then the old schema answers.
    until("the schema to be in force", PATIENCE, || async {
        let bad = json!({"metadata": {"name": "bad"}, "spec": {"mxReplicaSpecs": {}}});
        let mut bad: DynamicObject = serde_json::from_value(bad)?;
        bad.types = Some(kube::core::TypeMeta {
            api_version: "kubeflow.org/v1".to_owned(),
            kind: "MXJob".to_owned(),
        });
        let dry = kube::api::PostParams {
            dry_run: true,
            ..Default::default()
        };
        let refused = raw(bench).create(&dry, &bad).await.is_err();
        Ok(refused == validated)
    })
    .await
}

async fn edit(bench: &Bench, job: &str, patch: Value) -> Result<()> {
    let patch = Patch::Merge(patch);
    raw(bench)
        .patch(job, &PatchParams::default(), &patch)
        .await?;
    Ok(())
}

/// A control plane of its own, whose schema is changed; a job that runs.
async fn running(prefix: &str, job: &Value) -> Result<(ControlPlane, Bench, ScriptedKubelet)> {
    let (bench, plane) = Bench::own(prefix).await?;
    bench.create(job).await?;
    let kubelet = ScriptedKubelet::run_all(bench.client.clone(), &bench.namespace);
    Ok((plane, bench, kubelet))
}

#[tokio::test]
async fn a_running_job_edited_to_nonsense_fails_and_disturbs_no_other() -> Result<()> {
    let (plane, bench, kubelet) = running("edited", &training("digits", 1, 2)).await?;
    let operator = Operator::start(&plane, &bench.namespace)?;
    bench.create(&training("typeless", 0, 1)).await?;
    all_run(&bench, "digits", 4).await?;
    all_run(&bench, "typeless", 2).await?;
    serve(&bench, false).await?;
    let two = json!({"spec": {"mxReplicaSpecs": {"Scheduler": {"replicas": 2}}}});
    edit(&bench, "digits", two).await?;
    edit(&bench, "typeless", json!({"spec": "nonsense"})).await?;
    serve(&bench, true).await?;
    bench.create(&training("other", 0, 1)).await?;
    let message = bench.event("FailedInvalidMXJobSpec").await?;
    ensure!(!message.is_empty());
    for job in ["digits", "typeless"] {
        until(&format!("{job} to have failed"), PATIENCE, || async {
            let status = raw(&bench).get(job).await?.data["status"].clone();
            let failed = status["phase"] == "Failed" && !status["completionTime"].is_null();
            Ok(if failed && status["reason"] == "FailedInvalidMXJobSpec" {
                Seen::Done(())
            } else {
                Seen::NotYet(status.to_string())
            })
        })
        .await?;
    }
    all_run(&bench, "other", 2).await?;
    succeed(&kubelet, "other", 1).await?;
    until("the other to succeed", PATIENCE, || async {
        Ok(status_field(&bench, "other", "/phase").await? == "Succeeded")
    })
    .await?;
    // Of the two that failed nothing runs.
    bench.pods(2).await?;
    for ((reason, note), times) in bench.events().await? {
        ensure!(times == 1, "{reason} was said {times} times: {note}");
    }
    for job in ["digits", "typeless", "other"] {
        each_pod_once(&bench, &plane, job)?;
    }
    for job in ["digits", "typeless"] {
        let said = format!(
            "status written namespace={} job={job} phase=\"Failed\"",
            bench.namespace
        );
        said_once(&operator, &said)?;
    }
    Ok(())
}

#[tokio::test]
async fn nonsense_in_a_status_costs_nothing_but_itself() -> Result<()> {
    let policy = json!({"failurePolicy": {"maxRestarts": 1}});
    let job = with(training("digits", 1, 1), policy);
    let (plane, bench, kubelet) = running("garbled", &job).await?;
    let operator = Operator::start(&plane, &bench.namespace)?;
    bench.phase("digits", "Running").await?;
    kubelet.fail("digits-worker-0", 1).await?;
    bench.restarted("digits", 1).await?;
    bench.phase("digits", "Running").await?;
    let before = all_run(&bench, "digits", 3).await?;
    until("all to be counted", PATIENCE, || async {
        Ok(status_field(&bench, "digits", "/ready").await? == "3/3")
    })
    .await?;
    operator.kill()?;

    serve(&bench, false).await?;
    let mut status = raw(&bench).get("digits").await?.data["status"].take();
    status["startTime"] = json!("once upon a time");
    status["replicaStatuses"]["Worker"]["endedAt"] = json!({"0": "tea time", "x": 1});
    status["replicaStatuses"]["Worker"]["attempts"] = json!({"0": "many"});
    status["replicaStatuses"]["Server"] = json!([1, 2]);
    status["replicaStatuses"]["Nobody"] = json!({"restarts": "three"});
    for condition in status["conditions"].as_array_mut().into_iter().flatten() {
        condition["lastUpdateTime"] = json!("yesterday");
    }
    overwrite_status(&bench, "digits", status).await?;
    let _second = Operator::start(&plane, &bench.namespace)?;
    // It can be read again, and what could be read of it is still there.
    until("a status in order", PATIENCE, || async {
        let status = raw(&bench).get("digits").await?.data["status"].take();
        let well = status["replicaStatuses"]["Worker"]["endedAt"].is_null()
            && status["replicaStatuses"]["Server"]["active"] == 1
            && status["restarts"] == 1
            && status["countedRestarts"] == 1
            && status["phase"] == "Running";
        Ok(if well {
            Seen::Done(())
        } else {
            Seen::NotYet(status.to_string())
        })
    })
    .await?;
    serve(&bench, true).await?;
    let after = all_run(&bench, "digits", 3).await?;
    for (name, pod) in &before {
        let now = after.get(name).and_then(|pod| pod.metadata.uid.as_ref());
        assert_eq!(pod.metadata.uid.as_ref(), now, "{name}");
    }
    // One more failure is one too many: the count was not forgotten.
    kubelet.fail("digits-worker-0", 1).await?;
    until("the limit to be reached", PATIENCE, || async {
        Ok(status_field(&bench, "digits", "/phase").await? == "Failed")
    })
    .await
}
