// The enum's attribute on a variant, the variant's on the enum, and ones without keys.
use mxjob_core::ReplicaRole;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, ReplicaRole)]
#[role(mode = Train)]
#[roles]
pub enum Roles {
    #[roles(container = "main")]
    #[role]
    Worker,
    #[role = "Server"]
    Server,
}

fn main() {
    let role = Roles::Worker;
    println!("{role} {} {:?}", role.name(), Roles::TABLE);
}
