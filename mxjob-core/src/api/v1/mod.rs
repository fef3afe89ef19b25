//! `v1`: what users write and read. Fields are as in the manifest; nothing is defaulted here.

mod job;
mod policy;
mod status;

pub use job::{JobSpec, MXJob, ReplicaSpec};
pub use policy::{
    CleanPodPolicy, FailureAction, FailurePolicy, FailureRule, Network, RunPolicy,
    SchedulingPolicy, Services, SuccessPolicy,
};
pub use status::{Condition, ConditionType, JobStatus, Milestone, ReplicaStatus};
