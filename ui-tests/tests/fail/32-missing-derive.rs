// A set without `Ord`, and one without most of what it needs.
use mxjob_core::ReplicaRole;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, ReplicaRole)]
#[roles(mode(Train, chief = [Worker]))]
pub enum Roles {
    #[role(mode = Train, replicas = 1..)]
    Worker,
}

#[derive(ReplicaRole)]
#[roles(mode(Train, chief = [Worker]))]
pub enum Bare {
    #[role(mode = Train, replicas = 1..)]
    Worker,
}

fn main() {
    println!("{} {}", Roles::Worker, Bare::Worker);
}
