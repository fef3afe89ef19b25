// Names that environment variables should not have.
use mxjob_core::ReplicaRole;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, ReplicaRole)]
#[roles(
    mode(Train, chief = [Worker], env(rank = index, Rank = index, DMLC::ROLE = role)),
)]
pub enum Roles {
    #[role(mode = Train, replicas = 1..)]
    Worker,
}

fn main() {
    let role = Roles::Worker;
    println!("{role} {} {:?}", role.name(), Roles::TABLE);
}
