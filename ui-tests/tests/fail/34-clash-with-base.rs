// Roles and a mode that the base set has already.
use mxjob_core::{MxRole, ReplicaRole};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, ReplicaRole)]
#[roles(mode(MXTune, chief = [Own]))]
pub enum Roles {
    #[role(extend)]
    Mx(MxRole),
    #[role(mode = MXTune, replicas = 1)]
    Own,
    #[role(mode = MXTrain, replicas = 1)]
    Worker,
    #[role(mode = MXTrain, replicas = 1, rename = "SERVER")]
    Ps,
}

fn main() {
    let role = Roles::Own;
    println!("{role} {} {:?}", role.name(), Roles::TABLE);
}
