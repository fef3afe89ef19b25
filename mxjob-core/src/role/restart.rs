//! Restart policies.

/// What happens when a replica fails.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    Hash,
    serde::Serialize,
    serde::Deserialize,
    schemars::JsonSchema,
)]
pub enum RestartPolicy {
    /// The job fails.
    #[default]
    Never,
    /// Restarted in place by the kubelet; replaced when the pod itself fails.
    OnFailure,
    /// As `OnFailure`, and also when it ends well.
    Always,
    /// Replaced when the exit code is retryable, else the job fails.
    ExitCode,
}

impl RestartPolicy {
    /// All four, `Never` first.
    pub const ALL: &'static [Self] = &[Self::Never, Self::OnFailure, Self::Always, Self::ExitCode];

    /// The name as manifests spell it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Never => "Never",
            Self::OnFailure => "OnFailure",
            Self::Always => "Always",
            Self::ExitCode => "ExitCode",
        }
    }

    /// The one of that name that a pod can have.
    pub fn of_pods(name: &str) -> Option<Self> {
        let known = [Self::Never, Self::OnFailure, Self::Always];
        known.into_iter().find(|policy| policy.name() == name)
    }
}
