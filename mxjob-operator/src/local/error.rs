//! Why a run did not begin.

use std::io;

use mxjob_core::problem::Problem;

use super::program::ProgramError;
use super::python::PythonError;

/// Why a run did not begin: nothing was started. Exit code 2.
#[derive(Debug, thiserror::Error)]
pub(super) enum RunError {
    /// The job breaks a rule.
    #[error("job {name} is not valid: {}", Problem::in_one_line(problems))]
    Invalid {
        /// The job.
        name: String,
        /// What is wrong.
        problems: Vec<Problem>,
    },
    /// The job asks not to be run for now.
    #[error("job {0} is suspended: set spec.runPolicy.suspend to false to run it")]
    Suspended(String),
    /// The job is another controller's.
    #[error("job {0} is managed by another controller: remove spec.runPolicy.managedBy to run it")]
    ManagedElsewhere(String),
    /// A replica's command cannot be run here.
    #[error("{replica}: {source}")]
    Program {
        /// The replica, or the role when it is the same for all of its replicas.
        replica: String,
        /// Why not.
        source: ProgramError,
    },
    /// There is no Python for it.
    #[error(transparent)]
    Python(#[from] PythonError),
    /// All ports are taken.
    #[error("not enough free ports on 127.0.0.1 for {0} replicas: stop what uses them")]
    NoPorts(u32),
    /// The system does not let mxjob do what it must.
    #[error("cannot {what}: {source}")]
    System {
        /// What it was about to do.
        what: &'static str,
        /// What the system says.
        source: io::Error,
    },
}

impl RunError {
    /// For `map_err`: the system did not let mxjob do `what`.
    pub(super) fn system(what: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::System { what, source }
    }
}
