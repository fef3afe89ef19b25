// Keys with a value of the wrong shape.
use mxjob_core::ReplicaRole;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, ReplicaRole)]
#[roles(
    container = mxnet,
    port = 9091,
    crd("example.org"),
    mode = Train,
    mode(chief = [Worker]),
)]
pub enum Roles {
    #[role(mode = "Train", replicas, optional = true, requires = Server)]
    Worker,
    #[role(mode(Train), replicas = 1, gpu(2), env = "A", mode_env = no, rename = Ps)]
    Server,
}

fn main() {
    let role = Roles::Worker;
    println!("{role} {} {:?}", role.name(), Roles::TABLE);
}
