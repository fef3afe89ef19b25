// A key that is not one, on the enum, in its blocks and on a variant.
use mxjob_core::ReplicaRole;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, ReplicaRole)]
#[roles(
    containers = "mxnet",
    port(name = "job-port", nummer = 9091, number = 9091),
    mode(Train, chief = [Worker], fixed_members),
)]
pub enum Roles {
    #[role(mode = Train, replica = 1)]
    Server,
    #[role(mode = Train, replicas = 1.., colour = "red")]
    Worker,
}

fn main() {
    let role = Roles::Worker;
    println!("{role} {} {:?}", role.name(), Roles::TABLE);
}
