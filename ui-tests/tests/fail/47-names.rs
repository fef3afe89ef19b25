// Roles and modes by names that are not theirs, or that are none; a role that nobody can reach.
use mxjob_core::{MxRole, ReplicaRole};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, ReplicaRole)]
#[roles(
    mode(Train, chief = [Boss], env(A = host(Self::Worker), B = host(Roles::Worker), C = host(Roles::Wroker))),
    mode(train, chief = [Other]),
    mode(Träin, chief = [Third]),
)]
pub enum Roles {
    #[role(mode = Train, replicas = 1, rename = "Boss", env(D = host(Alone), E = hosts(Alone), F = port(Alone)))]
    Worker,
    #[role(mode = Train, replicas = 1, services = false)]
    Alone,
    #[role(mode = train, replicas = 1)]
    Other,
    #[role(mode = Träin, replicas = 1)]
    Third,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, ReplicaRole)]
pub enum Extended {
    #[role(extend)]
    Mx(MxRole),
    #[role(mode = MXTrain, replicas = 1, env(A = host(Extended::Own)))]
    Own,
}

fn main() {
    println!("{:?} {:?}", Roles::TABLE, Extended::TABLE);
}
