// What an extension says about its base set, and is not so.
use mxjob_core::{MxRole, ReplicaRole};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, ReplicaRole)]
#[roles(mode(Report, chief = [Mx::Worker], env(WORKERS = hosts(Mx::Worker))))]
pub enum Roles {
    #[role(extend)]
    Mx(MxRole),
    #[role(mode = Report, replicas = 1)]
    Own,
    #[role(mode = Train, replicas = 1)]
    Lost,
    #[role(mode = MXTrain, replicas = 0.., requires = [Worker, MX::Worker, Mx::Own])]
    Reader,
}

fn main() {
    let role = Roles::Own;
    println!("{role} {} {:?}", role.name(), Roles::TABLE);
}
