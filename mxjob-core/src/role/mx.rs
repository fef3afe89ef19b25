//! The MXNet role set: parameter-server training and TVM tuning, and how its older resources speak of it.

use super::{Children, Env, JobMode, LabelValue, Legacy, Source};
use crate::ReplicaRole;

/// The replica roles of an MXNet job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, ReplicaRole)]
#[roles(
    container = "mxnet",
    port(name = "mxjob-port", number = 9091),
    config_env = "MX_CONFIG",
    mode(MXTrain, chief = [Scheduler, Worker], workers = [Worker], fixed_membership, env(
        DMLC_PS_ROOT_PORT = port(Scheduler),
        DMLC_PS_ROOT_URI = host(Scheduler),
        DMLC_NUM_SERVER = count(Server),
        DMLC_NUM_WORKER = count(Worker),
        DMLC_ROLE = role,
        DMLC_USE_KUBERNETES = default("1"),
    )),
    mode(MXTune, chief = [Tuner]),
)]
pub enum MxRole {
    /// Tells servers and workers where the others are.
    #[role(mode = MXTrain, replicas = 1, optional)]
    Scheduler,
    /// Holds the parameters.
    #[role(mode = MXTrain, replicas = 0.., optional, requires = [Scheduler])]
    Server,
    /// Computes gradients; reads the data.
    #[role(mode = MXTrain, replicas = 0.., optional, gpu, env(DMLC_WORKER_ID = index))]
    Worker,
    /// Hands out tuning devices.
    #[role(mode = MXTune, replicas = 1)]
    TunerTracker,
    /// Measures candidates on its device.
    #[role(mode = MXTune, replicas = 1.., gpu, label)]
    TunerServer,
    /// Searches for the fastest schedule.
    #[role(mode = MXTune, replicas = 1, gpu)]
    Tuner,
}

impl Legacy {
    /// Of `mxjobs.kubeflow.org`.
    pub const MXJOB: Self = Self {
        retryable_exit_codes: &["130", "137-138", "143"],
        mode: "MXTrain",
        entry: "Worker",
        worker: "Worker",
        chief: "Scheduler",
        image: "jzp1025/mxnet:test",
        port_field: "PsRootPort",
        role_words: "mxReplicaSpec.MXReplicaType",
        container_words: "is missing a container named",
        status_role: "mx_replica_type",
        job_mode: JobMode::Guessed,
        children: Children::Pods,
        absent: &[],
        absent_status: &["conditions", "controlPaused"],
        clean: "All",
        env: &[],
        labels: &labels("kubeflow.org"),
        permanent_reasons: &["OOMKilled"],
    };

    /// Of `mxjobs.fioravanzo.org`.
    pub const FIORAVANZO: Self = Self {
        retryable_exit_codes: &["128-255"],
        entry: "Scheduler",
        image: "stefanofioravanzo/mxnet:1.3.0",
        port_field: "mxPort",
        absent: &["jobMode", "cleanupPodPolicy"],
        clean: "None",
        env: &[Env::new("PS_VERBOSE", Source::Default("2"))],
        labels: &labels("fioravanzo.org"),
        ..Self::MXJOB
    };

    /// Of `mxjobs.mxnet.mlkube.io`.
    pub const MLKUBE: Self = Self {
        retryable_exit_codes: &["128-255"],
        role_words: "MxReplicaSpec.MxReplicaType",
        container_words: "is missing a container for",
        status_role: "Mx_replica_type",
        job_mode: JobMode::Needed,
        children: Children::Jobs,
        absent: &[
            "mxImage",
            "terminationPolicy",
            "cleanupPodPolicy",
            "schedulerName",
        ],
        absent_status: &[],
        clean: "None",
        labels: &labels("mxnet.mlkube.io"),
        ..Self::MXJOB
    };
}

/// The labels of all older operators, under their own mark.
const fn labels(mark: &'static str) -> [(&'static str, LabelValue); 6] {
    [
        (mark, LabelValue::Text("")),
        ("app", LabelValue::Text("mxnet-job")),
        ("mx_job_name", LabelValue::Job),
        ("runtime_id", LabelValue::Run),
        ("job_type", LabelValue::Role),
        ("task_index", LabelValue::Index),
    ]
}
