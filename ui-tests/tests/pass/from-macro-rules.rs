// Values that come through variables of a `macro_rules!`.
use mxjob_core::ReplicaRole;

macro_rules! roles {
    ($name:ident, $mode:ident, $role:ident, $replicas:expr, $other:path, $text:literal) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, ReplicaRole)]
        #[roles(container = $text, mode($mode, chief = [$role], env(OTHER = host($other), TEXT = $text)))]
        enum $name {
            #[role(mode = $mode, replicas = $replicas)]
            $role,
        }
    };
}

roles!(Roles, Train, Worker, 1..=3, Worker, "text");

fn main() {
    assert_eq!(Roles::TABLE.roles[0].max, Some(3));
    assert_eq!(Roles::Worker.to_string(), "Worker");
}
