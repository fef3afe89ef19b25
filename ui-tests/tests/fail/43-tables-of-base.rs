// The same, where only the compiler sees the base set.
use mxjob_core::{MxRole, ReplicaRole};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, ReplicaRole)]
#[roles(config_env = "DMLC_ROLE", mode(Report, chief = [Own], env(WORKERS = hosts(Mx::Worker))))]
pub enum Roles {
    #[role(extend)]
    Mx(MxRole),
    #[role(mode = Report, replicas = 1, requires = [Mx::Worker])]
    Own,
    #[role(mode = MXTrian, replicas = 1)]
    Lost,
    #[role(mode = MXTrain, replicas = 1, requires = [Mx::Wroker, Mx::Tuner], env(
        A = count(Mx::Sever),
        B = host(Mx::Worker),
        C = hosts(Mx::TunerServer),
        DMLC_NUM_WORKER = "2",
    ))]
    Reader,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, ReplicaRole)]
pub enum Config {
    #[role(extend)]
    Mx(MxRole),
    #[role(mode = MXTrain, replicas = 1, env(MX_CONFIG = "{}"))]
    Own,
}

fn main() {
    let role = Roles::Own;
    println!("{role} {} {:?}", role.name(), Roles::TABLE);
}
