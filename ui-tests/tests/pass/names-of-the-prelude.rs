// Roles may be called like what the derive's own code names.
use mxjob_core::ReplicaRole;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, ReplicaRole)]
#[roles(mode(Train, chief = [Err]))]
pub enum Roles {
    #[role(mode = Train, replicas = 1)]
    Err,
    #[role(mode = Train, replicas = 1)]
    Ok,
    #[role(mode = Train, replicas = 1)]
    Some,
    #[role(mode = Train, replicas = 1)]
    None,
    #[role(mode = Train, replicas = 1)]
    TABLE,
}

fn main() {
    assert_eq!("err".parse(), Ok(Roles::Err));
    assert_eq!(Roles::parse("table"), Some(Roles::TABLE));
}
