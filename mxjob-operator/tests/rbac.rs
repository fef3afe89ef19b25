//! `mxjob rbac`: prints the roles of the operator.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    missing_docs,
    reason = "tests"
)]

mod command;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde_json::Value;

/// The objects that it prints with these arguments.
fn printed(args: &[&str]) -> Vec<Value> {
    let (code, text, errors) = command::mxjob(&[&["rbac"], args].concat(), "");
    assert_eq!((code, errors.as_str()), (0, ""));
    read(&text)
}

fn read(text: &str) -> Vec<Value> {
    let documents = text.split("---\n");
    documents
        .map(|one| serde_saphyr::from_str(one).unwrap())
        .collect()
}

/// Kind, namespace and name of each.
fn names(objects: &[Value]) -> Vec<String> {
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let name = |object: &Value| {
        let meta = &object["metadata"];
        [&object["kind"], &meta["namespace"], &meta["name"]]
            .map(word)
            .join(" ")
    };
    objects.iter().map(name).collect()
}

/// All rules of the roles of that kind, one a line.
fn rules(objects: &[Value], kind: &str) -> BTreeSet<String> {
    let of_kind = objects.iter().filter(|object| object["kind"] == kind);
    let rules = of_kind.flat_map(|role| role["rules"].as_array().unwrap().clone());
    rules.map(|rule| rule.to_string()).collect()
}

// promise: P88
#[test]
fn it_prints_what_the_repository_holds() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let file = root.join("deploy/kustomize/base/rbac.yaml");
    let stored = fs::read_to_string(&file).unwrap();
    assert_eq!(read(&stored), printed(&[]), "`cargo build -p deploy`");
    let older = root.join("deploy/kustomize/older/rbac.yaml");
    let older = read(&fs::read_to_string(older).unwrap());
    let all = printed(&["--api", "kubeflow.org,fioravanzo.org,mxnet.mlkube.io"]);
    assert_eq!(older, all[..1], "`cargo build -p deploy`");
}

#[test]
fn everywhere_or_in_namespaces() {
    let everywhere = [
        "ClusterRole  mxjob-operator",
        "ClusterRoleBinding  mxjob-operator",
        "Role mxjob-system mxjob-operator-own",
        "RoleBinding mxjob-system mxjob-operator-own",
    ];
    assert_eq!(names(&printed(&[])), everywhere);
    assert_eq!(names(&printed(&["--namespace="])), everywhere);

    let two = printed(&["--namespace", "b,a,b", "--own-namespace", "lab"]);
    let wanted = [
        "ClusterRole  mxjob-operator",
        "ClusterRoleBinding  mxjob-operator",
        "Role a mxjob-operator",
        "RoleBinding a mxjob-operator",
        "Role b mxjob-operator",
        "RoleBinding b mxjob-operator",
        "Role lab mxjob-operator-own",
        "RoleBinding lab mxjob-operator-own",
    ];
    assert_eq!(names(&two), wanted);
    let of_cluster: Vec<_> = rules(&two, "ClusterRole").into_iter().collect();
    let definition = r#"{"apiGroups":["apiextensions.k8s.io"],"resources":["customresourcedefinitions"],"resourceNames":["mxjobs.kubeflow.org"],"verbs":["list","patch","watch"]}"#;
    let older = r#"{"apiGroups":["apps"],"resources":["deployments"],"resourceNames":["mx-job-operator","mxnet-operator","training-operator","mxjob-operator"],"verbs":["list"]}"#;
    assert_eq!(of_cluster, [definition, older]);
    let subjects = two
        .iter()
        .filter_map(|object| object["subjects"].as_array());
    for subject in subjects.flatten() {
        let words = [&subject["kind"], &subject["name"], &subject["namespace"]];
        assert_eq!(words, ["ServiceAccount", "mxjob-operator", "lab"]);
    }

    // An older API needs no webhook.
    let older = printed(&["--namespace", "a", "--api", "mxnet.mlkube.io"]);
    let of_cluster: Vec<_> = rules(&older, "ClusterRole").into_iter().collect();
    let older = r#"{"apiGroups":["apps"],"resources":["deployments"],"resourceNames":["mx-job-operator","mxjob-operator"],"verbs":["list"]}"#;
    assert_eq!(of_cluster, [older]);
}

#[test]
fn the_lease_and_the_secret_are_called_as_the_operator_is_told() {
    let own = |args: &[&str]| {
        let objects = printed(args);
        let of_it = |rule: &&String| rule.contains("leases") || rule.contains("secrets");
        let rules = rules(&objects, "Role");
        rules.iter().filter(of_it).cloned().collect::<Vec<_>>()
    };
    let usual = own(&[]);
    assert_eq!(usual.len(), 3, "{usual:?}");
    let named = own(&["--lease-name", "mine", "--webhook-secret", "papers"]);
    let wanted = usual.iter().map(|rule| {
        let lease = rule.replace(r#"["mxjob-operator"]"#, r#"["mine"]"#);
        lease.replace(r#"["mxjob-webhook"]"#, r#"["papers"]"#)
    });
    let wanted: BTreeSet<_> = wanted.collect();
    assert_eq!(BTreeSet::from_iter(named.clone()), wanted);
    assert_ne!(named, usual);
    let read_only = own(&["--webhook-secret-read-only"]);
    let secrets = read_only.iter().filter(|rule| rule.contains("secrets"));
    let secrets: Vec<_> = secrets.collect();
    assert!(
        matches!(*secrets, [rule] if rule.contains(r#""verbs":["list","watch"]"#)),
        "{secrets:?}"
    );
}

#[test]
fn one_alone_needs_no_lease_and_one_that_does_not_convert_no_secret() {
    let speaks_of = |args: &[&str]| {
        let objects = printed(args);
        let text = serde_json::to_string(&objects).unwrap();
        ["leases", "secrets", "customresourcedefinitions"].map(|what| text.contains(what))
    };
    assert_eq!(speaks_of(&["--leader-elect"]), [true, true, true]);
    assert_eq!(speaks_of(&["--leader-elect=false"]), [false, true, true]);
    let nowhere = ["--webhook-bind-address", "0"];
    assert_eq!(speaks_of(&nowhere), [true, false, false]);
    let both = printed(&["--webhook-bind-address=0", "--leader-elect=false"]);
    // Nothing is left for its own namespace.
    assert_eq!(
        names(&both),
        [
            "ClusterRole  mxjob-operator",
            "ClusterRoleBinding  mxjob-operator"
        ]
    );
}

#[test]
fn what_is_not_needed_is_not_asked_for() {
    let all = printed(&[
        "--api",
        "kubeflow.org,fioravanzo.org,mxnet.mlkube.io",
        "--install-crds",
    ]);
    let text = rules(&all, "ClusterRole")
        .into_iter()
        .chain(rules(&all, "Role"));
    let text: Vec<_> = text.collect();
    for rule in &text {
        for word in [
            "\"*\"",
            "deletecollection",
            "escalate",
            "bind",
            "impersonate",
            "nodes",
        ] {
            assert!(!rule.contains(word), "{rule}");
        }
    }
    // Definitions, Deployments, the Lease and the Secret by name.
    for resource in [
        "customresourcedefinitions",
        "deployments",
        "leases",
        "secrets",
    ] {
        let of_it: Vec<_> = text.iter().filter(|rule| rule.contains(resource)).collect();
        let named = of_it.iter().filter(|rule| rule.contains("resourceNames"));
        let made = of_it
            .iter()
            .filter(|rule| rule.contains(r#""verbs":["create"]"#));
        assert_eq!(named.count() + made.count(), of_it.len(), "{of_it:?}");
    }
    // Nothing is known of any other Secret, and of that one in one namespace.
    let secrets: Vec<_> = text
        .iter()
        .filter(|rule| rule.contains("secrets"))
        .collect();
    let wanted = r#"{"apiGroups":[""],"resources":["secrets"],"resourceNames":["mxjob-webhook"],"verbs":["create","list","patch","watch"]}"#;
    assert_eq!(secrets, [wanted]);
    assert!(rules(&all, "Role").contains(wanted));
    let batch = |objects: &[Value]| {
        rules(objects, "ClusterRole")
            .iter()
            .any(|rule| rule.contains("batch"))
    };
    assert!(batch(&all));
    assert!(!batch(&printed(&["--api", "kubeflow.org,fioravanzo.org"])));
    let creates = |objects: &[Value]| {
        let rules = rules(objects, "ClusterRole");
        rules
            .iter()
            .any(|rule| rule.contains("customresourcedefinitions") && rule.contains("create"))
    };
    assert!(creates(&all));
    assert!(!creates(&printed(&[])));
}

#[test]
fn a_wrong_name_is_refused() {
    for args in [
        ["--namespace", "No"],
        ["--own-namespace", "a.b"],
        ["--api", "example.org"],
    ] {
        let (code, _, errors) = command::mxjob(&[["rbac"].as_slice(), &args].concat(), "");
        assert_eq!(code, 2, "{errors}");
        assert!(errors.contains(args[0]), "{errors}");
    }
}
