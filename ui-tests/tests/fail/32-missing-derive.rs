// A set without `Ord`.
use mxjob_core::ReplicaRole;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, ReplicaRole)]
#[roles(mode(Train, chief = [Worker]))]
pub enum Roles {
    #[role(mode = Train, replicas = 1..)]
    Worker,
}

fn main() {}
