// Variants that hold data.
use mxjob_core::ReplicaRole;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, ReplicaRole)]
#[roles(mode(Train, chief = [Worker]))]
pub enum Roles {
    #[role(mode = Train, replicas = 1..)]
    Worker,
    #[role(mode = Train, replicas = 1)]
    Mx(mxjob_core::MxRole),
    #[role(mode = Train, replicas = 1)]
    Server { size: u8 },
}

fn main() {
    let role = Roles::Worker;
    println!("{role} {} {:?}", role.name(), Roles::TABLE);
}
