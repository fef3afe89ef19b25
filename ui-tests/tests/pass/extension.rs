// A set that extends another one: its roles, its modes and its names come along.
use mxjob_core::role::{Crd, Source};
use mxjob_core::{MxRole, ReplicaRole};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, ReplicaRole)]
pub enum MyRole {
    #[role(extend)]
    Mx(MxRole),
    /// Scores checkpoints while training runs.
    #[role(mode = MXTrain, mode_env = false, replicas = 0..=1, default = 0, optional, restart = [OnFailure], env(
        EVAL_SCHEDULER = host(Mx::Scheduler), EVAL_WORKERS = hosts(Mx::Worker)))]
    Evaluator,
}

fn main() {
    let table = MyRole::TABLE;
    let names: Vec<_> = table.roles.iter().map(|role| role.name).collect();
    assert_eq!(names, ["Scheduler", "Server", "Worker", "TunerTracker", "TunerServer", "Tuner", "Evaluator"]);
    let modes: Vec<_> = table.modes.iter().map(|mode| mode.name).collect();
    assert_eq!(modes, ["MXTrain", "MXTune"]);
    assert_eq!((table.crd, table.config_env, table.container), (Crd::MXJOB, Some("MX_CONFIG"), "mxnet"));
    let evaluator = table.role(MyRole::Evaluator.id());
    assert_eq!((evaluator.name, evaluator.mode, evaluator.default), ("Evaluator", "MXTrain", 0));
    assert_eq!(evaluator.env[1].source, Source::Hosts("Worker"));
    for id in table.ids() {
        let role = MyRole::from_id(id).unwrap();
        assert_eq!(role.id(), id);
        assert_eq!(MyRole::parse(role.name()), Some(role));
        assert_eq!(role.to_string().parse(), Ok(role));
    }
    assert_eq!(MyRole::parse("worker"), Some(MyRole::Mx(MxRole::Worker)));
    assert_eq!(MyRole::from_id(mxjob_core::RoleId::new(7)), None);
}
