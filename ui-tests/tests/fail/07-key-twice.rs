// A key given twice, in one attribute and in two.
use mxjob_core::ReplicaRole;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, ReplicaRole)]
#[roles(
    container = "main",
    container = "mxnet",
    mode(Train, chief = [Worker], chief = [Worker]),
)]
pub enum Roles {
    #[role(mode = Train, replicas = 1.., gpu)]
    #[role(replicas = 2, gpu)]
    Worker,
}

fn main() {
    let role = Roles::Worker;
    println!("{role} {} {:?}", role.name(), Roles::TABLE);
}
