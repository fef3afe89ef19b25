// The MXNet set, written outside of mxjob-core as its documentation shows it.
use mxjob_core::role::{Env, RestartPolicy, RoleId, Source};
use mxjob_core::{MxRole, ReplicaRole};

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
pub enum Roles {
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

fn main() {
    assert_eq!(format!("{:?}", Roles::TABLE), format!("{:?}", MxRole::TABLE));
    for (position, id) in Roles::TABLE.ids().enumerate() {
        let role = Roles::from_id(id).unwrap();
        assert_eq!(id.position(), position);
        assert_eq!(role.id(), id);
        assert_eq!(Roles::parse(&role.to_string().to_uppercase()), Some(role));
    }
    assert_eq!(Roles::from_id(RoleId::new(6)), None);
    assert_eq!("tunertracker".parse(), Ok(Roles::TunerTracker));
    let unknown = "Wroker".parse::<Roles>().unwrap_err().to_string();
    assert!(unknown.starts_with("unknown role `Wroker`: use one of `Scheduler`, `Server`"));
    assert_eq!(format!("[{:>8}]", Roles::Worker), "[  Worker]");

    let server = Roles::TABLE.role(Roles::Server.id());
    assert_eq!((server.min, server.max, server.default), (0, None, 1));
    assert_eq!(server.requires, ["Scheduler"]);
    assert_eq!(server.restart, RestartPolicy::ALL);
    assert_eq!(server.doc, "Holds the parameters.");
    let worker = Roles::TABLE.role(Roles::Worker.id());
    assert_eq!(worker.env, [Env::new("DMLC_WORKER_ID", Source::Index)]);
    assert!(worker.gpu && !worker.label && worker.optional);
}
