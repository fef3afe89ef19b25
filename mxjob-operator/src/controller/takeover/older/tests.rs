//! Which Deployments count.

use std::sync::LazyLock;

use mxjob_core::role::apis;
use mxjob_core::{MxRole, ReplicaRole as _};
use serde_json::{Value, json};

use super::*;

/// Its lease is in one namespace, its pod in another.
static HOME: LazyLock<Home> = LazyLock::new(|| Home {
    namespace: "home".to_owned(),
    pod: Some("pod".to_owned()),
    in_pod: true,
});

/// An operator for the jobs of `kubeflow.org` in these namespaces.
fn ours<'a>(within: &[&'a str]) -> Ours<'a> {
    Ours {
        within: within.to_vec(),
        groups: vec!["kubeflow.org"],
        home: &HOME,
    }
}

fn older(name: &str) -> &'static Older {
    OLDER.iter().find(|older| older.name == name).unwrap()
}

fn deployment(name: &str, ready: &Value, containers: &Value) -> Deployment {
    let deployment = json!({
        "metadata": {"name": name, "namespace": "kubeflow"},
        "spec": {"selector": {}, "template": {"spec": {"containers": containers}}},
        "status": {"readyReplicas": ready},
    });
    serde_json::from_value(deployment).unwrap()
}

/// What is said of one whose container has that image and these arguments.
fn said(name: &str, image: &str, args: &[&str]) -> Option<String> {
    let container = json!([{"name": name, "image": image, "args": args}]);
    let deployment = deployment(name, &json!(1), &container);
    let rival = older(name).rival(&deployment, &ours(&[]));
    rival.map(|rival| rival.to_string())
}

// contract: 12.30
#[test]
fn one_of_its_kind_alone_is_a_rival_while_it_has_ready_replicas() {
    for name in ["mx-job-operator", "mxnet-operator"] {
        let containers =
            json!([{"name": "x", "image": "some/image", "args": ["--enable-scheme=tfjob"]}]);
        let rival = |ready| {
            let rival = older(name).rival(&deployment(name, &ready, &containers), &ours(&[]));
            rival.map(|rival| rival.to_string())
        };
        assert_eq!(rival(json!(0)), None);
        assert_eq!(rival(Value::Null), None);
        let wanted = format!(
            "Deployment {name} in namespace kubeflow, ready replicas: 2 (stop it: \
             `kubectl -n kubeflow scale deployment {name} --replicas=0`)"
        );
        assert_eq!(rival(json!(2)), Some(wanted));
    }
}

// contract: 12.31
#[test]
fn one_of_several_kinds_is_a_rival_unless_its_flags_or_its_version_say_otherwise() {
    const YES: &str = "yes";
    const NO: &str = "no";
    const PERHAPS: &str = "perhaps";
    let old = "kubeflow/training-operator:v1.8.1";
    let unknown = "kubeflow/training-operator:v1-5170a36";
    for (image, args, wanted) in [
        (old, [].as_slice(), YES),
        (old, &["--leader-elect"], YES),
        (old, &["--enable-scheme=tfjob"], NO),
        (old, &["--enable-scheme", "tfjob"], NO),
        (old, &["-enable-scheme=tfjob"], NO),
        (old, &["--enable-scheme=MXJob"], YES),
        (
            old,
            &["--enable-scheme=tfjob", "--enable-scheme", "mxjob"],
            YES,
        ),
        (old, &["--enable-scheme=$(KIND)"], PERHAPS),
        (old, &["--enable-scheme-of-another=tfjob"], YES),
        (unknown, &["--enable-scheme=tfjob"], NO),
        (unknown, &["--enable-scheme=mxjob"], YES),
        (unknown, &[], PERHAPS),
        ("kubeflow/training-operator", &[], PERHAPS),
        ("kubeflow/training-operator:latest", &[], PERHAPS),
        ("kubeflow/training-operator@sha256:0123", &[], PERHAPS),
        ("host:5000/training-operator", &[], PERHAPS),
        ("host:5000/training-operator:v1.7.0", &[], YES),
        ("kubeflow/training-operator:v1.8.0-rc.0", &[], YES),
        ("kubeflow/training-operator:1.8-mine@sha256:0123", &[], YES),
        ("kubeflow/training-operator:v1.9.0-rc.0", &[], NO),
        ("kubeflow/training-operator:v1.9.3", &[], NO),
        ("kubeflow/training-operator:v1.10.0", &[], NO),
        ("kubeflow/training-operator:v2.0.0", &[], NO),
        (
            "ghcr.io/kubeflow/training-v1/training-operator:v1-3f15cb8",
            &[],
            NO,
        ),
    ] {
        let said = said("training-operator", image, args);
        let found = match &said {
            None => NO,
            Some(said) if said.contains("tell whether it does") => PERHAPS,
            Some(_) => YES,
        };
        assert_eq!(found, wanted, "{image} {args:?}: {said:?}");
    }
}

// contract: 12.31
#[test]
fn what_cannot_be_told_is_said_with_what_to_do() {
    let image = "kubeflow/training-operator:v1-5170a36";
    let wanted = format!(
        "Deployment training-operator in namespace kubeflow, ready replicas: 1, of which neither its flags nor \
         its image \"{image}\" tell whether it does (give it --enable-scheme for its other kinds of jobs \
         alone, or stop it: `kubectl -n kubeflow scale deployment training-operator --replicas=0`)"
    );
    assert_eq!(said("training-operator", image, &[]), Some(wanted));
}

#[test]
fn the_container_of_its_name_is_the_operator_and_its_command_counts() {
    let name = "training-operator";
    let own = json!({
        "name": name, "image": "x:v1.8.0", "command": ["/manager", "--enable-scheme=tfjob"],
    });
    let side = json!({"name": "side", "image": "y:v1.8.0", "args": ["--enable-scheme=mxjob"]});
    for (containers, is_one) in [
        (json!([side, own]), false),
        (json!([own, side]), false),
        (json!([side]), true),
        (json!([]), true),
    ] {
        let found = older(name).rival(&deployment(name, &json!(1), &containers), &ours(&[]));
        assert_eq!(found.is_some(), is_one, "{containers}");
    }
}

// contract: 12.30
#[test]
fn only_those_that_can_look_after_jobs_of_an_api_that_is_asked_for_count() {
    let all: Vec<_> = apis::<MxRole>().collect();
    for (group, wanted) in [
        (
            "kubeflow.org",
            vec![
                "mx-job-operator",
                "mxnet-operator",
                "training-operator",
                "mxjob-operator",
            ],
        ),
        ("fioravanzo.org", vec!["mx-job-operator", "mxjob-operator"]),
        ("mxnet.mlkube.io", vec!["mx-job-operator", "mxjob-operator"]),
    ] {
        let apis: Vec<_> = all
            .iter()
            .filter(|api| api.crd.group == group)
            .copied()
            .collect();
        let found = OLDER.iter().filter(|older| older.is_for(&apis));
        assert_eq!(
            found.map(|older| older.name).collect::<Vec<_>>(),
            wanted,
            "{group}"
        );
    }
    // A resource of another name in a group of theirs.
    let mut other = *MxRole::TABLE;
    other.crd.plural = "renderjobs";
    let other: &'static RoleTable = Box::leak(Box::new(other));
    assert!(!OLDER.iter().any(|older| older.is_for(&[other])));
}

// contract: 12.30
#[test]
fn one_that_looks_after_another_namespace_is_none() {
    let found = |name: &str, args: &[&str], within: &[&str]| {
        let container = json!([{"name": name, "image": "x:v1.8.0", "args": args}]);
        let one = deployment(name, &json!(1), &container);
        older(name).rival(&one, &ours(within)).is_some()
    };
    for name in ["mxnet-operator", "training-operator"] {
        let found = |args: &[&str], within: &[&str]| found(name, args, within);
        assert!(found(&[], &["lab"]) && found(&["--namespace=lab"], &["lab"]));
        assert!(!found(&["-namespace", "other"], &["lab", "more"]));
        assert!(found(&["--namespace=other"], &[]) && found(&["--namespace="], &["lab"]));
        assert!(found(&["--namespace=$(WHERE)"], &["lab"]));
    }
    assert!(found("mx-job-operator", &["--namespace=other"], &["lab"]));
}

// contract: 12.30
#[test]
fn another_installation_is_a_rival_if_it_is_elsewhere_and_for_the_same_jobs() {
    let found = |namespace: &str, args: &[&str], env: Value| {
        let sidecar = json!({"name": "proxy", "image": "y", "args": ["--namespace=third"]});
        let operator = json!({"name": "operator", "image": "x", "args": args, "env": env});
        let mut one = deployment("mxjob-operator", &json!(1), &json!([sidecar, operator]));
        one.metadata.namespace = Some(namespace.to_owned());
        older("mxjob-operator").rival(&one, &ours(&["lab", "more"]))
    };
    let none = json!([]);
    let wanted = "Deployment mxjob-operator in namespace away, ready replicas: 1 (give each namespaces of its own with \
         --namespace, or this one the other's lease with --own-namespace, or stop it: `kubectl -n away scale deployment \
         mxjob-operator --replicas=0`)";
    let rival = found("away", &[], none.clone()).unwrap();
    assert_eq!(rival.to_string(), wanted);
    // Others of the same installation: its lease, or its pod, is where ours is.
    for (namespace, args) in [
        ("home", [].as_slice()),
        ("pod", &[]),
        ("pod", &["--own-namespace=third"]),
        ("away", &["--own-namespace=home"]),
    ] {
        assert_eq!(
            found(namespace, args, none.clone()),
            None,
            "{namespace} {args:?}"
        );
    }
    for (args, is_one) in [
        (["--namespace=other,third", "--api=kubeflow.org"], false),
        (["--namespace=other,lab", "--api=kubeflow.org"], true),
        (["--namespace=lab", "--namespace=third"], true),
        (["--namespace=third", "--namespace=other"], false),
        (["--namespace=", "--api=kubeflow.org"], true),
        (["--namespace=lab", "--api=fioravanzo.org"], false),
        (
            ["--namespace=lab", "--api=fioravanzo.org,kubeflow.org"],
            true,
        ),
        (["--namespace=lab", "--api=$(APIS)"], true),
    ] {
        assert_eq!(
            found("away", &args, none.clone()).is_some(),
            is_one,
            "{args:?}"
        );
    }
    let field = json!({"fieldRef": {"fieldPath": "metadata.namespace"}});
    for (env, is_one) in [
        (json!({"name": "MXJOB_NAMESPACE", "value": "third"}), false),
        (json!({"name": "MXJOB_NAMESPACE", "value": "lab"}), true),
        (json!({"name": "MXJOB_NAMESPACE", "valueFrom": field}), true),
        (
            json!({"name": "MXJOB_API", "value": "fioravanzo.org"}),
            false,
        ),
        (
            json!({"name": "MXJOB_OWN_NAMESPACE", "value": "home"}),
            false,
        ),
    ] {
        assert_eq!(found("away", &[], json!([env])).is_some(), is_one, "{env}");
    }
    // A flag goes before its variable.
    let variable = json!([{"name": "MXJOB_NAMESPACE", "value": "third"}]);
    assert!(found("away", &["--namespace", "lab"], variable).is_some());
}
