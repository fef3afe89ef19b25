// Mistakes of one wave are told in one compile, those of values and of shapes alike.
use mxjob_core::{MxRole, ReplicaRole};

#[derive(ReplicaRole)]
#[roles(crate = core, container = 5, port(number = 0), crd(kind = 1))]
enum R {
    #[role(extend = 1)]
    Mx,
    #[role(gpu(2))]
    Worker(u8),
    #[role(extend)]
    Base(MxRole),
}

fn main() {}
