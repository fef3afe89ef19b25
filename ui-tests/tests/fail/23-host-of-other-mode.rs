// Addresses of roles that a job of the mode never has.
use mxjob_core::ReplicaRole;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, ReplicaRole)]
#[roles(
    mode(Train, chief = [Worker], env(TUNER = host(Tuner))),
    mode(Tune, chief = [Tuner]),
)]
pub enum Roles {
    #[role(mode = Train, replicas = 1..)]
    Worker,
    #[role(mode = Tune, replicas = 1, env(WORKERS = hosts(Worker), PORT = port(Worker)))]
    Tuner,
}

fn main() {
    let role = Roles::Worker;
    println!("{role} {} {:?}", role.name(), Roles::TABLE);
}
