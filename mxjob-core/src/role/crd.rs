//! The custom resource that a role set makes: its names, and what its older versions say that the
//! roles' declarations do not. Part of the role table.

use super::Env;

/// The names of a custom resource, which is stored at `v1` unless it says otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Crd {
    /// API group, like `kubeflow.org`.
    pub group: &'static str,
    /// Kind, like `MXJob`.
    pub kind: &'static str,
    /// Plural for URLs, like `mxjobs`.
    pub plural: &'static str,
    /// Singular, like `mxjob`.
    pub singular: &'static str,
    /// Short names for kubectl, like `mxj`.
    pub short_names: &'static [&'static str],
    /// Its versions before `v1`; `None`: there are none.
    pub legacy: Option<&'static Legacy>,
    /// Name of the one version of a resource that is served and stored as a list of roles, as
    /// [`Legacy`] says; `None`: it is stored at `v1`.
    pub alone: Option<&'static str>,
}

impl Crd {
    /// The custom resource of this project.
    pub const MXJOB: Self = Self {
        legacy: Some(&Legacy::MXJOB),
        ..Self::new("kubeflow.org", "MXJob", "mxjobs", "mxjob", &["mxj"])
    };

    /// The custom resource that jobs of an older group have.
    pub const FIORAVANZO: Self = Self {
        legacy: Some(&Legacy::FIORAVANZO),
        alone: Some("v1alpha1"),
        ..Self::new("fioravanzo.org", "MXJob", "mxjobs", "mxjob", &[])
    };

    /// The custom resource that jobs of the oldest group have.
    pub const MLKUBE: Self = Self {
        legacy: Some(&Legacy::MLKUBE),
        alone: Some("v1beta1"),
        ..Self::new("mxnet.mlkube.io", "MxJob", "mxjobs", "mxjob", &[])
    };

    /// A custom resource of these names.
    pub const fn new(
        group: &'static str,
        kind: &'static str,
        plural: &'static str,
        singular: &'static str,
        short_names: &'static [&'static str],
    ) -> Self {
        Self {
            group,
            kind,
            plural,
            singular,
            short_names,
            legacy: None,
            alone: None,
        }
    }

    /// Why a job that is not valid has failed: the reason in its status.
    pub fn invalid_reason(&self) -> String {
        format!("FailedInvalid{}Spec", self.kind)
    }
}

/// The older versions of a custom resource. What is said of v1alpha1 is so of a resource that has no
/// other version, whatever that is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Legacy {
    /// Exit codes that v1beta1 and v1alpha1 retry, where v1 has `runPolicy.retryableExitCodes`.
    pub retryable_exit_codes: &'static [&'static str],
    /// The mode that every v1alpha1 job runs in.
    pub mode: &'static str,
    /// The role of a v1alpha1 entry that names none.
    pub entry: &'static str,
    /// The chief of a local v1alpha1 job.
    pub worker: &'static str,
    /// The chief of a v1alpha1 job that names none.
    pub chief: &'static str,
    /// The image of a v1alpha1 container that names none.
    pub image: &'static str,
    /// What v1alpha1 calls the port of an entry.
    pub port_field: &'static str,
    /// What its first operator called the role of an entry when that was none.
    pub role_words: &'static str,
    /// What it said of the container that a replica lacks, before that container's name.
    pub container_words: &'static str,
    /// What the status of v1alpha1 calls the role of an entry.
    pub status_role: &'static str,
    /// Whether a v1alpha1 job must say its mode.
    pub job_mode: JobMode,
    /// What each replica of a v1alpha1 job is.
    pub children: Children,
    /// Fields of a v1alpha1 spec that this resource does not have.
    pub absent: &'static [&'static str],
    /// Fields of a v1alpha1 status that it does not have.
    pub absent_status: &'static [&'static str],
    /// Which pods of a v1alpha1 job go in the end when it does not say.
    pub clean: &'static str,
    /// Environment of a v1alpha1 job, where its mode has one.
    pub env: &'static [Env],
    /// Labels of the pods and services of a v1alpha1 job, beside those of every job.
    pub labels: &'static [(&'static str, LabelValue)],
    /// Reasons of a container that ended in a v1alpha1 job for good, whatever its exit code.
    pub permanent_reasons: &'static [&'static str],
}

/// Whether a v1alpha1 job must say its mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum JobMode {
    /// Its roles tell.
    Guessed,
    /// It must, and have an entry of each role of that mode.
    Needed,
}

/// What each replica of a job is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Children {
    /// A pod.
    #[default]
    Pods,
    /// A `batch/v1` Job that completes once.
    Jobs,
}

impl Children {
    /// Its kind.
    pub const fn kind(self) -> &'static str {
        match self {
            Self::Pods => "Pod",
            Self::Jobs => "Job",
        }
    }

    /// What one is called.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Pods => "pod",
            Self::Jobs => "job",
        }
    }
}

/// What a label says of a replica's pod or service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LabelValue {
    /// This.
    Text(&'static str),
    /// The job's name.
    Job,
    /// Its runtime id.
    Run,
    /// The role, in capitals.
    Role,
    /// The index.
    Index,
}

impl Legacy {
    /// The label that everything of this resource's replicas has, and of its first operator's.
    pub fn mark(&self) -> Option<&'static str> {
        let mut marks = self.labels.iter();
        marks.find_map(|(key, value)| (*value == LabelValue::Text("")).then_some(*key))
    }
}
