// mxjob-core under another name.
extern crate mxjob_core as jobs;

mod facade {
    pub use jobs::*;
}

mod mxjob_core {}

mod by_extern {
    use jobs::ReplicaRole;

    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, ReplicaRole)]
    #[roles(crate = ::jobs, mode(Train, chief = [Worker]))]
    pub enum Roles {
        #[role(mode = Train, replicas = 1)]
        Worker,
    }
}

mod by_reexport {
    use crate::facade::ReplicaRole;

    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, ReplicaRole)]
    #[roles(crate = crate::facade, mode(Train, chief = [Worker]))]
    pub enum Roles {
        #[role(mode = Train, replicas = 1)]
        Worker,
    }
}

fn main() {
    assert_eq!(by_extern::Roles::Worker.to_string(), by_reexport::Roles::Worker.to_string());
}
