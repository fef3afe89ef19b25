// An environment variable from nowhere.
use mxjob_core::ReplicaRole;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, ReplicaRole)]
#[roles(
    mode(Train, chief = [Worker], env(
        SIZE = cuont(Worker),
        RANK = idx,
        NAME = hostname,
        PORT = 9091,
        HOST = host,
        ROLE = role(Worker),
        NODE = field("spec.nodename"),
    )),
)]
pub enum Roles {
    #[role(mode = Train, replicas = 1..)]
    Worker,
}

fn main() {
    let role = Roles::Worker;
    println!("{role} {} {:?}", role.name(), Roles::TABLE);
}
