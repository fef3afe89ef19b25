// Modes that the enum does not declare.
use mxjob_core::ReplicaRole;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, ReplicaRole)]
#[roles(
    mode(Train, chief = [Worker]),
    mode(Tune, chief = [Tuner]),
)]
pub enum Roles {
    #[role(mode = Train, replicas = 1..)]
    Worker,
    #[role(mode = Trian, replicas = 1)]
    Server,
    #[role(mode = Evaluate, replicas = 1)]
    Tuner,
}

fn main() {
    let role = Roles::Worker;
    println!("{role} {} {:?}", role.name(), Roles::TABLE);
}
