// A set without roles.
use mxjob_core::ReplicaRole;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, ReplicaRole)]
pub enum Roles {}

fn main() {
    println!("{:?} {:?}", Roles::TABLE, Roles::parse("Worker"));
}
