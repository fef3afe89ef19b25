// `extend` of an enum that is no role set.
use mxjob_core::ReplicaRole;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Plain {
    Worker,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, ReplicaRole)]
#[roles(mode(Train, chief = [Own]))]
pub enum Roles {
    #[role(extend)]
    Base(Plain),
    #[role(mode = Train, replicas = 1, env(A = count(Base::Worker)))]
    Own,
}

fn main() {
    let role = Roles::Own;
    println!("{role} {} {:?}", role.name(), Roles::TABLE);
}
