// A path that depends on where the enum is.
use mxjob_core::ReplicaRole;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, ReplicaRole)]
#[roles(crate = mxjob_core, mode(Train, chief = [Worker]))]
pub enum Roles {
    #[role(mode = Train, replicas = 1..)]
    Worker,
}

fn main() {
    let role = Roles::Worker;
    println!("{role} {} {:?}", role.name(), Roles::TABLE);
}
