// `extend` on variants that do not hold exactly one base set.
use mxjob_core::ReplicaRole;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, ReplicaRole)]
#[roles(mode(Train, chief = [Worker]))]
pub enum Roles {
    #[role(mode = Train, replicas = 1..)]
    Worker,
    #[role(extend)]
    Mx,
    #[role(extend)]
    Two(mxjob_core::MxRole, mxjob_core::MxRole),
    #[role(extend)]
    Named { set: mxjob_core::MxRole },
}

fn main() {
    let role = Roles::Worker;
    println!("{role} {} {:?}", role.name(), Roles::TABLE);
}
