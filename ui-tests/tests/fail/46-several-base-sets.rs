// Base sets that do not go together, and what an extension may not do beside them.
use mxjob_core::{MxRole, ReplicaRole};

mod base {
    use mxjob_core::ReplicaRole;

    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, ReplicaRole)]
    #[roles(mode(Report, chief = [Reader]))]
    pub enum Report {
        #[role(mode = Report, replicas = 1, services = false)]
        Reader,
    }

    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, ReplicaRole)]
    #[roles(mode(report, chief = [Writer], env(MX_CONFIG = "{}")))]
    pub enum Other {
        #[role(mode = report, replicas = 1)]
        Writer,
    }

    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, ReplicaRole)]
    #[roles(mode(Watch, chief = [Watcher]))]
    pub enum Watch {
        #[role(mode = Watch, replicas = 1, env(MX_CONFIG = "{}"))]
        Watcher,
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, ReplicaRole)]
pub enum SameMode {
    #[role(extend)]
    Report(base::Report),
    #[role(extend)]
    Other(base::Other),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, ReplicaRole)]
pub enum LayoutOfTheFirst {
    #[role(extend)]
    Mx(MxRole),
    #[role(extend)]
    Other(base::Other),
    #[role(extend)]
    Watch(base::Watch),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, ReplicaRole)]
#[roles(config_env = "LAYOUT")]
pub enum LayoutOfItsOwn {
    #[role(extend)]
    Mx(MxRole),
    #[role(extend)]
    Other(base::Other),
    #[role(mode = report, replicas = 1)]
    Own,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, ReplicaRole)]
#[roles(config_env = "DMLC_WORKER_ID")]
pub enum LayoutOfARole {
    #[role(extend)]
    Mx(MxRole),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, ReplicaRole)]
#[roles(mode(mxtrain, chief = [Own], env(MX_CONFIG = "{}")))]
pub enum LikeTheBase {
    #[role(extend)]
    Mx(MxRole),
    #[role(mode = mxtrain, replicas = 1)]
    Own,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, ReplicaRole)]
pub enum WithoutService {
    #[role(extend)]
    Report(base::Report),
    #[role(mode = Report, replicas = 1, env(
        READER = host(Report::Reader), READERS = hosts(Report::Reader), PORT = port(Report::Reader),
    ))]
    Own,
}

fn main() {
    println!("{:?} {:?}", SameMode::TABLE, LayoutOfTheFirst::TABLE);
}
