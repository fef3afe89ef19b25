// `requires` of another mode, of the role itself, and in a circle.
use mxjob_core::ReplicaRole;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, ReplicaRole)]
#[roles(
    mode(Train, chief = [Worker]),
    mode(Tune, chief = [Tuner]),
)]
pub enum Roles {
    #[role(mode = Train, replicas = 1.., requires = [Tuner])]
    Worker,
    #[role(mode = Train, replicas = 1.., requires = [Server])]
    Server,
    #[role(mode = Train, replicas = 1.., requires = [Evaluator])]
    Scheduler,
    #[role(mode = Train, replicas = 1.., requires = [Worker, Scheduler])]
    Evaluator,
    #[role(mode = Tune, replicas = 1)]
    Tuner,
}

fn main() {
    let role = Roles::Worker;
    println!("{role} {} {:?}", role.name(), Roles::TABLE);
}
