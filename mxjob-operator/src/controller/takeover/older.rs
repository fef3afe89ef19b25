//! The operators that there were before this one, as Deployments: a table, and what a Deployment
//! says of itself.

use std::fmt;

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Container;
use kube::ResourceExt as _;
use mxjob_core::RoleTable;

/// An operator that there was before this one.
#[derive(Debug)]
pub(super) struct Older {
    /// Name of its Deployment.
    pub(super) name: &'static str,
    /// The definitions whose jobs it can look after.
    definitions: &'static [&'static str],
    /// The flag that names the one namespace that it looks after; `None`: it always looks after all.
    namespace: Option<&'static str>,
    /// How one of several kinds of jobs is chosen; `None`: it has but one.
    choice: Option<Choice>,
}

/// How an operator of several kinds of jobs says whether it looks after these.
#[derive(Debug)]
struct Choice {
    /// The flag that names a kind; without it all are meant.
    flag: &'static str,
    /// The kind, in any letter case.
    kind: &'static str,
    /// The first version, major and minor, that does not know the kind.
    without: (u32, u32),
    /// Parts of the names of images that only such versions have.
    images_without: &'static [&'static str],
}

/// Their manifests gave their Deployments these names.
pub(super) const OLDER: [Older; 3] = [
    Older {
        name: "mx-job-operator",
        definitions: &[
            "mxjobs.kubeflow.org",
            "mxjobs.fioravanzo.org",
            "mxjobs.mxnet.mlkube.io",
        ],
        namespace: None,
        choice: None,
    },
    Older {
        name: "mxnet-operator",
        definitions: &["mxjobs.kubeflow.org"],
        namespace: Some("namespace"),
        choice: None,
    },
    Older {
        name: "training-operator",
        definitions: &["mxjobs.kubeflow.org"],
        namespace: Some("namespace"),
        choice: Some(Choice {
            flag: "enable-scheme",
            kind: "mxjob",
            without: (1, 9),
            images_without: &["/training-v1/"],
        }),
    },
];

/// A Deployment that looks after the jobs that this operator is for, or may do so.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Rival {
    namespace: String,
    name: String,
    ready: i32,
    /// It looks after other kinds of jobs as well, and alone if this flag names just them.
    flag: Option<&'static str>,
    /// The image of which it cannot be told whether it does.
    doubt: Option<String>,
}

impl Older {
    /// Whether it can look after jobs of one of these APIs.
    pub(super) fn is_for(&self, apis: &[&'static RoleTable]) -> bool {
        let name = |api: &RoleTable| format!("{}.{}", api.crd.plural, api.crd.group);
        let mut names = apis.iter().map(|api| name(api));
        names.any(|name| self.definitions.contains(&name.as_str()))
    }

    /// What a Deployment of its name is to this operator of these namespaces, or of all if there are none;
    /// `None`: nothing.
    pub(super) fn rival(&self, deployment: &Deployment, within: &[&str]) -> Option<Rival> {
        let status = deployment.status.as_ref();
        let ready = status.and_then(|status| status.ready_replicas).unwrap_or(0);
        if ready <= 0 || self.is_elsewhere(deployment, within) {
            return None;
        }
        let choice = self.choice.as_ref();
        let doubt = match choice.map(|choice| choice.of(self.container(deployment))) {
            None | Some(Answer::Yes) => None,
            Some(Answer::No) => return None,
            Some(Answer::Perhaps(image)) => Some(image),
        };
        Some(Rival {
            namespace: deployment.namespace().unwrap_or_default(),
            name: self.name.to_owned(),
            ready,
            flag: choice.map(|choice| choice.flag),
            doubt,
        })
    }

    /// It looks after a namespace that is none of these.
    fn is_elsewhere(&self, deployment: &Deployment, within: &[&str]) -> bool {
        let container = self.container(deployment).zip(self.namespace);
        let named = container.map(|(container, flag)| values(container, flag));
        // The last one counts. What a variable stands for is known in the container only.
        let own = named.and_then(|named| named.last().copied());
        let is_other = |own| !within.is_empty() && !within.contains(&own);
        own.is_some_and(|own| !own.is_empty() && !own.contains("$(") && is_other(own))
    }

    /// The container that is the operator: the one of its name, else the first.
    fn container<'a>(&self, deployment: &'a Deployment) -> Option<&'a Container> {
        let pod = deployment.spec.as_ref()?.template.spec.as_ref()?;
        let own = pod.containers.iter().find(|one| one.name == self.name);
        own.or_else(|| pod.containers.first())
    }
}

/// Whether an operator of several kinds of jobs looks after these.
enum Answer {
    Yes,
    No,
    /// Neither its flags nor this image tell.
    Perhaps(String),
}

impl Choice {
    fn of(&self, container: Option<&Container>) -> Answer {
        let Some(container) = container else {
            return Answer::Perhaps(String::new());
        };
        let chosen = values(container, self.flag);
        let image = container.image.as_deref().unwrap_or_default();
        if chosen
            .iter()
            .any(|kind| kind.eq_ignore_ascii_case(self.kind))
        {
            return Answer::Yes;
        }
        // What a variable stands for is known in the container only.
        if chosen.iter().any(|kind| kind.contains("$(")) {
            return Answer::Perhaps(image.to_owned());
        }
        if !chosen.is_empty() || self.images_without.iter().any(|part| image.contains(part)) {
            return Answer::No;
        }
        match version(image) {
            Some(version) if version >= self.without => Answer::No,
            Some(_) => Answer::Yes,
            None => Answer::Perhaps(image.to_owned()),
        }
    }
}

/// What the container's arguments give for that flag.
fn values<'a>(container: &'a Container, wanted: &str) -> Vec<&'a str> {
    let words = container.command.iter().chain(&container.args).flatten();
    let mut words = words.map(String::as_str);
    let mut values = Vec::new();
    while let Some(word) = words.next() {
        // One dash will do where two do.
        let flag = word.strip_prefix('-');
        let flag = flag.map(|word| word.strip_prefix('-').unwrap_or(word));
        match flag.map(|flag| flag.split_once('=').ok_or(flag)) {
            Some(Ok((flag, value))) if flag == wanted => values.push(value),
            Some(Err(flag)) if flag == wanted => values.extend(words.next()),
            _ => {}
        }
    }
    values
}

/// Major and minor version of an image whose tag is one, like `v1.8.1`.
fn version(image: &str) -> Option<(u32, u32)> {
    let name = image.split('@').next()?;
    let (_, tag) = name.rsplit('/').next()?.split_once(':')?;
    let mut parts = tag.strip_prefix('v').unwrap_or(tag).split('.');
    let (major, minor) = (parts.next()?, parts.next()?);
    let digits = minor.split(|one: char| !one.is_ascii_digit()).next()?;
    Some((major.parse().ok()?, digits.parse().ok()?))
}

impl fmt::Display for Rival {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            namespace,
            name,
            ready,
            ..
        } = self;
        write!(
            f,
            "Deployment {name} in namespace {namespace}, ready replicas: {ready}"
        )?;
        if let Some(image) = &self.doubt {
            write!(
                f,
                ", of which neither its flags nor its image {image:?} tell whether it does"
            )?;
        }
        let stop = format!("`kubectl -n {namespace} scale deployment {name} --replicas=0`");
        match self.flag {
            None => write!(f, " (stop it: {stop})"),
            Some(flag) => write!(
                f,
                " (give it --{flag} for its other kinds of jobs alone, or stop it: {stop})"
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use mxjob_core::role::apis;
    use mxjob_core::{MxRole, ReplicaRole as _};
    use serde_json::{Value, json};

    use super::*;

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
        let rival = older(name).rival(&deployment, &[]);
        rival.map(|rival| rival.to_string())
    }

    // contract: 12.30
    #[test]
    fn one_of_its_kind_alone_is_a_rival_while_it_has_ready_replicas() {
        for name in ["mx-job-operator", "mxnet-operator"] {
            let containers =
                json!([{"name": "x", "image": "some/image", "args": ["--enable-scheme=tfjob"]}]);
            let rival = |ready| {
                let rival = older(name).rival(&deployment(name, &ready, &containers), &[]);
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
            let found = older(name).rival(&deployment(name, &json!(1), &containers), &[]);
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
                vec!["mx-job-operator", "mxnet-operator", "training-operator"],
            ),
            ("fioravanzo.org", vec!["mx-job-operator"]),
            ("mxnet.mlkube.io", vec!["mx-job-operator"]),
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
            older(name).rival(&one, within).is_some()
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
}
