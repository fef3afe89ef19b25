//! The replica roles of our jobs: those of MXNet, and an evaluator.

use mxjob_core::{MxRole, ReplicaRole};

/// MXNet's roles, and an evaluator beside them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, ReplicaRole)]
pub enum MyRole {
    /// The roles that mxjob knows already.
    #[role(extend)]
    Mx(MxRole),
    /// Scores checkpoints while training runs.
    #[role(mode = MXTrain, mode_env = false, replicas = 0..=1, default = 0, optional, restart = [OnFailure], env(
        EVAL_SCHEDULER = host(Mx::Scheduler), EVAL_WORKERS = hosts(Mx::Worker)))]
    Evaluator,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_evaluator_stands_beside_mxnets_roles() {
        assert_eq!(MyRole::parse("evaluator"), Some(MyRole::Evaluator));
        assert_eq!(MyRole::parse("Worker"), Some(MyRole::Mx(MxRole::Worker)));
        assert_eq!(MyRole::TABLE.roles.len(), MxRole::TABLE.roles.len() + 1);
    }

    #[test]
    fn the_evaluator_is_no_member_of_the_parameter_server() {
        let evaluator = MyRole::TABLE.role(MyRole::Evaluator.id());
        assert!(!evaluator.mode_env, "it must not see DMLC_ROLE");
        let names: Vec<_> = evaluator.env.iter().map(|env| env.name).collect();
        assert_eq!(names, ["EVAL_SCHEDULER", "EVAL_WORKERS"]);
    }

    #[test]
    fn the_crd_describes_it() {
        let crds = mxjob_core::crds::<MyRole>();
        let (name, text) = crds.files().next().unwrap();
        assert_eq!(name, "kubeflow.org_mxjobs.yaml");
        assert!(text.contains("Scores checkpoints while training runs."));
    }
}
