// An extension of an extension, with a mode and a custom resource of its own, and a second base set.
use mxjob_core::{MxRole, ReplicaRole};

mod first {
    use mxjob_core::{MxRole, ReplicaRole};

    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, ReplicaRole)]
    #[roles(mode(Evaluate, chief = [Judge]))]
    pub enum MyRole {
        #[role(mode = MXTrain, replicas = 0..=1, default = 0, optional)]
        Evaluator,
        #[role(extend)]
        Mx(MxRole),
        #[role(mode = Evaluate, replicas = 1)]
        Judge,
    }
}

mod other {
    use mxjob_core::ReplicaRole;

    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, ReplicaRole)]
    #[roles(mode(Render, chief = [Renderer]))]
    pub enum RenderRole {
        #[role(mode = Render, replicas = 1..)]
        Renderer,
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, ReplicaRole)]
#[roles(
    crd(group = "jobs.example.org", kind = "TeamJob"),
    container = "main",
    config_env = "TEAM_CONFIG",
    mode(Report, chief = [Reporter], env(RANK = index)),
)]
pub enum TeamRole {
    #[role(mode = Report, replicas = 1)]
    Reporter,
    #[role(extend)]
    Mine(first::MyRole),
    #[role(extend)]
    Other(other::RenderRole),
    #[role(mode = MXTrain, replicas = 0.., optional, requires = [Mine::Worker], env(
        CHIEF = host(Mine::Scheduler), EVALUATORS = count(Mine::Evaluator)))]
    Reader,
    #[role(mode = Evaluate, replicas = 1, env(JUDGE = host(Mine::Judge)))]
    Clerk,
}

fn main() {
    let table = TeamRole::TABLE;
    let names: Vec<_> = table.roles.iter().map(|role| role.name).collect();
    assert_eq!(
        names,
        [
            "Reporter", "Evaluator", "Scheduler", "Server", "Worker", "TunerTracker", "TunerServer", "Tuner",
            "Judge", "Renderer", "Reader", "Clerk"
        ]
    );
    let modes: Vec<_> = table.modes.iter().map(|mode| mode.name).collect();
    assert_eq!(modes, ["MXTrain", "MXTune", "Evaluate", "Render", "Report"]);
    assert_eq!((table.crd.kind, table.crd.plural), ("TeamJob", "teamjobs"));
    assert_eq!((table.container, table.config_env), ("main", Some("TEAM_CONFIG")));
    for id in table.ids() {
        let role = TeamRole::from_id(id).unwrap();
        assert_eq!(role.id(), id);
        assert_eq!(TeamRole::parse(role.name()), Some(role));
    }
    let worker = TeamRole::Mine(first::MyRole::Mx(MxRole::Worker));
    assert_eq!((TeamRole::parse("WORKER"), worker.name()), (Some(worker), "Worker"));
    assert_eq!(table.role(TeamRole::Reader.id()).requires, ["Worker"]);
    // The order of the roles is the order of the enum's values.
    assert!(TeamRole::Reporter < worker && worker < TeamRole::Clerk);
    assert!(TeamRole::Reporter.id() < worker.id() && worker.id() < TeamRole::Clerk.id());
}
