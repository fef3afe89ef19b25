// A mistake in a base set is reported once, not again by what extends it.
use mxjob_core::ReplicaRole;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, ReplicaRole)]
#[roles(mode(Train, chief = [Worker]))]
pub enum Base {
    #[role(mode = Train, replicas = 5..2)]
    Worker,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, ReplicaRole)]
pub enum Roles {
    #[role(extend)]
    Base(Base),
    #[role(mode = Train, replicas = 1, requires = [Base::Worker], env(A = hosts(Base::Worker)))]
    Own,
}

fn main() {
    let role: Roles = "own".parse().unwrap_or(Roles::Own);
    println!("{role} {} {:?}", role.name(), Roles::TABLE);
}
