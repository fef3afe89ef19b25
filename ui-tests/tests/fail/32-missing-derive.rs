// A set without `Ord`, and one without most of what it needs.
use mxjob_core::ReplicaRole;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, ReplicaRole)]
#[roles(mode(Train, chief = [Worker]))]
pub enum Roles {
    #[role(mode = Train, replicas = 1..)]
    Worker,
}

#[derive(Debug, ReplicaRole)]
#[roles(mode(Train, chief = [Worker]))]
pub enum Bare {
    #[role(mode = Train, replicas = 1..)]
    Worker,
}

fn main() {
    let role = Roles::Worker;
    println!("{role} {} {:?}", role.name(), Roles::TABLE);
}
