// Names that are no identifiers, and ones that are taken.
use mxjob_core::ReplicaRole;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, ReplicaRole)]
#[roles(mode(Train, chief = [Worker]))]
pub enum Roles {
    #[role(mode = Train, replicas = 1..)]
    Worker,
    #[role(mode = Train, replicas = 1, rename = "parameter server")]
    Server,
    #[role(mode = Train, replicas = 1, rename = "")]
    Scheduler,
    #[role(mode = Train, replicas = 1, rename = "Worker")]
    Other,
    #[role(mode = Train, replicas = 1, rename = "WORKER")]
    Loud,
}

fn main() {
    let role = Roles::Worker;
    println!("{role} {} {:?}", role.name(), Roles::TABLE);
}
