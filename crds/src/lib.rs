//! The CustomResourceDefinitions of this project as text: the files of this folder, which its build
//! script keeps as the role table says.

/// The CustomResourceDefinition of MXJob, `kubeflow.org_mxjobs.yaml`.
pub const MXJOB: &str = include_str!("../kubeflow.org_mxjobs.yaml");

/// That of the older group `fioravanzo.org`, `fioravanzo.org_mxjobs.yaml`.
pub const FIORAVANZO: &str = include_str!("../fioravanzo.org_mxjobs.yaml");

/// That of the oldest group `mxnet.mlkube.io`, `mxnet.mlkube.io_mxjobs.yaml`.
pub const MLKUBE: &str = include_str!("../mxnet.mlkube.io_mxjobs.yaml");
