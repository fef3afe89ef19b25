//! The operators that there were before this one, and this one in another place, as Deployments: a table, and
//! what a Deployment says of itself.

use std::fmt;

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Container;
use kube::ResourceExt as _;
use mxjob_core::RoleTable;

use crate::controller::home::Home;

/// An operator that there was before this one, or this one.
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
    /// It is this program.
    is_own: bool,
}

/// What this operator looks after, and where it is.
#[derive(Clone, Debug)]
pub(super) struct Ours<'a> {
    /// Empty: all namespaces.
    pub(super) within: Vec<&'a str>,
    pub(super) groups: Vec<&'static str>,
    pub(super) home: &'a Home,
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
pub(super) const OLDER: [Older; 4] = [
    Older {
        name: "mx-job-operator",
        definitions: &[
            "mxjobs.kubeflow.org",
            "mxjobs.fioravanzo.org",
            "mxjobs.mxnet.mlkube.io",
        ],
        namespace: None,
        choice: None,
        is_own: false,
    },
    Older {
        name: "mxnet-operator",
        definitions: &["mxjobs.kubeflow.org"],
        namespace: Some("namespace"),
        choice: None,
        is_own: false,
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
        is_own: false,
    },
    Older {
        name: "mxjob-operator",
        definitions: &[
            "mxjobs.kubeflow.org",
            "mxjobs.fioravanzo.org",
            "mxjobs.mxnet.mlkube.io",
        ],
        namespace: None,
        choice: None,
        is_own: true,
    },
];

/// Of this operator, unless it is told.
const DEFAULT_GROUP: &str = "kubeflow.org";
/// What its manifests call the container of this operator.
const OWN_CONTAINER: &str = "operator";

/// A Deployment that looks after the jobs that this operator is for, or may do so.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Rival {
    namespace: String,
    name: String,
    ready: i32,
    /// What can be done but to stop it.
    advice: Option<String>,
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

    /// What a Deployment of its name is to this operator; `None`: nothing.
    pub(super) fn rival(&self, deployment: &Deployment, ours: &Ours<'_>) -> Option<Rival> {
        let status = deployment.status.as_ref();
        let ready = status.and_then(|status| status.ready_replicas).unwrap_or(0);
        let is_apart = if self.is_own {
            self.is_apart(deployment, ours)
        } else {
            self.is_elsewhere(deployment, ours)
        };
        if ready <= 0 || is_apart {
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
            advice: self.advice(),
            doubt,
        })
    }

    /// The name of its Deployment, and where that is another's.
    pub(super) fn called(&self) -> String {
        let elsewhere = if self.is_own {
            " of another namespace"
        } else {
            ""
        };
        format!("{}{elsewhere}", self.name)
    }

    fn advice(&self) -> Option<String> {
        if self.is_own {
            let both = "give each namespaces of its own with --namespace, or this one the other's lease with --own-namespace";
            return Some(both.to_owned());
        }
        let flag = self.choice.as_ref()?.flag;
        Some(format!(
            "give it --{flag} for its other kinds of jobs alone"
        ))
    }

    /// It is this installation, or has other namespaces or groups.
    fn is_apart(&self, deployment: &Deployment, ours: &Ours<'_>) -> bool {
        let container = self.container(deployment);
        let told = |flag| container.map(|one| told(one, flag)).unwrap_or_default();
        let there = deployment.namespace();
        let lease = told("own-namespace").pop().or_else(|| there.clone());
        if lease.as_ref() == Some(&ours.home.namespace) || there == ours.home.pod {
            return true;
        }
        let unknown = |given: &String| given.contains("$(");
        let namespaces = told("namespace");
        let is_there = |one: &String| unknown(one) || ours.within.contains(&one.as_str());
        let everywhere = ours.within.is_empty() || namespaces.is_empty();
        let mut groups = told("api");
        if groups.is_empty() {
            groups.push(DEFAULT_GROUP.to_owned());
        }
        let is_one = |one: &String| unknown(one) || ours.groups.contains(&one.as_str());
        !(everywhere || namespaces.iter().any(is_there)) || !groups.iter().any(is_one)
    }

    /// It looks after a namespace that is none of ours.
    fn is_elsewhere(&self, deployment: &Deployment, ours: &Ours<'_>) -> bool {
        let container = self.container(deployment).zip(self.namespace);
        let named = container.map(|(container, flag)| values(container, flag));
        // The last one counts. What a variable stands for is known in the container only.
        let own = named.and_then(|named| named.last().copied());
        let is_other = |own| !ours.within.is_empty() && !ours.within.contains(&own);
        own.is_some_and(|own| !own.is_empty() && !own.contains("$(") && is_other(own))
    }

    /// The container that is the operator: the one of that name, else the first.
    fn container<'a>(&self, deployment: &'a Deployment) -> Option<&'a Container> {
        let pod = deployment.spec.as_ref()?.template.spec.as_ref()?;
        let name = if self.is_own {
            OWN_CONTAINER
        } else {
            self.name
        };
        let own = pod.containers.iter().find(|one| one.name == name);
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

/// What a container of this operator is told by that flag or, without it, by its variable.
fn told(container: &Container, flag: &str) -> Vec<String> {
    let variable = format!("MXJOB_{}", flag.to_uppercase().replace('-', "_"));
    let mut set = container.env.iter().flatten();
    let set = set.find(|one| one.name == variable);
    // What a variable stands for elsewhere is known in the container only.
    let set = set.map(|one| one.value.as_deref().unwrap_or("$()"));
    let mut given = values(container, flag);
    if given.is_empty() {
        given.extend(set);
    }
    let all = given.iter().flat_map(|given| given.split(','));
    all.filter(|one| !one.is_empty())
        .map(str::to_owned)
        .collect()
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
        match &self.advice {
            None => write!(f, " (stop it: {stop})"),
            Some(advice) => write!(f, " ({advice}, or stop it: {stop})"),
        }
    }
}

#[cfg(test)]
mod tests;
