// Numbers that are no port.
use mxjob_core::ReplicaRole;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, ReplicaRole)]
#[roles(
    port(name = "job-port", number = 0),
    mode(Train, chief = [Worker]),
)]
pub enum Roles {
    #[role(mode = Train, replicas = 1.., port(name = "job-port", number = 65_536))]
    Worker,
    #[role(mode = Train, replicas = 1.., port(name = "job-port"))]
    Server,
}

fn main() {
    let role = Roles::Worker;
    println!("{role} {} {:?}", role.name(), Roles::TABLE);
}
