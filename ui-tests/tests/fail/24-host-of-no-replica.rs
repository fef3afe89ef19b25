// Addresses of roles that may be there without a replica.
use mxjob_core::ReplicaRole;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, ReplicaRole)]
#[roles(
    mode(Train, chief = [Worker], env(SERVER = host(Server), SERVERS = hosts(Server))),
)]
pub enum Roles {
    #[role(mode = Train, replicas = 1.., env(SERVER_PORT = port(Server)))]
    Worker,
    #[role(mode = Train, replicas = 0..)]
    Server,
}

fn main() {
    let role = Roles::Worker;
    println!("{role} {} {:?}", role.name(), Roles::TABLE);
}
