// Numbers of replicas that are no whole numbers.
use mxjob_core::ReplicaRole;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, ReplicaRole)]
#[roles(mode(Train, chief = [Worker]))]
pub enum Roles {
    #[role(mode = Train, replicas = -1)]
    Worker,
    #[role(mode = Train, replicas = 1.5)]
    Server,
    #[role(mode = Train, replicas = -3..=2)]
    Scheduler,
    #[role(mode = Train, replicas = "2")]
    Evaluator,
    #[role(mode = Train, replicas = 1..=4_294_967_296)]
    Tuner,
    #[role(mode = Train, replicas = 1, default = many)]
    Tracker,
}

fn main() {
    let role = Roles::Worker;
    println!("{role} {} {:?}", role.name(), Roles::TABLE);
}
