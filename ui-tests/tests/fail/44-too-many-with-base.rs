// More roles than a table holds, with those of the base set.
use mxjob_core::{MxRole, ReplicaRole};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, ReplicaRole)]
pub enum Roles {
    #[role(extend)]
    Mx(MxRole),
    #[role(mode = MXTrain, replicas = 0..)]
    Reader0,
    #[role(mode = MXTrain, replicas = 0..)]
    Reader1,
    #[role(mode = MXTrain, replicas = 0..)]
    Reader2,
    #[role(mode = MXTrain, replicas = 0..)]
    Reader3,
    #[role(mode = MXTrain, replicas = 0..)]
    Reader4,
    #[role(mode = MXTrain, replicas = 0..)]
    Reader5,
    #[role(mode = MXTrain, replicas = 0..)]
    Reader6,
    #[role(mode = MXTrain, replicas = 0..)]
    Reader7,
    #[role(mode = MXTrain, replicas = 0..)]
    Reader8,
    #[role(mode = MXTrain, replicas = 0..)]
    Reader9,
    #[role(mode = MXTrain, replicas = 0..)]
    Reader10,
}

fn main() {
    let role = Roles::Reader0;
    println!("{role} {} {:?}", role.name(), Roles::TABLE);
}
