// More roles than a table holds.
use mxjob_core::ReplicaRole;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, ReplicaRole)]
#[roles(mode(Train, chief = [Worker]))]
pub enum Roles {
    #[role(mode = Train, replicas = 1..)]
    Worker,
    #[role(mode = Train, replicas = 1)]
    Server0,
    #[role(mode = Train, replicas = 1)]
    Server1,
    #[role(mode = Train, replicas = 1)]
    Server2,
    #[role(mode = Train, replicas = 1)]
    Server3,
    #[role(mode = Train, replicas = 1)]
    Server4,
    #[role(mode = Train, replicas = 1)]
    Server5,
    #[role(mode = Train, replicas = 1)]
    Server6,
    #[role(mode = Train, replicas = 1)]
    Server7,
    #[role(mode = Train, replicas = 1)]
    Server8,
    #[role(mode = Train, replicas = 1)]
    Server9,
    #[role(mode = Train, replicas = 1)]
    Server10,
    #[role(mode = Train, replicas = 1)]
    Server11,
    #[role(mode = Train, replicas = 1)]
    Server12,
    #[role(mode = Train, replicas = 1)]
    Server13,
    #[role(mode = Train, replicas = 1)]
    Server14,
    #[role(mode = Train, replicas = 1)]
    Server15,
}

fn main() {
    let role = Roles::Worker;
    println!("{role} {} {:?}", role.name(), Roles::TABLE);
}
