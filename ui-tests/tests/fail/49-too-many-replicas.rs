// Numbers of replicas that no job may have.
use mxjob_core::ReplicaRole;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, ReplicaRole)]
#[roles(mode(Train, chief = [Worker]))]
pub enum Roles {
    #[role(mode = Train, replicas = 1..=100_001)]
    Worker,
    #[role(mode = Train, replicas = 1.., default = 4_000_000_000)]
    Server,
}

fn main() {
    println!("{:?}", Roles::TABLE);
}
