//! The MXNet role set: parameter-server training and TVM tuning.

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
