//! The operator and its CustomResourceDefinition.

use crate::bench::{Bench, Operator, PATIENCE, converts, training};
use crate::facts::said_once;
use anyhow::{Result, ensure};
use e2e::ControlPlane;
use e2e::deadline::{Seen, until};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams};
use kube::core::{ApiResource, DynamicObject, GroupVersionKind};
use kube::runtime::conditions::is_crd_established;
use kube::runtime::wait::Condition as _;
use mxjob_core::{MxRole, ReplicaRole as _};
use serde_json::{Value, json};

const CRD: &str = "mxjobs.kubeflow.org";

// promise: P1, P8, P87
#[tokio::test]
async fn it_waits_for_the_crd_and_can_bring_it() -> Result<()> {
    // A control plane of its own: one without the CRD.
    let plane = ControlPlane::start().await?;
    let bench = Bench::new(&plane, "waits").await?;
    let waiting = Operator::start(&plane, &bench.namespace)?;
    waiting
        .says("mxjob crds --api kubeflow.org | kubectl apply")
        .await?;

    let crds: Api<CustomResourceDefinition> = Api::all(bench.client.clone());
    let bringing = Operator::start_with(&plane, &["--namespace", "nowhere", "--install-crds"])?;
    bringing.says("established").await?;
    assert!(is_crd_established().matches_object(crds.get_opt(CRD).await?.as_ref()));

    waiting.says("caches are complete").await?;
    assert_eq!(
        waiting.log()?.matches("mxjob crds").count(),
        1,
        "it is said once"
    );
    bench.create(&training("digits", 1, 1)).await?;
    bench.pods(3).await?;

    drop(bringing);
    let before = crds.get(CRD).await?.metadata.generation;
    Operator::start_with(&plane, &["--namespace", "nowhere", "--install-crds"])?
        .says("established")
        .await?;
    assert_eq!(
        crds.get(CRD).await?.metadata.generation,
        before,
        "the same again changes nothing"
    );
    Ok(())
}

// contract: 11.37
#[tokio::test]
async fn a_definition_deleted_under_the_leader_is_missed_once_and_its_return_is_seen() -> Result<()>
{
    let (bench, plane) = Bench::own("deleted").await?;
    let operator = Operator::start_converting(&plane, &bench.namespace).await?;
    bench.create(&training("digits", 1, 1)).await?;
    bench.pods(3).await?;
    let crds: Api<CustomResourceDefinition> = Api::all(bench.client.clone());
    delete(&crds).await?;
    // With the definition goes the job, and with the job what is the job's.
    bench.nothing().await?;
    operator.says("mxjob crds --api kubeflow.org").await?;

    let definition = mxjob_core::schema::crd(MxRole::TABLE);
    plane.install_crds(&[definition]).await?;
    converts(&bench.client, &bench.namespace).await?;
    bench.create(&training("digits", 1, 1)).await?;
    bench.pods(3).await?;
    let log = operator.log()?;
    let said = log.matches("mxjob crds --api kubeflow.org").count();
    ensure!(said == 1, "{log}");
    Ok(())
}

/// Somebody else's definition of that name, and an object of it.
async fn of_another_vendor(bench: &Bench, scope: &str) -> Result<Api<DynamicObject>> {
    let open = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let crd = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": CRD},
        "spec": {
            "group": "kubeflow.org", "scope": scope,
            "names": {"kind": "MixJob", "plural": "mxjobs", "singular": "mixjob"},
            "versions": [{
                "name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": open},
            }],
        },
    });
    let crds: Api<CustomResourceDefinition> = Api::all(bench.client.clone());
    let how = PatchParams::apply("vendor");
    crds.patch(CRD, &how, &Patch::Apply(&crd)).await?;
    until("their definition to be served", PATIENCE, || async {
        let found = crds.get_opt(CRD).await?;
        Ok(if is_crd_established().matches_object(found.as_ref()) {
            Seen::Done(())
        } else {
            Seen::NotYet("not established".to_owned())
        })
    })
    .await?;
    let kind = ApiResource::from_gvk_with_plural(
        &GroupVersionKind::gvk("kubeflow.org", "v1", "MixJob"),
        "mxjobs",
    );
    let theirs = json!({
        "apiVersion": "kubeflow.org/v1", "kind": "MixJob", "metadata": {"name": "theirs"},
        "spec": {"cups": 2},
    });
    let theirs: DynamicObject = serde_json::from_value(theirs)?;
    let namespaced =
        Api::<DynamicObject>::namespaced_with(bench.client.clone(), &bench.namespace, &kind);
    let api = if scope == "Cluster" {
        Api::all_with(bench.client.clone(), &kind)
    } else {
        namespaced
    };
    api.create(&PostParams::default(), &theirs).await?;
    Ok(api)
}

/// Deletes the definition, and with it all objects.
async fn delete(crds: &Api<CustomResourceDefinition>) -> Result<()> {
    crds.delete(CRD, &DeleteParams::default()).await?;
    until("the definition to be gone", PATIENCE, || async {
        Ok(match crds.get_opt(CRD).await? {
            None => Seen::Done(()),
            Some(_) => Seen::NotYet("still there".to_owned()),
        })
    })
    .await
}

// contract: 11.32
#[tokio::test]
async fn a_definition_of_another_vendor_is_told_and_never_replaced() -> Result<()> {
    let plane = ControlPlane::start().await?;
    for scope in ["Namespaced", "Cluster"] {
        let bench = Bench::new(&plane, "vendor").await?;
        let theirs = of_another_vendor(&bench, scope).await?;
        let within = ["--namespace", bench.namespace.as_str()];
        let beside = Operator::start_with(&plane, &within)?;
        // That there is none, or that it keeps no status.
        beside.says("mxjob crds --api kubeflow.org").await?;
        let bring = [&within[..], &["--install-crds", "--leader-elect=false"]].concat();
        let mut bringing = Operator::start_with(&plane, &bring)?;
        let status = bringing.end(PATIENCE).await?;
        let log = bringing.log()?;
        let told = format!(
            "cannot install {CRD}: there is one of another vendor, of {scope} objects of kind MixJob"
        );
        ensure!(
            status.code() == Some(1) && log.contains(&told),
            "{status}: {log}"
        );
        ensure!(
            beside.log()?.matches("mxjob crds").count() == 1,
            "{}",
            beside.log()?
        );
        let crds: Api<CustomResourceDefinition> = Api::all(bench.client.clone());
        let stored = theirs.get("theirs").await?;
        ensure!(stored.data["spec"]["cups"] == 2, "{}", stored.data);
        bench.pods(0).await?;
        // As the message says; then the one that waits goes on.
        delete(&crds).await?;
        let elsewhere = ["--namespace", "nowhere", "--install-crds"];
        let ours = Operator::start_with(&plane, &elsewhere)?;
        ours.says("established").await?;
        bench.create(&training("digits", 1, 1)).await?;
        bench.pods(3).await?;
        delete(&crds).await?;
    }
    Ok(())
}

// contract: 3.16
#[tokio::test]
async fn what_was_stored_without_a_schema_disturbs_nobody() -> Result<()> {
    // A control plane of its own: one whose CRD allows everything.
    let plane = ControlPlane::start().await?;
    let mut open = mxjob_core::schema::crd(MxRole::TABLE);
    for version in &mut open.spec.versions {
        version.schema = serde_json::from_value(json!({
            "openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
        }))?;
        version.selectable_fields = None;
    }
    plane.install_crds(&[open]).await?;
    let bench = Bench::new(&plane, "strange").await?;
    for (name, spec) in [
        (
            "unknown-role",
            json!({"mxReplicaSpecs": {"Boss": {"replicas": 1, "template": {}}}}),
        ),
        (
            "wrong-type",
            json!({"mxReplicaSpecs": {"Scheduler": {"replicas": "two"}}}),
        ),
        (
            "no-containers",
            json!({"mxReplicaSpecs": {"Scheduler": {"template": {"spec": {"containers": []}}}}}),
        ),
        ("a-list", json!([1, 2, 3])),
        ("nothing", Value::Null),
    ] {
        apply_raw(&bench, name, spec).await?;
    }
    let operator = Operator::start(&plane, &bench.namespace)?;
    bench.create(&training("digits", 1, 1)).await?;
    bench.pods(3).await?;

    for name in [
        "unknown-role",
        "wrong-type",
        "no-containers",
        "a-list",
        "nothing",
    ] {
        let phase = raw(&bench, name).await?.data["status"]["phase"].clone();
        assert_eq!(phase, "Failed", "{name}");
    }
    let events = bench.events().await?;
    let said = events
        .iter()
        .filter(|((reason, _), _)| reason == "FailedInvalidMXJobSpec")
        .map(|(_, count)| count);
    assert_eq!(said.sum::<i32>(), 5, "{events:#?}");
    for name in ["unknown-role", "a-list"] {
        jobs(&bench).delete(name, &DeleteParams::default()).await?;
    }
    assert!(!operator.log()?.contains("panic"), "{}", operator.log()?);
    Ok(())
}

// contract: 3.17
#[tokio::test]
async fn a_job_whose_status_is_not_kept_has_no_pods_until_the_crd_is_updated() -> Result<()> {
    // A control plane of its own: one whose CRD is older than the status.
    let plane = ControlPlane::start().await?;
    let current = mxjob_core::schema::crd(MxRole::TABLE);
    let mut older = serde_json::to_value(&current)?;
    for version in older["spec"]["versions"]
        .as_array_mut()
        .into_iter()
        .flatten()
    {
        version["schema"]["openAPIV3Schema"] = json!({"type": "object", "properties": {
            "spec": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
            "status": {"type": "object"},
        }});
        version["additionalPrinterColumns"] = json!([]);
        version["selectableFields"] = json!([]);
    }
    plane
        .install_crds(&[serde_json::from_value(older)?])
        .await?;
    let bench = Bench::new(&plane, "older").await?;
    let operator = Operator::start(&plane, &bench.namespace)?;
    bench.create(&training("digits", 1, 1)).await?;
    let advice =
        "update the CRD, `mxjob crds --api kubeflow.org | kubectl apply --server-side -f -`";
    let message = bench.event("FailedUpdateStatus").await?;
    assert!(message.contains(advice), "{message}");
    e2e::deadline::until("the third attempt", PATIENCE, || async {
        Ok(bench.writes(&plane, "patch", "mxjobs/status")? >= 3)
    })
    .await?;
    said_once(&operator, advice)?;
    assert_eq!(bench.writes(&plane, "create", "pods")?, 0);
    assert_eq!(bench.writes(&plane, "create", "services")?, 0);

    plane.install_crds(&[current]).await?;
    bench.pods(3).await?;
    said_once(&operator, advice)?;
    let events = bench.events().await?;
    let failed = events
        .keys()
        .filter(|(reason, _)| reason.starts_with("Failed"));
    assert_eq!(failed.count(), 1, "{events:?}");
    Ok(())
}

fn jobs(bench: &Bench) -> Api<DynamicObject> {
    let kind = GroupVersionKind::gvk("kubeflow.org", "v1", "MXJob");
    let resource = ApiResource::from_gvk_with_plural(&kind, "mxjobs");
    Api::namespaced_with(bench.client.clone(), &bench.namespace, &resource)
}

async fn raw(bench: &Bench, name: &str) -> Result<DynamicObject> {
    let (jobs, what) = (jobs(bench), format!("{name} to be judged"));
    e2e::deadline::until(&what, crate::bench::PATIENCE, || async {
        let job = jobs.get(name).await?;
        Ok(Some(job).filter(|job| !job.data["status"]["phase"].is_null()))
    })
    .await
}

async fn apply_raw(bench: &Bench, name: &str, spec: Value) -> Result<()> {
    let object = json!({"apiVersion": "kubeflow.org/v1", "kind": "MXJob", "metadata": {"name": name}, "spec": spec});
    jobs(bench)
        .patch(name, &PatchParams::apply("e2e"), &Patch::Apply(object))
        .await?;
    Ok(())
}
