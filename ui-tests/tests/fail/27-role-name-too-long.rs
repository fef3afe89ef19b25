// Role names that fit into no DNS label.
use mxjob_core::ReplicaRole;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, ReplicaRole)]
#[roles(mode(Train, chief = [Worker]))]
pub enum Roles {
    #[role(mode = Train, replicas = 1..)]
    Worker,
    #[role(mode = Train, replicas = 1)]
    TheOneThatKeepsAllParametersOfAllTheLayersOfAllTheModelsSafe,
    #[role(mode = Train, replicas = 1)]
    #[allow(non_camel_case_types)]
    Parameter_Server,
}

fn main() {
    let role = Roles::Worker;
    println!("{role} {} {:?}", role.name(), Roles::TABLE);
}
