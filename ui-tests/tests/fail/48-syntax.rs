// What cannot be read at all.
use mxjob_core::{MxRole, ReplicaRole};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, ReplicaRole)]
#[roles(mode(Train, chief = [Worker], env(A = , B = "b")))]
pub enum Roles {
    #[role(mode = Train replicas = 1)]
    Worker,
    #[role(mode = Train, replicas = 1..=)]
    Closed,
    #[role(mode = Train, replicas = 1...3)]
    Dots,
    #[role(mode = Train, replicas: 1)]
    Colon,
    #[role(mode = Train, replicas =)]
    Nothing,
    #[role(extend, replicas = 5..2)]
    Mx(MxRole),
}

fn main() {
    println!("{:?}", Roles::TABLE);
}
