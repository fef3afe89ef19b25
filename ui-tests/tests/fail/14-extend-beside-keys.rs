// `extend` beside other keys.
use mxjob_core::ReplicaRole;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, ReplicaRole)]
#[roles()]
pub enum Roles {
    #[role(extend, mode = MXTrain, gpu)]
    Mx(mxjob_core::MxRole),
}

fn main() {
    let role = Roles::Mx(mxjob_core::MxRole::Worker);
    println!("{role} {} {:?}", role.name(), Roles::TABLE);
}
