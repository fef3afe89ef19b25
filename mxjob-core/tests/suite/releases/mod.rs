//! What each release has written is read by today's code, and disturbs nothing; what today's code may
//! write, the newest release knows.

mod fields;
mod stored;

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::{ConfigMap, Pod, Service};
use mxjob_core::api::Version;
use mxjob_core::plan::{Action, ConfigMapView, Observed, Plan, PodView, ServiceView, plan};
use mxjob_core::wiring::{Addresses, Wiring, names};
use mxjob_core::{Job, MXJob, MxRole, ReplicaRole, schema};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::versions::{TABLE, to};
use stored::{Moment, jobs, lines, releases};

fn again<T: DeserializeOwned + Serialize>(object: &Value) -> Value {
    let read: T = serde_json::from_value(object.clone()).unwrap();
    json!(read)
}

// contract: 12.46
#[test]
fn every_version_has_its_folder() {
    let newest = releases().pop().unwrap();
    assert!(
        newest.ends_with(env!("CARGO_PKG_VERSION")),
        "{}: see the README.md beside it",
        newest.display()
    );
    assert!(jobs().len() >= 13);
}

/// An amount may be written as a number: it is read as a text of the same meaning.
fn with_amounts_as_texts(mut value: Value) -> Value {
    fn walk(value: &mut Value) {
        if let Some(fields) = value.as_object_mut() {
            for (key, field) in fields.iter_mut() {
                for amount in field.as_object_mut().into_iter().flatten() {
                    if matches!(key.as_str(), "limits" | "requests") && amount.1.is_number() {
                        *amount.1 = json!(amount.1.to_string());
                    }
                }
                walk(field);
            }
        }
        value.as_array_mut().into_iter().flatten().for_each(walk);
    }
    walk(&mut value);
    value
}

// contract: 12.46
#[test]
fn every_object_is_read_without_a_field_lost() {
    for moment in jobs() {
        let what = &moment.name;
        let job = moment.job();
        let typed = again::<MXJob<MxRole>>(job);
        assert_eq!(typed, with_amounts_as_texts(job.clone()), "{what}");
        let read = Job::read(TABLE, job);
        assert_eq!(json!(read.status), job["status"], "{what}");
        assert_eq!(read.spec.is_err(), what.ends_with("/refused"), "{what}");
        for older in [Version::V1Alpha1, Version::V1Beta1] {
            let back = to(Version::V1, &to(older, job));
            assert_eq!(back, *job, "{what} by {older}");
        }
        for pod in moment.of_kind("Pod") {
            assert_eq!(again::<Pod>(pod), *pod, "{what}");
        }
        for service in moment.of_kind("Service") {
            assert_eq!(again::<Service>(service), *service, "{what}");
        }
        for config_map in moment.of_kind("ConfigMap") {
            assert_eq!(again::<ConfigMap>(config_map), *config_map, "{what}");
        }
    }
}

// contract: 12.46
#[test]
fn older_versions_show_it_as_they_did() {
    let mut seen = 0;
    for moment in jobs() {
        for view in moment.views() {
            let version = view["apiVersion"].as_str().unwrap();
            let older = [Version::V1Alpha1, Version::V1Beta1];
            let older = older.into_iter().find(|one| version.ends_with(one.name()));
            let shown = to(older.unwrap(), moment.job());
            assert_eq!(shown, *view, "{} at {version}", moment.name);
            seen += 1;
        }
    }
    assert!(seen >= 6);
}

/// What the planner wants of that world at that time.
fn planned(moment: &Moment, job: &Value, now: Timestamp) -> Plan {
    let job = Job::read(TABLE, job);
    let pods = moment.typed::<Pod>("Pod");
    let pods: Vec<_> = pods.iter().map(|pod| PodView::of(pod, TABLE)).collect();
    let services = moment.typed::<Service>("Service");
    let services: Vec<_> = services
        .iter()
        .map(|one| ServiceView::of(one, TABLE))
        .collect();
    let config_maps = moment.typed::<ConfigMap>("ConfigMap");
    let config_maps: Vec<_> = config_maps.iter().map(ConfigMapView::of).collect();
    let observed = Observed {
        job: &job,
        pods: &pods,
        services: &services,
        config_maps: &config_maps,
    };
    plan(&observed, now)
}

/// Nothing is done, but that a job which has not got its pods goes on asking for them.
fn is_at_rest(moment: &Moment, plan: &Plan) -> bool {
    let waits = moment.job()["status"]["phase"] == "Created" && moment.of_kind("Pod").count() == 0;
    let asks = |action: &Action| matches!(action, Action::CreatePod(..));
    plan.actions.iter().all(|action| waits && asks(action))
}

// contract: 12.46
#[test]
fn an_upgrade_disturbs_no_job() {
    for moment in jobs() {
        let (what, job) = (&moment.name, moment.job());
        let then = moment.time();
        let plan = planned(&moment, job, then);
        assert!(is_at_rest(&moment, &plan), "{what}: {:#?}", plan.actions);
        assert_eq!(plan.status, None, "{what}");
        assert_eq!(plan.events, [], "{what}");
        // However long nobody has looked.
        let later = then.checked_add(SignedDuration::from_hours(30)).unwrap();
        let plan = planned(&moment, job, later);
        assert!(is_at_rest(&moment, &plan), "{what}: {:#?}", plan.actions);
    }
}

/// What a replica must have in common with those that run.
fn of_pod(pod: &Pod) -> Value {
    let spec = pod.spec.as_ref().unwrap();
    let containers: Vec<_> = spec
        .containers
        .iter()
        .map(|one| json!({"name": one.name, "env": one.env, "ports": one.ports}))
        .collect();
    let mut containers = json!(containers);
    for port in containers
        .as_array_mut()
        .unwrap()
        .iter_mut()
        .filter_map(|one| one["ports"].as_array_mut())
        .flatten()
    {
        // The server's default.
        port["protocol"] = json!("TCP");
    }
    json!({
        "name": pod.metadata.name, "labels": pod.metadata.labels, "annotations": pod.metadata.annotations,
        "hostname": spec.hostname, "subdomain": spec.subdomain, "restartPolicy": spec.restart_policy,
        "containers": containers,
    })
}

fn of_service(service: &Service) -> Value {
    let spec = service.spec.as_ref().unwrap();
    let ports = spec.ports.iter().flatten();
    let ports: Vec<_> = ports.map(|one| (&one.name, one.port)).collect();
    json!({
        "name": service.metadata.name, "labels": service.metadata.labels, "selector": spec.selector,
        "ip": spec.cluster_ip, "early": spec.publish_not_ready_addresses, "ports": ports,
    })
}

// contract: 12.46
#[test]
fn what_is_made_anew_fits_what_runs() {
    for moment in jobs() {
        let job = Job::read(TABLE, moment.job());
        let Ok(spec) = &job.spec else { continue };
        let wiring = Wiring::new(&job, spec, Addresses::Cluster);
        for stored in moment.typed::<Pod>("Pod") {
            let view = PodView::of(&stored, TABLE);
            assert!(view.labelled && view.claimed, "{}", view.name);
            let replica = names::parse(&job, &view.name).unwrap();
            let pod = wiring.pod(replica, view.attempt).unwrap();
            assert_eq!(of_pod(&pod), of_pod(&stored), "{}", moment.name);
        }
        let one = wiring.job_service();
        for stored in moment.typed::<Service>("Service") {
            let name = stored.metadata.name.as_deref().unwrap();
            let replica = names::parse(&job, name).and_then(|one| wiring.service(one));
            let service = replica.as_ref().unwrap_or(&one);
            assert_eq!(of_service(service), of_service(&stored), "{}", moment.name);
        }
        for stored in moment.typed::<ConfigMap>("ConfigMap") {
            let made = wiring.config_map().unwrap();
            assert_eq!(made.data, stored.data, "{}", moment.name);
            assert_eq!(made.metadata.labels, stored.metadata.labels);
            assert_eq!(made.metadata.annotations, stored.metadata.annotations);
        }
    }
}

// contract: 12.46
#[test]
fn no_field_of_a_status_is_new_but_what_is_told() {
    let newest = releases().pop().unwrap();
    let known = lines(&newest.join("fields.txt"));
    let next = lines(&newest.with_file_name("next.txt"));
    let definition = json!(schema::crd(MxRole::TABLE));
    let status = fields::of_status(&definition);
    assert!(status.contains("MXJob status.replicaStatuses.*.endedAt"));
    let new: BTreeSet<_> = status.difference(&known).cloned().collect();
    let untold: Vec<_> = new.difference(&next).collect();
    assert!(
        untold.is_empty(),
        "{untold:#?}: see the README.md of the releases"
    );
    let told = next.iter().filter(|field| known.contains(*field)).count();
    assert_eq!(told, 0, "next.txt has what {} has", newest.display());
}

// contract: 12.46
#[test]
fn what_is_made_has_no_field_that_is_new_but_what_is_told() {
    let newest = releases().pop().unwrap();
    let mut known = lines(&newest.join("fields.txt"));
    known.extend(lines(&newest.with_file_name("next.txt")));
    for moment in jobs() {
        let job = Job::read(TABLE, moment.job());
        let Ok(spec) = &job.spec else { continue };
        let wiring = Wiring::new(&job, spec, Addresses::Cluster);
        let pods = wiring.pods().map(|pod| json!(pod));
        let services = wiring.services().into_iter().map(|one| json!(one));
        let config_map = wiring.config_map().map(|one| json!(one));
        for object in pods.chain(services).chain(config_map) {
            let made = fields::of(&object);
            assert!(!made.is_empty());
            let new: Vec<_> = made.difference(&known).collect();
            assert!(
                new.is_empty(),
                "{new:#?}: see the README.md of the releases"
            );
        }
    }
}

/// As a later release may write it; today's code stands for the one before that.
fn of_a_later_release(mut job: Value) -> Value {
    job["metadata"]["annotations"]["mxjob.kubeflow.org/later"] = json!("1");
    let status = &mut job["status"];
    status["later"] = json!({"more": [1]});
    for condition in status["conditions"].as_array_mut().into_iter().flatten() {
        condition["later"] = json!(1);
    }
    if let Some(roles) = status["replicaStatuses"].as_object_mut() {
        for (_, role) in roles {
            role["later"] = json!({"0": 1});
        }
    }
    job
}

// contract: 12.46
#[test]
fn what_a_later_release_has_added_is_read_past() {
    for moment in jobs() {
        let (what, job) = (&moment.name, moment.job());
        let later = of_a_later_release(job.clone());
        let read = Job::read(TABLE, &later);
        assert_eq!(json!(read.status), job["status"], "{what}");
        let plan = planned(&moment, &later, moment.time());
        assert!(is_at_rest(&moment, &plan), "{what}: {:#?}", plan.actions);
        assert_eq!(plan.status, None, "{what}");
        // By an older version it is not lost.
        for older in [Version::V1Alpha1, Version::V1Beta1] {
            let back = to(Version::V1, &to(older, &later));
            assert_eq!(back, later, "{what} by {older}");
        }
    }
}
