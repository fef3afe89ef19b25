// Ranges without a number in them, and one with only 0.
use mxjob_core::ReplicaRole;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, ReplicaRole)]
#[roles(mode(Train, chief = [Worker]))]
pub enum Roles {
    #[role(mode = Train, replicas = 5..2)]
    Worker,
    #[role(mode = Train, replicas = 5..=2)]
    Server,
    #[role(mode = Train, replicas = 3..3)]
    Scheduler,
    #[role(mode = Train, replicas = 0..=0)]
    Evaluator,
}

fn main() {
    let role = Roles::Worker;
    println!("{role} {} {:?}", role.name(), Roles::TABLE);
}
