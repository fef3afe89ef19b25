// Defaults that the range does not allow.
use mxjob_core::ReplicaRole;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, ReplicaRole)]
#[roles(mode(Train, chief = [Worker]))]
pub enum Roles {
    #[role(mode = Train, replicas = 1.., default = 0)]
    Worker,
    #[role(mode = Train, replicas = 0..4, default = 4)]
    Server,
    #[role(mode = Train, replicas = 1, default = 2)]
    Scheduler,
}

fn main() {
    let role = Roles::Worker;
    println!("{role} {} {:?}", role.name(), Roles::TABLE);
}
