// A mode declared twice, and roles named twice in one list.
use mxjob_core::ReplicaRole;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, ReplicaRole)]
#[roles(
    mode(Train, chief = [Worker, Worker], workers = [Worker, Worker]),
    mode(Train, chief = [Worker]),
)]
pub enum Roles {
    #[role(mode = Train, replicas = 1.., requires = [Server, Server])]
    Worker,
    #[role(mode = Train, replicas = 1)]
    Server,
}

fn main() {
    let role = Roles::Worker;
    println!("{role} {} {:?}", role.name(), Roles::TABLE);
}
