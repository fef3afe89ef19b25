// The layout variable set by hand.
use mxjob_core::ReplicaRole;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, ReplicaRole)]
#[roles(
    config_env = "MX_CONFIG",
    mode(Train, chief = [Worker], env(MX_CONFIG = "{}")),
)]
pub enum Roles {
    #[role(mode = Train, replicas = 1..)]
    Worker,
    #[role(mode = Train, replicas = 1, mode_env = false, env(MX_CONFIG = default("{}")))]
    Server,
}

fn main() {
    let role = Roles::Worker;
    println!("{role} {} {:?}", role.name(), Roles::TABLE);
}
