// Every mistake of a wave in one compile.
use mxjob_core::ReplicaRole;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, ReplicaRole)]
#[roles(
    config_env = "mx-config",
    container = "MXNet",
    port(name = "a-port-with-a-long-name", number = 9091),
    crd(group = "example", kind = "trainJob", short_names = ["T"]),
    mode(Train, chief = [Worker], env(SERVER = host(Server))),
    mode(Tune, chief = [Worker]),
)]
pub enum Roles {
    #[role(mode = Train, replicas = 1.., default = 0, requires = [Scheduler])]
    Worker,
    #[role(mode = Train, replicas = 0..)]
    Server,
}

fn main() {
    let role = Roles::Worker;
    println!("{role} {} {:?}", role.name(), Roles::TABLE);
}
