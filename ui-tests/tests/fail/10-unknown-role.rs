// Roles that the set does not have.
use mxjob_core::ReplicaRole;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, ReplicaRole)]
#[roles(
    mode(Train, chief = [Wroker], workers = [Evaluator], env(URI = host(Sever))),
)]
pub enum Roles {
    #[role(mode = Train, replicas = 1.., requires = [Server, Mx::Server])]
    Worker,
    #[role(mode = Train, replicas = 1)]
    Server,
}

fn main() {
    let role = Roles::Worker;
    println!("{role} {} {:?}", role.name(), Roles::TABLE);
}
