// One variable set by the mode and by a role of it.
use mxjob_core::ReplicaRole;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, ReplicaRole)]
#[roles(
    mode(Train, chief = [Worker], env(RANK = index)),
)]
pub enum Roles {
    #[role(mode = Train, replicas = 1.., env(RANK = "0"))]
    Worker,
    #[role(mode = Train, replicas = 1, mode_env = false, env(RANK = "0"))]
    Server,
}

fn main() {
    let role = Roles::Worker;
    println!("{role} {} {:?}", role.name(), Roles::TABLE);
}
