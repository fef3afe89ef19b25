//! What the operator makes, and what is left of it when the job is deleted.

mod operator;

use anyhow::Result;
use k8s_openapi::NamespaceResourceScope;
use kube::api::{Api, DeleteParams, PostParams};
use kube::{Resource, ResourceExt as _};
use mxjob_core::wiring::{Addresses, Wiring};
use mxjob_core::{Job, MxRole, ReplicaRole as _};
use operator::{Bench, Operator, training};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

#[tokio::test]
async fn the_objects_are_those_that_the_plan_shows() -> Result<()> {
    let (bench, plane) = Bench::shared("objects").await?;
    let manifest = training("digits", 2, 2);
    let job = Job::read(MxRole::TABLE, &manifest);
    let spec = job.spec.as_ref().unwrap();
    let wiring = Wiring::new(&job, spec, Addresses::Cluster);
    // The server fills in its own defaults, so it is asked what it would make of them.
    let mut pods = would_be(&bench.pods, wiring.pods()).await?;
    let mut services = would_be(&bench.services, wiring.services()).await?;

    let _operator = Operator::start(plane, &bench.namespace)?;
    let uid = bench.create(&manifest).await?.uid().unwrap();
    let made = bench.pods(5).await?;
    for object in pods.iter_mut().chain(&mut services) {
        object["metadata"]["ownerReferences"][0]["uid"] = uid.clone().into();
    }
    assert_eq!(made.iter().map(comparable).collect::<Vec<_>>(), sorted(pods));
    let made = bench.services.list(&Default::default()).await?;
    assert_eq!(made.iter().map(comparable).collect::<Vec<_>>(), sorted(services));
    Ok(())
}

async fn would_be<K>(api: &Api<K>, objects: impl IntoIterator<Item = K>) -> Result<Vec<Value>>
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope>,
    K: Serialize + DeserializeOwned + Clone + std::fmt::Debug,
{
    let dry = PostParams { dry_run: true, ..PostParams::default() };
    let mut answers = Vec::new();
    for mut object in objects {
        // An owner without a uid is refused.
        for owner in object.meta_mut().owner_references.iter_mut().flatten() {
            owner.uid = "unknown".to_owned();
        }
        answers.push(comparable(&api.create(&dry, &object).await?));
    }
    Ok(answers)
}

/// All but what is another one in every object.
fn comparable<K: Serialize>(object: &K) -> Value {
    let mut object = serde_json::to_value(object).unwrap();
    let meta = object["metadata"].as_object_mut().unwrap();
    for key in ["uid", "resourceVersion", "creationTimestamp", "managedFields", "generation"] {
        meta.remove(key);
    }
    // Names of the service account's token volume are random.
    if let Some(spec) = object["spec"].as_object_mut() {
        spec.remove("volumes");
        let containers = spec.get_mut("containers").and_then(Value::as_array_mut);
        for container in containers.into_iter().flatten() {
            container.as_object_mut().unwrap().remove("volumeMounts");
        }
    }
    object
}

fn sorted(mut objects: Vec<Value>) -> Vec<Value> {
    objects.sort_by_key(|object| object["metadata"]["name"].to_string());
    objects
}

#[tokio::test]
async fn deleting_the_job_leaves_nothing() -> Result<()> {
    let (bench, plane) = Bench::shared("deleted").await?;
    let _operator = Operator::start(plane, &bench.namespace)?;
    bench.create(&training("digits", 2, 2)).await?;
    bench.pods(5).await?;
    bench.jobs.delete("digits", &DeleteParams::default()).await?;
    bench.nothing().await?;
    tokio::time::sleep(std::time::Duration::from_secs(1)).await;
    bench.nothing().await?;
    assert_eq!(bench.writes(plane, "create", "pods")?, 5, "nothing was created again");
    Ok(())
}

#[tokio::test]
async fn a_job_of_three_costs_as_few_writes_as_it_can() -> Result<()> {
    let (bench, plane) = Bench::shared("writes").await?;
    let _operator = Operator::start(plane, &bench.namespace)?;
    let kubelet = e2e::ScriptedKubelet::run_all(bench.client.clone(), &bench.namespace);
    bench.create(&training("digits", 1, 1)).await?;
    bench.phase("digits", "Running").await?;
    for pod in ["digits-worker-0", "digits-scheduler-0"] {
        kubelet.succeed(pod).await?;
    }
    bench.phase("digits", "Succeeded").await?;
    bench.event("MXJobSucceeded").await?;
    let writes = |verb: &str, resource: &str| bench.writes(plane, verb, resource);
    assert_eq!((writes("create", "pods")?, writes("create", "services")?), (3, 3));
    let patches = writes("patch", "mxjobs/status")?;
    for e in plane.audit_log()?.iter().filter(|e| e["objectRef"]["namespace"] == *bench.namespace && e["objectRef"]["subresource"]=="status" && e["objectRef"]["resource"]=="mxjobs") { println!("PATCH {} {}", e["stageTimestamp"], e["requestObject"][1]["value"]); }
    assert!(patches <= 4, "{patches} status patches");

    let quiet = plane.audit_log()?.len();
    tokio::time::sleep(std::time::Duration::from_secs(3)).await;
    let log = plane.audit_log()?;
    let later: Vec<_> = log[quiet..].iter().filter(|event| event["objectRef"]["namespace"] == *bench.namespace).collect();
    assert!(later.is_empty(), "a finished job is left alone: {later:#?}");
    Ok(())
}
