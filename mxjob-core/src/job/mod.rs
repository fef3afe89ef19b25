//! A job as the planner and the wiring see it: checked, defaulted, roles resolved.

mod attempt;
mod defaults;
mod profile;
mod read;

use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::PodTemplateSpec;

pub use attempt::Attempt;
pub use defaults::LABEL_ANNOTATION;
pub use profile::{NO_RUN, Profile};
pub(crate) use read::status as read_status;

use crate::api::v1::{CleanPodPolicy, FailureAction, JobStatus, Services, SuccessPolicy};
use crate::exit_codes::ExitCodes;
use crate::problem::Problem;
use crate::role::{Children, Mode, RestartPolicy, Role, RoleId, RoleTable};

/// A job, as read from storage. Reading never fails: what is wrong with the spec stands in it.
#[derive(Clone, Debug)]
pub struct Job {
    /// The role set that it was read with.
    pub table: &'static RoleTable,
    /// Who it is.
    pub meta: JobMeta,
    /// The stored status, as far as it can be read.
    pub status: JobStatus,
    /// What is stored has been wiped: `status` is from before that and is to be written again.
    pub wiped: bool,
    /// What it asks for, defaulted and checked, or everything that is wrong with it.
    pub spec: Result<Spec, Vec<Problem>>,
}

/// Who a job is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JobMeta {
    /// Namespace.
    pub namespace: String,
    /// Name.
    pub name: String,
    /// Uid; empty before it is stored.
    pub uid: String,
    /// When it was created; `None`: it is not stored.
    pub created_at: Option<Timestamp>,
    /// Counts changes of the spec.
    pub generation: i64,
    /// A deletion has been asked for.
    pub deleting: bool,
    /// Somebody else runs it (`runPolicy.managedBy`), whatever the rest of its spec says.
    pub managed_elsewhere: bool,
    /// Seconds that it is kept after its end, whatever the rest of its spec says.
    pub ttl: Option<i64>,
    /// Its runtime id: stands in names of pods and services. `None`: it has none.
    pub run: Option<String>,
    /// It was made at a version whose roles are a list, and is spoken of in its words.
    pub listed: bool,
}

impl JobMeta {
    /// Something of that age was there before the job.
    pub(crate) fn is_newer_than(&self, at: Option<Timestamp>) -> bool {
        at.zip(self.created_at).is_some_and(|(at, own)| at < own)
    }
}

/// What a job asks for, with every default filled in.
#[derive(Clone, Debug)]
pub struct Spec {
    /// How it runs.
    pub mode: &'static Mode,
    /// The roles it has, in the order of the table; also those with no replica.
    pub roles: Vec<RoleSpec>,
    /// When it has succeeded.
    pub success: SuccessPolicy,
    /// Restarts of the whole job.
    pub failure: Option<FailureSpec>,
    /// How replicas find each other.
    pub services: Services,
    /// Which pods go in the end.
    pub clean: CleanPodPolicy,
    /// Seconds that it may be active.
    pub deadline: Option<i64>,
    /// Restarts that it survives.
    pub backoff_limit: Option<i32>,
    /// Exit codes that restartPolicy ExitCode retries.
    pub retryable: ExitCodes,
    /// It is to have no pods for now.
    pub suspend: bool,
    /// What an older version adds.
    pub profile: Profile,
    /// Why it has kept its size although another one is asked for; `None`: it has the one that is
    /// asked for.
    pub kept: Option<String>,
    /// Why nothing can be made for it, which an older operator has left: it goes on with what it has.
    /// `None`: everything can.
    pub closed: Option<String>,
}

impl Spec {
    /// The job's replicas of a role; `None` when the job does not have it.
    pub fn role(&self, id: RoleId) -> Option<&RoleSpec> {
        self.roles.iter().find(|role| role.id == id)
    }

    /// The job's replicas of the role of that name.
    pub fn role_named(&self, name: &str) -> Option<&RoleSpec> {
        self.roles
            .iter()
            .find(|role| role.role.name.eq_ignore_ascii_case(name))
    }

    /// What the kubelet does with the containers of that role's pods. Replacing is the operator's
    /// work, and with a failure policy all of it is.
    pub fn restart_policy_of_pods(&self, role: &RoleSpec) -> RestartPolicy {
        match role.restart {
            _ if self.failure.is_some() => RestartPolicy::Never,
            RestartPolicy::ExitCode => role.own_restart.unwrap_or(RestartPolicy::Never),
            policy => policy,
        }
    }

    /// True when the cluster restarts the containers of that role's pods, or makes a Job's pods anew, and
    /// exit codes decide nevertheless: then the job's container is looked at, not its pod.
    pub fn is_judged_in_place(&self, role: &RoleSpec) -> bool {
        let never = self.restart_policy_of_pods(role) == RestartPolicy::Never;
        role.restart == RestartPolicy::ExitCode
            && (!never || self.profile.children == Children::Jobs)
    }

    /// How many replicas the job wants in all.
    pub fn wanted(&self) -> u32 {
        self.roles.iter().map(|role| role.replicas).sum()
    }

    /// Every replica the job wants, role by role in index order.
    pub fn replicas(&self) -> impl Iterator<Item = Replica> {
        self.roles.iter().flat_map(RoleSpec::replicas)
    }

    /// The chief replicas: the one that the job names, or all of the first of the mode's chief roles
    /// that has replicas.
    pub fn chiefs(&self) -> impl Iterator<Item = Replica> {
        let named = self.profile.chief;
        let mut roles = self.mode.chief.iter();
        let by_mode = roles.find_map(|name| self.role_named(name).filter(|role| role.replicas > 0));
        let by_mode = by_mode.filter(|_| named.is_none());
        named
            .into_iter()
            .chain(by_mode.into_iter().flat_map(RoleSpec::replicas))
    }

    /// The roles that the job waits for after its chief, those with replicas.
    pub fn workers(&self) -> impl Iterator<Item = &RoleSpec> {
        self.mode
            .workers
            .iter()
            .filter_map(|name| self.role_named(name).filter(|role| role.replicas > 0))
    }
}

/// The replicas of one role.
#[derive(Clone, Debug)]
pub struct RoleSpec {
    /// Its place in the table.
    pub id: RoleId,
    /// What was declared about it.
    pub role: &'static Role,
    /// How many.
    pub replicas: u32,
    /// What happens when one fails.
    pub restart: RestartPolicy,
    /// What the kubelet does with containers where `restart` leaves that to the template; `None`:
    /// it does not.
    pub own_restart: Option<RestartPolicy>,
    /// Its label in the layout variable.
    pub label: String,
    /// The port that its replicas listen on.
    pub port: u16,
    /// What each one runs, defaulted.
    pub template: Arc<PodTemplateSpec>,
}

impl RoleSpec {
    /// The replicas, in index order.
    pub fn replicas(&self) -> impl Iterator<Item = Replica> + use<> {
        let role = self.id;
        (0..self.replicas).map(move |index| Replica { role, index })
    }

    /// Name of the container that the replica's work runs in.
    pub fn container(&self, table: &RoleTable) -> &'static str {
        self.role.container.unwrap_or(table.container)
    }
}

/// One replica of a job: a role and an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Replica {
    /// The role.
    pub role: RoleId,
    /// The index, from 0.
    pub index: u32,
}

/// What failures do to the whole job.
#[derive(Clone, Debug)]
pub struct FailureSpec {
    /// Counted restarts of the whole job that are survived.
    pub max_restarts: i32,
    /// The first that matches decides; none: the whole job is restarted and it counts.
    pub rules: Vec<FailureRule>,
}

/// One rule of a failure policy. `None` matches everything.
#[derive(Clone, Debug)]
pub struct FailureRule {
    /// What happens.
    pub action: FailureAction,
    /// Roles whose replicas it is about.
    pub roles: Option<Vec<RoleId>>,
    /// Exit codes.
    pub exit_codes: Option<ExitCodes>,
    /// Reasons of pod or container.
    pub reasons: Option<Vec<String>>,
    /// Whether the restart counts towards the limit.
    pub counts: bool,
}
