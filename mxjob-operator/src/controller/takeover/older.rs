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
mod tests;
