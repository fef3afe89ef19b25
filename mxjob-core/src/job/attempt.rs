//! Which life of its job and of its replica a pod belongs to.

/// Which life of the job (whole-job restarts) and of the replica (replacements) a pod belongs to,
/// written on every pod as annotation [`Attempt::ANNOTATION`]. It makes counting restarts
/// idempotent: a failed pod of an attempt that status has already counted is never counted again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Attempt {
    /// Whole-job restarts before this pod.
    pub job: i32,
    /// Replacements of this replica before this pod.
    pub replica: i32,
}

impl Attempt {
    /// Annotation with `<job>.<replica>`.
    pub const ANNOTATION: &'static str = "mxjob.kubeflow.org/attempt";

    /// The annotation's value.
    pub fn render(self) -> String {
        format!("{}.{}", self.job, self.replica)
    }

    /// Reads the annotation's value; anything else is the first attempt.
    pub fn parse(text: &str) -> Self {
        let parsed = text.split_once('.').and_then(|(job, replica)| {
            Some(Self {
                job: job.parse().ok()?,
                replica: replica.parse().ok()?,
            })
        });
        parsed.unwrap_or_default()
    }
}
