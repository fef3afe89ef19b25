// Modes without a chief, with an empty list, and with a chief of another mode.
use mxjob_core::ReplicaRole;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, ReplicaRole)]
#[roles(
    mode(Train, workers = [Worker]),
    mode(Serve, chief = []),
    mode(Tune, chief = [Tuner, Worker], workers = [Server]),
)]
pub enum Roles {
    #[role(mode = Train, replicas = 1..)]
    Worker,
    #[role(mode = Serve, replicas = 1)]
    Server,
    #[role(mode = Tune, replicas = 1)]
    Tuner,
}

fn main() {
    let role = Roles::Worker;
    println!("{role} {} {:?}", role.name(), Roles::TABLE);
}
