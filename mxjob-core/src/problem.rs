//! What is wrong or odd with a manifest, and where.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Something wrong or odd at one place of a manifest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problem {
    /// How bad it is.
    pub severity: Severity,
    /// Where: a path like `spec.mxReplicaSpecs.Worker.template.spec.containers[0].image`; empty: the
    /// whole object.
    pub path: String,
    /// What is wrong and what is allowed, in lower case.
    pub message: String,
}

impl Problem {
    /// A mistake that keeps the job from running.
    pub fn error(path: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            severity: Severity::Error,
            path: path.into(),
            message: message.into(),
        }
    }

    /// Something odd that does not keep the job from running.
    pub fn warning(path: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            severity: Severity::Warning,
            path: path.into(),
            message: message.into(),
        }
    }

    /// All of them in one line.
    pub fn in_one_line(problems: &[Self]) -> String {
        let lines: Vec<_> = problems.iter().map(ToString::to_string).collect();
        lines.join("; ")
    }

    /// True for a mistake that keeps the job from running.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.is_empty() {
            out.write_str(&self.message)
        } else {
            write!(out, "{}: {}", self.path, self.message)
        }
    }
}

/// How bad a problem is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The job cannot run.
    Error,
    /// The job can run.
    Warning,
}
