// A restart policy that is not one, one twice, and none at all.
use mxjob_core::ReplicaRole;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, ReplicaRole)]
#[roles(mode(Train, chief = [Worker]))]
pub enum Roles {
    #[role(mode = Train, replicas = 1.., restart = [OnError])]
    Worker,
    #[role(mode = Train, replicas = 1.., restart = [Never, Never])]
    Server,
    #[role(mode = Train, replicas = 1.., restart = [])]
    Scheduler,
}

fn main() {
    let role = Roles::Worker;
    println!("{role} {} {:?}", role.name(), Roles::TABLE);
}
