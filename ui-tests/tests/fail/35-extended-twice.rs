// The same base set, twice by its name and once by another one.
use mxjob_core::{MxRole, ReplicaRole};

type Alias = MxRole;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, ReplicaRole)]
pub enum Roles {
    #[role(extend)]
    Mx(MxRole),
    #[role(extend)]
    Again(MxRole),
    #[role(mode = MXTrain, replicas = 1)]
    Own,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, ReplicaRole)]
pub enum Hidden {
    #[role(extend)]
    Mx(MxRole),
    #[role(extend)]
    Again(Alias),
}

fn main() {
    let role = Roles::Own;
    println!("{role} {} {:?}", role.name(), Roles::TABLE);
}
